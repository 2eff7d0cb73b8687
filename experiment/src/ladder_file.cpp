#include "ridgeline/experiment/ladder_file.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "ridgeline/base/file.h"

// No header may stand after this one.
#include "toml_reader.h"

namespace ridgeline::experiment {
namespace {

constexpr std::size_t kMaxLadderBytes = 4u << 20;
constexpr std::int64_t kMaxRounds = 200;
constexpr const char* kSeed = "seed";

std::string from_folder_of(const std::string& file, const std::string& path) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  return (folder / path).lexically_normal().string();
}

bool is_setting_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

LadderSettings settings_of(TomlReader& parent, const std::string& key) {
  LadderSettings settings;
  auto table = parent.table(key);
  if (!table) return settings;
  for (const std::string& name : table->keys()) {
    if (!is_setting_name(name) || name == kSeed)
      table->fail_key(name, "is no name of a setting: use small letters, digits, - and _; 'seed' is taken");
    const toml::node* node = table->take(name);
    if (node->is_array()) {
      settings[name] = table->texts(name);
    } else if (node->is_integer()) {
      settings[name] = {std::to_string(*node->value<std::int64_t>())};
    } else {
      settings[name] = {table->text(name).value_or("")};
    }
  }
  return settings;
}

std::map<std::string, std::string> environment_of(TomlReader& parent) {
  std::map<std::string, std::string> variables;
  auto table = parent.table("env");
  if (!table) return variables;
  for (const std::string& name : table->keys()) {
    if (name.empty() || name.find('=') != std::string::npos)
      table->fail_key(name, "is no name of a variable");
    variables[name] = table->text(name).value_or("");
  }
  return variables;
}

LadderChange change_of(TomlReader& reader) {
  LadderChange change;
  change.name = reader.text("name").value_or("");
  if (change.name.empty()) reader.fail("name is missing: what the table calls it");
  change.arguments = reader.texts("args");
  change.settings = settings_of(reader, "set");
  change.environment = environment_of(reader);
  return change;
}

bool changes_nothing(const LadderChange& change) {
  return change.arguments.empty() && change.settings.empty() && change.environment.empty();
}

LadderRung rung_of(TomlReader& reader, const LadderFile& file) {
  LadderRung rung;
  rung.line = reader.line();
  rung.change = change_of(reader);
  rung.commit = reader.text("commit").value_or("");
  for (const std::string& patch : reader.texts("patch"))
    rung.patches.push_back(from_folder_of(file.path, patch));
  const auto lower = [&](const std::string& name) {
    return std::find_if(file.rungs.begin(), file.rungs.end(),
                        [&](const LadderRung& one) { return one.change.name == name; });
  };
  if (lower(rung.change.name) != file.rungs.end())
    reader.fail_key("name", fmt::format("'{}' is another rung's: give each its own", rung.change.name));
  for (const std::string& name : reader.texts("needs")) {
    const auto found = lower(name);
    if (found == file.rungs.end())
      reader.fail_key("needs", fmt::format("names '{}', which is no rung below this one", name));
    rung.needs.push_back(static_cast<std::size_t>(found - file.rungs.begin()));
  }
  for (TomlReader& choice : reader.tables("choice")) {
    rung.choices.push_back(change_of(choice));
    if (changes_nothing(rung.choices.back())) choice.fail("changes nothing: give args, set or env");
    choice.finish();
  }
  if (rung.choices.size() == 1) reader.fail("one choice is none: give two, or write it into the rung");
  if (changes_nothing(rung.change) && rung.commit.empty() && rung.patches.empty() && rung.choices.empty())
    reader.fail("changes nothing: give args, set, env, commit, patch or [[rung.choice]]");
  reader.finish();
  return rung;
}

std::string pattern_of(TomlReader& reader, const std::string& key) {
  const std::string pattern = reader.text(key).value_or("");
  if (pattern.empty()) return pattern;
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  if (!expression.ok()) reader.fail_key(key, "is no regular expression: " + expression.error());
  if (expression.NumberOfCapturingGroups() != 1)
    reader.fail_key(key, "must have one group, the number: (…); (?:…) groups without being one");
  return pattern;
}

void read_patterns(TomlReader& reader, LadderFile& file) {
  LadderPatterns& out = file.output;
  int steps = 0;
  for (const auto& [key, unit_ns] :
       {std::pair{"step_us", 1e3}, {"step_ms", 1e6}, {"step_s", 1e9}, {"steps_per_s", 0.0}}) {
    const std::string pattern = pattern_of(reader, key);
    if (pattern.empty()) continue;
    out.step = pattern;
    out.step_unit_ns = unit_ns;
    ++steps;
  }
  if (steps > 1)
    reader.fail("gives the step's time twice: leave one of step_us, step_ms, step_s and steps_per_s");
  out.loss = pattern_of(reader, "loss");
  out.joules_per_step = pattern_of(reader, "joules_per_step");
  out.power_w = pattern_of(reader, "power_w");
  for (const auto& [key, unit] :
       {std::pair{"memory_bytes", 1.0}, {"memory_mib", 0x1p20}, {"memory_gib", 0x1p30}}) {
    const std::string pattern = pattern_of(reader, key);
    if (pattern.empty()) continue;
    out.memory = pattern;
    out.memory_unit_bytes = unit;
  }
  file.skip = static_cast<std::int64_t>(reader.number("skip", 0, 1e6).value_or(0));
  reader.finish();
}

LadderFile ladder_of(TomlReader& root, const std::string& path) {
  LadderFile file;
  file.path = path;
  file.name = root.text("name").value_or(std::filesystem::path(path).stem().string());
  file.command = root.texts("command");
  if (file.command.empty())
    root.fail(
        "command is missing: the program and its arguments, as command = [\"./train\", \"--steps\", \"40\"]");
  file.directory = from_folder_of(path, root.text("directory").value_or(""));
  file.settings = settings_of(root, "set");
  file.environment = environment_of(root);
  file.record = root.texts("record");
  file.build = root.text("build").value_or("");
  file.commit = root.text("commit").value_or("");
  file.rounds = static_cast<std::int64_t>(root.number("rounds", 2, kMaxRounds).value_or(10));
  file.seeds = static_cast<std::int64_t>(root.number("seeds", 1, kMaxRounds).value_or(3));
  file.margin_ratio = root.number("margin", 1e-6, 0.5).value_or(file.margin_ratio);
  file.loss_margin_ratio = root.number("loss_margin", 1e-9, 0.5).value_or(file.loss_margin_ratio);
  if (auto output = root.table("output")) read_patterns(*output, file);
  if (!file.record.empty() && file.source() == comparison::LadderSource::output)
    root.fail_key("record", "is of no use: with a step's time in [output] nothing is recorded");
  for (TomlReader& rung : root.tables("rung")) file.rungs.push_back(rung_of(rung, file));
  root.finish();  // a key that is misspelt says more than what is missing for it
  if (file.rungs.empty()) root.fail("no rung: give at least one [[rung]]");
  if (file.rungs.size() > comparison::kMaxRungs)
    root.fail(fmt::format("{} rungs: {} are the most", file.rungs.size(), comparison::kMaxRungs));
  if (file.has_checkouts() && !file.directory.empty())
    root.fail_key("directory", "cannot be given with commits or patches: the program runs in its checkout");
  if (!file.build.empty() && !file.has_checkouts())
    root.fail_key("build", "is of no use: it builds checkouts, and no commit or patch asks for one");
  return file;
}

// One word of the command, with what its settings stand for.
class WordFiller {
 public:
  WordFiller(const LadderSettings& settings, std::string where)
      : settings_(settings), where_(std::move(where)) {}

