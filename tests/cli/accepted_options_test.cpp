// Every option of every verb with the same list of values: which are taken, what becomes of them, and what is said of
// the others. The options are the parser's own list, so that a new one is tried as well.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "in_process.h"
#include "output.h"
#include "record_options.h"
#include "support/accepted_cases.h"

namespace ridgeline::testing {

template <>
struct ShownParts<Schedule> {
  static auto of(const Schedule& schedule) {
    std::string text;
    for (std::size_t i = 0; i < schedule.phase_count; ++i)
      text += std::string(to_string(schedule.phases[i].phase)) + "=" +
              std::to_string(schedule.phases[i].steps) + " ";
    return std::tuple(text);
  }
};
template <typename Signature>
struct ShownParts<std::function<Signature>> {
  static auto of(const std::function<Signature>& function) { return std::tuple(static_cast<bool>(function)); }
};
template <typename Count, typename Period>
struct ShownParts<std::chrono::duration<Count, Period>> {
  static auto of(const std::chrono::duration<Count, Period>& time) { return std::tuple(time.count()); }
};

}  // namespace ridgeline::testing

namespace ridgeline::cli {
namespace {

using testing::AcceptedCases;

// What is needed beside the option that is tried, so that the verb gets as far as it can without a capture.
struct OfVerb {
  std::string verb;
  Words below = {};   // subcommand
  Words beside = {};  // words that are not required, and without which nothing is looked at
  bool action =
      true;  // whether it can run: it starts no program, asks nothing of the machine and writes no file first
  bool walked = true;
};

const std::map<std::string, OfVerb>& verbs() {
  static const std::map<std::string, OfVerb> kVerbs = [] {
    std::map<std::string, OfVerb> all;
    CLI::App app;
    const Words command;
    for (const Verb& verb : add_verbs(Command(app), command)) all[verb.app.name()] = {verb.app.name()};
    for (const char* name : {"doctor", "commits", "bisect", "calibrate", "gui"}) all[name].action = false;
    all["record"].walked = false;  // below, with what the launcher is asked for
    all["compare"].beside = {"--against", "missing.ridge"};
    all["ceilings"].beside = {"--show", "missing.json"};
    all["ladder"].beside = {"--show", "missing.json"};
    all["sql"].beside = {"missing.ridge", "SELECT 1"};
    all.erase("history");
    for (const char* below : {"add", "show", "accept", "merge"})
      all[std::string("history ") + below] = {"history", {below}};
    all["history add"].action = all["history merge"].action = false;
    return all;
  }();
  return kVerbs;
}

const Words kNumbers = {"-1",
                        "0",
                        "1",
                        "2",
                        "3",
                        "01",
                        "+1",
                        " 1",
                        "1.5",
                        "1e9",
                        "99999999999999999999",
                        "9223372036854775807",
                        "9223372036854775808",
                        "nan",
                        "inf",
                        "-0.5",
                        "4",
                        "5",
                        "6",
                        "8",
                        "9",
                        "63",
                        "64",
                        "600",
                        "601",
                        "1000",
                        "1001",
                        "3600",
                        "3601",
                        "100000",
                        "100001",
                        "1e6",
                        "1000001",
                        "1048576",
                        "1048577",
                        "abc",
                        "5s",
                        "4k",
                        "1%",
                        "a,b"};
const Words kWords = {"-1",
                      "0",
                      "1",
                      "1.5",
                      "99999999999999999999",
                      "nan",
                      "abc",
                      "a,b",
                      "a,,b",
                      "a=b",
                      "=b",
                      "a=",
                      "-",
                      "none",
                      "all",
                      "\n",
                      "5s",
                      "250ms",
                      "1h30m",
                      "4KiB",
                      "1%",
                      "100%",
                      "100.1%",
                      "0..1s",
                      "1.2s..1500ms",
                      "3..4",
                      "4..3",
                      "1s..1s",
                      "3..",
                      "text",
                      "json",
                      "csv",
                      "markdown",
                      "svg",
                      "png",
                      "x.json",
                      "x.csv",
                      "x.md",
                      "x.html",
                      "x.htm",
                      "x.svg",
                      ".md",
                      "x.PNG",
                      "spec",
                      "burst",
                      "counter",
                      "layer,phase",
                      "rank",
                      "T0,T2",
                      "T1",
                      "warmup=1,timeline=2",
                      "budget,none",
                      "junit=a.xml",
                      "pdf=a",
                      "light",
                      "comma",
                      "overlap",
                      "chrome",
                      "parquet"};
// Of an option that another verb tried: it is declared once for both.
const Words kFew = {"0", "1"};

// An app of its own for each try: what a verb was given stays in its options.
struct Parsed {
  explicit Parsed(const OfVerb& of) : verb(add_verbs(Command(app), command, of.verb).at(0)) {
    app.require_subcommand(1);
    at = app.get_subcommands({}).front();
    for (const std::string& below : of.below) at = at->get_subcommand(below);
  }
  [[nodiscard]] CLI::Option* option(const std::string& name) const {
    for (CLI::Option* each : at->get_options()) {
      if (each->get_name() == name) return each;
    }
    return nullptr;
  }
  // The values that options hold now, by name.
  [[nodiscard]] std::map<std::string, std::string> held() const {
    std::map<std::string, std::string> all;
    for (CLI::Option* each : at->get_options()) {
      each->capture_default_str();
      std::string text = each->get_default_str();
      if (each->get_expected_max() == 0 && each->count() > 0)
        text += "given " + std::to_string(each->count());
      all[each->get_name()] = text;
    }
    return all;
  }

