#include "project_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ridgeline/base/text.h"

// Some files that are no TOML run toml++ 3.3 into its own assertions, which end the program or, with NDEBUG, are taken
// for granted. Here they mean that the file cannot be read. No header may stand behind this one.
#undef NDEBUG
#define TOML_ASSERT(expr) \
  static_cast<void>((expr) ? 0 : throw ridgeline::Error(ridgeline::ErrorKind::usage, "no TOML"))
#define TOML_HEADER_ONLY 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wterminate"  // in a few functions that do not throw; none of them parses
#include <toml++/toml.h>
#pragma GCC diagnostic pop

namespace ridgeline::cli {
namespace {

// Reads a table's keys one by one; what is left at the end nobody knows.
class Reader {
 public:
  Reader(const toml::table& table, std::string path, std::string where)
      : table_(table), path_(std::move(path)), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::usage, one_line(fmt::format("{}:{}: {}{}", path_, table_.source().begin.line,
                                                       where_.empty() ? "" : "[" + where_ + "] ", what)));
  }

  const toml::node* take(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }
  std::optional<std::string> text(const std::string& key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_string()) fail(key + " is not a text");
    return node->value<std::string>();
  }
  std::optional<double> number(const std::string& key, double least, double most) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value<double>();
    if (!node->is_number() || !std::isfinite(*value) || *value < least || *value > most)
      fail(fmt::format("{} is not a number from {:g} to {:g}", key, least, most));
    return value;
  }
  std::optional<bool> flag(const std::string& key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_boolean()) fail(key + " is not true or false");
    return node->value<bool>();
  }
  std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> values;
    const toml::node* node = take(key);
    if (node == nullptr) return values;
    if (!node->is_array()) fail(key + " is not a list of texts");
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) fail(key + " is not a list of texts");
      values.push_back(*item.value<std::string>());
    }
    return values;
  }
  std::optional<Reader> table(const std::string& key) {
    const toml::node* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_table()) fail(key + " is not a table");
    return Reader(*node->as_table(), path_, key);
  }
  std::vector<Reader> tables(const std::string& key) {
    std::vector<Reader> found;
    const toml::node* node = take(key);
    if (node == nullptr) return found;
    if (!node->is_array_of_tables()) fail(fmt::format("{0} is not a list of tables: write [[{0}]]", key));
    for (const toml::node& item : *node->as_array()) found.emplace_back(*item.as_table(), path_, key);
    return found;
  }
  void finish() const {
    for (const auto& [key, value] : table_) {
      if (!known_.contains(std::string(key.str())))
        fail(
            fmt::format("'{}' is no key here: use {}", std::string_view(key.str()), fmt::join(known_, ", ")));
    }
  }

 private:
  const toml::table& table_;
  std::string path_, where_;
  std::set<std::string> known_;
};

template <typename T, typename Read>
Result<T> parse(std::string_view text, const std::string& path, Read read) {
  try {
    const toml::table root = toml::parse(text);
    Reader reader(root, path, "");
    T value = read(reader);
    reader.finish();
    return value;
  } catch (const toml::parse_error& error) {
    return Failure{ErrorKind::usage, one_line(fmt::format("{}:{}: {}", path, error.source().begin.line,
                                                          std::string_view(error.description())))};
  } catch (const Error& error) {
    const bool named = error.message().starts_with(path);
    return Failure{error.kind(), named ? error.message() : path + ": " + error.message()};
  }
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Failure{ErrorKind::usage, path + ": cannot be read"};
  return text.str();
}

analyzer::KernelBudget budget_of(Reader& reader) {
  analyzer::KernelBudget budget;
  const auto kernel = reader.text("kernel");
  if (!kernel || kernel->empty()) reader.fail("kernel is missing: a name, * stands for any text");
  budget.kernel = *kernel;
  if (const auto us = reader.number("max_time_us", 0, 1e12)) budget.max_time_ns = *us * 1000;
  budget.max_dram_bytes = reader.number("max_dram_bytes", 0, 1e18);
  budget.min_utilisation_ratio = reader.number("min_utilisation_ratio", 0, 1);
  budget.reason = reader.text("reason").value_or("");
  if (!budget.max_time_ns && !budget.max_dram_bytes && !budget.min_utilisation_ratio)
    reader.fail("asks for nothing: give max_time_us, max_dram_bytes or min_utilisation_ratio");
  reader.finish();
  return budget;
}