  void fill(const std::string& word, std::vector<std::string>& out) const {
    // A word that is one setting becomes as many words as that has.
    if (word.size() > 2 && word.front() == '{' && word.back() == '}') {
      const std::string name = word.substr(1, word.size() - 2);
      if (is_setting_name(name) && name != kSeed) {
        const auto& words = words_of(name);
        out.insert(out.end(), words.begin(), words.end());
        return;
      }
    }
    std::string text;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const std::size_t end = word[i] == '{' ? word.find('}', i) : std::string::npos;
      const std::string name = end == std::string::npos ? "" : word.substr(i + 1, end - i - 1);
      if (!is_setting_name(name) || name == kSeed) {  // braces of the program's own, or the round's
        text += word[i];
        continue;
      }
      const auto& words = words_of(name);
      if (words.size() != 1)
        throw Error(ErrorKind::usage,
                    fmt::format("{}: {{{}}} stands within '{}' and has {} words: give it one", where_, name,
                                word, words.size()));
      text += words.front();
      i = end;
    }
    out.push_back(std::move(text));
  }

 private:
  [[nodiscard]] const std::vector<std::string>& words_of(const std::string& name) const {
    const auto found = settings_.find(name);
    if (found != settings_.end()) return found->second;
    std::string known;
    for (const auto& [setting, words] : settings_) known += (known.empty() ? "" : ", ") + setting;
    throw Error(ErrorKind::usage, fmt::format("{}: {{{}}} is no setting: give it a value in [set]{}", where_,
                                              name, known.empty() ? "" : ", which has " + known));
  }

  const LadderSettings& settings_;
  std::string where_;
};

void apply_change(const LadderChange& change, LadderSettings& settings, LadderCommand& command,
                  std::vector<std::string>& words) {
  for (const auto& [name, values] : change.settings) settings[name] = values;
  for (const auto& [name, value] : change.environment) command.environment[name] = value;
  words.insert(words.end(), change.arguments.begin(), change.arguments.end());
}

}  // namespace