  const Words command;
  CLI::App app;
  Verb verb;
  CLI::App* at = nullptr;
};

bool is_positional(const CLI::Option& option) {
  return option.get_name().empty() || option.get_name().front() != '-';
}

// The verb with what it requires, but for one option.
Words without(const Parsed& parser, const OfVerb& of, const std::string& tried) {
  Words words = {of.verb};
  words.insert(words.end(), of.below.begin(), of.below.end());
  Words named;
  for (const CLI::Option* option : parser.at->get_options()) {
    if (!option->get_required() || option->get_name() == tried) continue;
    if (is_positional(*option)) {
      words.push_back("missing.ridge");
    } else {
      named.insert(named.end(), {option->get_name(), "x"});
    }
  }
  // A list before the others takes what follows it.
  words.insert(words.end(), named.begin(), named.end());
  if (of.beside.empty() || of.beside.front() != tried)
    words.insert(words.end(), of.beside.begin(), of.beside.end());
  return words;
}

// One verb, tried again and again.
class Tries {
 public:
  explicit Tries(const OfVerb& of) : of_(of), parser_(of), before_(parser_->held()) {}

  // In one line: refused by the parser, or what is held now and how the verb ends.
  std::string outcome(const Words& words) {
    if (!parser_) parser_.emplace(of_);
    try {
      parser_->app.parse(Words(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      return std::string("refused: ") + error.what();
    }
    std::string text = "taken:";
    for (const auto& [name, value] : parser_->held()) {
      if (before_.at(name) != value) text += " " + name + " [" + value + "]";
    }
    if (of_.action) text += ended_as();
    parser_.reset();  // what it was given stays in its options
    return text;
  }
  [[nodiscard]] const Parsed& parser() {
    if (!parser_) parser_.emplace(of_);
    return *parser_;
  }
  [[nodiscard]] const std::string& before(const std::string& name) const { return before_.at(name); }

 private:
  std::string ended_as() {
    const Ended end = ended([&]() -> int {
      try {
        return parser_->verb.action();
      } catch (const Error& error) {
        write_message("verb", error.message());
        return exit_code(error.kind());
      }
    });
    std::string text = "; ends " + std::to_string(end.code);
    if (!end.out.empty()) text += ", prints " + testing::text_sum_in_hex(testing::text_sum(end.out));
    return end.err.empty() ? text : text + ": " + end.err.substr(0, end.err.size() - 1);
  }

  const OfVerb& of_;
  std::optional<Parsed> parser_;
  std::map<std::string, std::string> before_;
};

// What an option is declared as, wherever that is.
std::string declared(const CLI::Option& option) {
  return option.get_name(true, true) + option.get_description() + std::to_string(option.get_expected_max());
}

// The verb that tries an option first, by what it is declared as.
const std::map<std::string, std::string>& first_verbs() {
  static const std::map<std::string, std::string> kFirst = [] {
    std::map<std::string, std::string> first;
    for (const auto& [name, of] : verbs()) {
      const Parsed parser(of);
      for (const CLI::Option* option : parser.at->get_options()) {
        if (of.action) first.try_emplace(declared(*option), name);
      }
    }
    for (const auto& [name, of] : verbs()) {
      const Parsed parser(of);
      for (const CLI::Option* option : parser.at->get_options()) first.try_emplace(declared(*option), name);
    }
    return first;
  }();
  return kFirst;
}

class Options : public InProcess, public ::testing::WithParamInterface<std::string> {
 protected:
  // What a try left behind is not there for the next.
  static void clear() {
    for (const auto& entry : std::filesystem::directory_iterator("."))
      std::filesystem::remove_all(entry.path());
  }
};

TEST_P(Options, AreTakenOrRefusedAsBefore) {
  const std::string& name = GetParam();
  const OfVerb& of = verbs().at(name);
  Tries tries(of);
  struct Tried {
    std::string name;
    bool positional = false, flag = false, first = false;
    Words others;
  };
  std::vector<Tried> tried;
  std::string list;
  for (const CLI::Option* option : tries.parser().at->get_options()) {
    const std::string option_name = option->get_name();
    list += option->get_name(false, true) + " [" + tries.before(option_name) + "]" +
            (option->get_required() ? " required" : "") + " in '" + option->get_group() + "', " +
            std::to_string(option->get_expected_min()) + " to " + std::to_string(option->get_expected_max()) +
            "\n";
    // What is hidden has no name here; the picture asks for a program.
    if (option_name.empty() || option_name == "--help" || option_name == "--png") continue;
    tried.push_back({option_name, is_positional(*option), option->get_expected_max() == 0,
                     first_verbs().at(declared(*option)) == name, without(tries.parser(), of, option_name)});
  }
  AcceptedCases::expect(
      [&] { return list + "nothing: " + tries.outcome(without(tries.parser(), of, "")) + "\n"; });
  constexpr std::size_t kSections = 10;
  for (std::size_t section = 0; section < kSections && section < tried.size() && of.walked; ++section) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::size_t i = section; i < tried.size(); i += kSections) {
        const Tried& option = tried[i];
        const auto with = [&](const Words& more) {
          Words words = option.others;
          // Positional arguments stand where they are declared, all the others at the end.
          words.insert(option.positional ? words.begin() + 1 + static_cast<std::ptrdiff_t>(of.below.size())
                                         : words.end(),
                       more.begin(), more.end());
          text += option.name;
          for (const std::string& word : more) text += " '" + word + "'";
          text += ": " + testing::without_folders(tries.outcome(words)) + "\n";
          clear();
        };
        if (!option.positional) with({option.name});
        with(option.positional ? Words{} : Words{option.name, ""});
        if (option.flag) {
          for (const char* value : {"true", "false", "2"}) with({option.name + "=" + value});
          with({option.name, option.name});
          continue;
        }
        const std::size_t begin = text.size();
        with({option.positional ? "abc" : option.name + "=abc"});
        const bool is_number = text.find("refused", begin) != std::string::npos;
        for (const std::string& value : !option.first ? kFew : is_number ? kNumbers : kWords)
          with({option.positional ? value : option.name + "=" + value});
        if (!option.first) continue;
        if (is_number)
          for (const std::string& value : kWords) {
            if (value.find_first_of("0123456789*=,.-") == std::string::npos)
              with({option.positional ? value : option.name + "=" + value});
          }
        with(option.positional ? Words{"1", "2"} : Words{option.name, "1", option.name, "2"});
        with(option.positional ? Words{"1", "2", "3"} : Words{option.name, "1", "2"});
      }
      return text;
    });
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, of] : verbs()) all.push_back(name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Of, Options, ::testing::ValuesIn(names()), [](const auto& param) {
  std::string name = param.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
});