std::string beside(const std::string& file, const std::string& path) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / path).string();
}

}  // namespace

Result<ProjectFile> parse_project(std::string_view text, const std::string& path) {
  return parse<ProjectFile>(text, path, [&](Reader& root) {
    ProjectFile project;
    project.path = path;
    project.build = root.text("build").value_or("");
    project.record = root.texts("record");
    if (auto compare = root.table("compare")) {
      if (const auto pairs = compare->number("pairs", 3, 1000))
        project.pairs = static_cast<std::int64_t>(*pairs);
      project.budget_time = compare->text("budget").value_or("");
      project.step_ratio = compare->number("step_ratio", 0.0001, 1);
      project.kernel_ratio = compare->number("kernel_ratio", 0.0001, 1);
      project.kernel_us = compare->number("kernel_us", 0, 1e9);
      project.kernel_step_share = compare->number("kernel_step_share", 0, 1);
      project.false_discovery_rate = compare->number("false_discovery_rate", 0.0001, 0.5);
      project.strict = compare->flag("strict");
      project.fail_on = compare->texts("fail_on");
      project.match = beside(path, compare->text("match").value_or(""));
      project.noise = beside(path, compare->text("noise").value_or(""));
      compare->finish();
    }
    for (Reader& budget : root.tables("budget")) project.budgets.push_back(budget_of(budget));
    return project;
  });
}

Result<ProjectFile> read_project(const std::string& path, const std::string& directory) {
  const std::string usual = (std::filesystem::path(directory) / "ridgeline.toml").string();
  std::error_code ignored;
  if (path.empty() && !std::filesystem::exists(usual, ignored)) return ProjectFile{};
  const std::string& name = path.empty() ? usual : path;
  const auto text = read_text(name);
  if (!text) return text.failure();
  return parse_project(text.value(), name);
}

Result<std::vector<analyzer::MatchRule>> parse_rules(std::string_view text, const std::string& path) {
  return parse<std::vector<analyzer::MatchRule>>(text, path, [&](Reader& root) {
    std::vector<analyzer::MatchRule> rules;
    for (Reader& reader : root.tables("rule")) {
      const auto kernel = reader.text("kernel");
      const auto becomes = reader.text("becomes");
      if (!kernel || !becomes) reader.fail("kernel and becomes are needed");
      rules.push_back({*kernel, *becomes, reader.text("path").value_or("")});
      reader.finish();
    }
    return rules;
  });
}

Result<std::vector<analyzer::MatchRule>> read_rules(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  return parse_rules(text.value(), path);
}

std::string noise_text(const analyzer::NoiseFloor& floor) {
  std::string text =
      "# Noise of identical code on this machine: standard deviation of ln(B/A) of pairs of runs.\n";
  text += fmt::format(
      "format = \"ridgeline.noise\"\nversion = 1\npairs = {}\nstep_ratio = {:.6g}\n\n[class_ratio]\n",
      floor.pairs, floor.step_ratio);
  for (const auto& [kernel_class, ratio] : floor.class_ratio)
    text += fmt::format("{} = {:.6g}\n", to_string(kernel_class), ratio);
  return text;
}

Result<analyzer::NoiseFloor> parse_noise(std::string_view text, const std::string& path) {
  return parse<analyzer::NoiseFloor>(text, path, [&](Reader& root) {
    if (root.text("format") != "ridgeline.noise" || root.number("version", 1, 1) != 1.0)
      root.fail("no noise floor: `ridgeline calibrate` writes one");
    analyzer::NoiseFloor floor;
    floor.pairs = static_cast<std::int64_t>(root.number("pairs", 3, 1e6).value_or(3));
    floor.step_ratio = root.number("step_ratio", 0, 1).value_or(0);
    if (auto classes = root.table("class_ratio")) {
      for (const auto& word : Vocabulary<KernelClass>::kWords) {
        if (const auto ratio = classes->number(std::string(word.text), 0, 10))
          floor.class_ratio[word.value] = *ratio;
      }
      classes->finish();
    }
    return floor;
  });
}

Result<analyzer::NoiseFloor> read_noise(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  return parse_noise(text.value(), path);
}

}  // namespace ridgeline::cli