bool LadderFile::has_checkouts() const {
  return !commit.empty() || std::any_of(rungs.begin(), rungs.end(), [](const LadderRung& rung) {
    return !rung.commit.empty() || !rung.patches.empty();
  });
}

std::vector<comparison::RungSet> LadderFile::needs() const {
  std::vector<comparison::RungSet> sets;
  for (const LadderRung& rung : rungs) {
    comparison::RungSet set = 0;
    for (const std::size_t need : rung.needs) set |= comparison::RungSet{1} << need;
    sets.push_back(set);
  }
  return sets;
}

Result<LadderFile> parse_ladder_file(std::string_view text, const std::string& path) {
  return parse_toml<LadderFile>(text, path, [&](TomlReader& root) { return ladder_of(root, path); });
}

Result<LadderFile> read_ladder_file(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxLadderBytes, FileKind::handed_over);
  if (!text) return Failure{ErrorKind::usage, path + ": cannot be read (" + text.failure().message + ")"};
  return parse_ladder_file(text.value(), path);
}

Result<void> set_setting(LadderFile& file, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  if (equals == std::string::npos || !file.settings.contains(name)) {
    std::string known;
    for (const auto& [setting, words] : file.settings) known += (known.empty() ? "" : ", ") + setting;
    return Failure{ErrorKind::usage,
                   fmt::format("--set {}: give NAME=VALUE of a setting of {}{}", assignment, file.path,
                               known.empty() ? ", which has none" : ": " + known)};
  }
  file.settings[name] = split(assignment.substr(equals + 1), ' ');
  return {};
}

Result<void> keep_rungs(LadderFile& file, const std::vector<std::string>& names) {
  comparison::RungSet kept = 0;
  for (const std::string& name : names) {
    const auto found = std::find_if(file.rungs.begin(), file.rungs.end(),
                                    [&](const LadderRung& rung) { return rung.change.name == name; });
    if (found == file.rungs.end()) {
      std::string known;
      for (const LadderRung& rung : file.rungs) known += (known.empty() ? "" : ", ") + rung.change.name;
      return Failure{ErrorKind::usage, fmt::format("--only: no rung '{}' in {}: {}", name, file.path, known)};
    }
    kept |= comparison::RungSet{1} << (found - file.rungs.begin());
  }
  kept = comparison::with_needs(kept, file.needs());
  std::vector<LadderRung> rungs;
  std::vector<std::size_t> at(file.rungs.size());
  for (std::size_t i = 0; i < file.rungs.size(); ++i) {
    if ((kept >> i & 1) == 0) continue;
    at[i] = rungs.size();
    rungs.push_back(file.rungs[i]);
    for (std::size_t& need : rungs.back().needs) need = at[need];
  }
  file.rungs = std::move(rungs);
  return {};
}

Result<LadderCommand> command_of(const LadderFile& file, comparison::RungSet rungs,
                                 const std::vector<std::size_t>& choices) {
  LadderCommand command;
  command.environment = file.environment;
  command.commit = file.commit;
  LadderSettings settings = file.settings;
  std::vector<std::string> words = file.command;
  std::int64_t line = 1;
  for (std::size_t i = 0; i < file.rungs.size(); ++i) {
    if ((rungs >> i & 1) == 0) continue;
    const LadderRung& rung = file.rungs[i];
    line = rung.line;
    apply_change(rung.change, settings, command, words);
    if (!rung.choices.empty()) apply_change(rung.choices.at(choices.at(i)), settings, command, words);
    if (!rung.commit.empty()) command.commit = rung.commit;
    command.patches.insert(command.patches.end(), rung.patches.begin(), rung.patches.end());
  }
  if (command.commit.empty() && file.has_checkouts()) command.commit = "HEAD";
  try {
    const WordFiller filler(settings, fmt::format("{}:{}", file.path, line));
    for (const std::string& word : words) filler.fill(word, command.program);
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
  return command;
}

std::vector<std::string> with_seed(const std::vector<std::string>& program, std::int64_t seed) {
  constexpr std::string_view kPlace = "{seed}";
  std::vector<std::string> words = program;
  for (std::string& word : words) {
    for (std::size_t at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at))
      word.replace(at, kPlace.size(), std::to_string(seed));
  }
  return words;
}

std::string command_text(const LadderCommand& command) {
  std::string text;
  for (const auto& [name, value] : command.environment)
    text += value.empty() ? fmt::format("-u {} ", name)
                          : fmt::format("{} ", shell_quoted({fmt::format("{}={}", name, value)}));
  if (!text.empty()) text.insert(0, "env ");
  text += shell_quoted(command.program);
  if (!command.commit.empty()) text += fmt::format("   # commit {}", command.commit);
  for (const std::string& patch : command.patches) text += fmt::format(" + {}", base_name(patch));
  return text;
}

}  // namespace ridgeline::experiment