// A verb is declared alone where it is named first.
TEST(VerbsAlone, HaveTheNameThatTheyAreAskedFor) {
  for (const auto& [name, of] : verbs()) {
    CLI::App app;
    const Words command;
    const std::vector<Verb> alone = add_verbs(Command(app), command, of.verb);
    ASSERT_EQ(alone.size(), 1U) << name;
    EXPECT_EQ(alone[0].app.name(), of.verb);
  }
}

// What the launcher is asked for, field by field.
class RecordOptions : public InProcess {
 protected:
  static std::string asked(const Words& words, const Words& command = {"./train", "--fast"}) {
    CLI::App app;
    RecordArguments arguments;
    add_record_options(Command(app), arguments);
    try {
      app.parse(Words(words.rbegin(), words.rend()));
      return testing::fields(record_options(arguments, command));
    } catch (const CLI::ParseError& error) {
      return std::string("refused: ") + error.what();
    } catch (const Error& error) {
      return std::string("error: ") + error.message();
    }
  }
};

TEST_F(RecordOptions, OfEachValueAreAsBefore) {
  CLI::App app;
  RecordArguments arguments;
  add_record_options(Command(app), arguments);
  const auto options = app.get_options();
  AcceptedCases::expect([&] { return asked({}); });
  constexpr std::size_t kSections = 10;
  for (std::size_t section = 0; section < kSections; ++section) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::size_t i = section; i < options.size(); i += kSections) {
        const std::string option = options[i]->get_name();
        if (option == "--help") continue;
        if (options[i]->get_expected_max() == 0) {
          text += option + ": " + asked({option}) + "\n";
          continue;
        }
        const bool is_number = asked({option + "=abc"}).starts_with("refused");
        // Most take any text; of those a few say enough.
        const bool any = !is_number && !asked({option + "=1h30m=,"}).starts_with("error");
        const Words& tried = is_number ? kNumbers : kWords;
        for (std::size_t v = 0; v < tried.size(); v += any ? 6 : 1)
          text += option + "=" + tried[v] + ": " + asked({option + "=" + tried[v]}) + "\n";
        text += option + " twice: " + asked({option, "1", option, "a,2"}) + "\n";
      }
      return text;
    });
  }
}

