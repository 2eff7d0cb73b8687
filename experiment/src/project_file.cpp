#include "ridgeline/experiment/project_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"

// No header may stand after this one.
#include "toml_reader.h"

namespace ridgeline::experiment {
namespace {

// Larger ones are none of ours, and what parses them takes memory for each character.
constexpr std::size_t kLargestBytes = 4u << 20;

Result<std::string> read_text(const std::string& path) {
  Result<std::string> text = read_file(path, kLargestBytes, FileKind::handed_over);
  if (text.ok()) return text;
  return Failure{ErrorKind::usage, path + ": cannot be read (" + text.failure().message + ")"};
}

analyzer::KernelBudget budget_of(TomlReader& reader) {
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
  return parse_toml<ProjectFile>(text, path, [&](TomlReader& root) {
    ProjectFile project;
    project.path = path;
    project.build = root.text("build").value_or("");
    project.record = root.texts("record");
    project.first_record = root.texts("first_record");
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
    for (TomlReader& budget : root.tables("budget")) project.budgets.push_back(budget_of(budget));
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

Result<std::vector<comparison::MatchRule>> parse_rules(std::string_view text, const std::string& path) {
  return parse_toml<std::vector<comparison::MatchRule>>(text, path, [&](TomlReader& root) {
    std::vector<comparison::MatchRule> rules;
    for (TomlReader& reader : root.tables("rule")) {
      const auto kernel = reader.text("kernel");
      const auto becomes = reader.text("becomes");
      if (!kernel || !becomes) reader.fail("kernel and becomes are needed");
      rules.push_back({*kernel, *becomes, reader.text("path").value_or("")});
      reader.finish();
    }
    return rules;
  });
}

Result<std::vector<comparison::MatchRule>> read_rules(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  return parse_rules(text.value(), path);
}

std::string noise_text(const comparison::NoiseFloor& floor) {
  std::string text =
      "# Noise of identical code on this machine: standard deviation of ln(B/A) of pairs of runs.\n";
  text += fmt::format(
      "format = \"ridgeline.noise\"\nversion = 1\npairs = {}\nstep_ratio = {:.6g}\n\n[class_ratio]\n",
      floor.pairs, floor.step_ratio);
  for (const auto& [kernel_class, ratio] : floor.class_ratio)
    text += fmt::format("{} = {:.6g}\n", to_string(kernel_class), ratio);
  return text;
}

Result<comparison::NoiseFloor> parse_noise(std::string_view text, const std::string& path) {
  return parse_toml<comparison::NoiseFloor>(text, path, [&](TomlReader& root) {
    if (root.text("format") != "ridgeline.noise" || root.number("version", 1, 1) != 1.0)
      root.fail("no noise floor: `ridgeline calibrate` writes one");
    comparison::NoiseFloor floor;
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

Result<comparison::NoiseFloor> read_noise(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return text.failure();
  return parse_noise(text.value(), path);
}

}  // namespace ridgeline::experiment