TEST_F(RecordOptions, OfSeveralAtOnceAreAsBefore) {
  const std::string base = "--schedule=warmup=1,timeline=2";
  std::string full = "--schedule=warmup=1";
  for (std::size_t i = 1; i < kMaxSchedulePhases; ++i) full += i % 2 == 1 ? ",timeline=1" : ",warmup=1";
  const std::string nearly = full.substr(0, full.rfind(','));
  for (const std::string& schedule :
       {base, base + ",cold=5", base + ",stalls=7", base + ",flops=3", nearly, full}) {
    AcceptedCases::expect([&] {
      std::string text;
      for (unsigned lot = 0; lot < 16; ++lot) {
        Words words = {schedule};
        if (lot & 1U) words.emplace_back("--cold");
        if (lot & 2U) words.emplace_back("--stalls");
        if (lot & 4U) words.emplace_back("--sass-flops");
        if (lot & 8U) words.emplace_back("--intervene");
        text += std::to_string(lot) + ": " + asked(words) + "\n";
      }
      return text;
    });
  }
  AcceptedCases::expect([&] {
    std::string text;
    for (const Words& words :
         {Words{"--intervene-kernel", "attention=50,100,200"},
          {"--intervene-kernel", "attention="},
          {"--intervene-kernel", "a=b=0"},
          {"--intervene-kernel", "a=100000"},
          {"--intervene-kernel", "a=100001"},
          {"--intervene-kernel", "a=-1"},
          {"--intervene-kernel", "a=1,,2"},
          {"--intervene-kernel", "a=1,x"},
          {"--intervene-kernel", "a=1x"},
          {"--intervene-kernel", "=1"},
          {"--intervene-kernel", "a\nb"},
          {"--intervene-kernel", "a", "--intervene-kernel", "b=1", "--intervene-steps", "9"},
          {"--intervene-blocks", "16", "--intervene-block-seconds", "2.5"},
          {"--intervene", "--intervene-blocks", "6", "--intervene-seed", "7"},
          {"--intervene", "--intervene-kernel", "x"},
          {"--sample-interval", "2.5", "--budget", "0.0004"},
          {"--sample-interval", "1.0004"},
          {"--budget", "0.0005"},
          {"--redact", "a", "b", "--redact", "c"},
          {"--after", "1h30m", "--duration", "90s", "--wait", "--stop-program"},
          {"-q", "-f", "--keep-spool", "-o", "a.ridge", "--directory", "d", "--spool-directory", "s"},
          {"--keep-environment", "A,,B*", "--replay-exclude", "nccl,,spin", "--agent", "l.so", "--cupti",
           "c.so"}})
      text += testing::fields(words) + ": " + asked(words) + "\n";
    return text + asked({}, {}) + "\n";
  });
}

}  // namespace
}  // namespace ridgeline::cli
