#include "budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ridgeline/base/file.h"
#include "ridgeline/experiment/project_file.h"

namespace ridgeline::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestBudgetBytes = 16u << 20;

Failure wrong(const std::string& name, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{}: {}", name, what)};
}

// Reads a positive number; false if it is something else.
bool take_number(const Json& value, std::optional<double>& out) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  if (!std::isfinite(number) || number <= 0) return false;
  out = number;
  return true;
}

}  // namespace

Result<std::vector<analyzer::KernelBudget>> parse_budget(std::string_view text, const std::string& name) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return wrong(name, "not valid JSON: docs/cli.md shows a budget file");
  if (!document.is_object() || document.value("format", Json()) != "ridgeline.budget") {
    return wrong(name, "not a budget file: it needs \"format\": \"ridgeline.budget\"");
  }
  if (document.value("version", Json()) != 1)
    return wrong(name, "unknown version: this Ridgeline reads \"version\": 1");
  for (const auto& [key, value] : document.items()) {
    if (key != "format" && key != "version" && key != "kernels")
      return wrong(name, fmt::format("unknown field \"{}\"", key));
  }
  if (!document.contains("kernels") || !document["kernels"].is_array())
    return wrong(name, "\"kernels\" must be a list");

  std::vector<analyzer::KernelBudget> budgets;
  for (const Json& entry : document["kernels"]) {
    const std::string where = fmt::format("kernels[{}]", budgets.size());
    if (!entry.is_object()) return wrong(name, where + " must be an object");
    analyzer::KernelBudget budget;
    for (const auto& [key, value] : entry.items()) {
      bool good = true;
      if (key == "kernel") {
        good = value.is_string();
        if (good) budget.kernel = value.get<std::string>();
      } else if (key == "reason") {
        good = value.is_string();
        if (good) budget.reason = value.get<std::string>();
      } else if (key == "min_utilisation_ratio") {
        good = take_number(value, budget.min_utilisation_ratio) && *budget.min_utilisation_ratio <= 1.0;
      } else if (key == "max_time_ns") {
        good = take_number(value, budget.max_time_ns);
      } else if (key == "max_dram_bytes") {
        good = take_number(value, budget.max_dram_bytes);
      } else {
        return wrong(name, fmt::format("{}: unknown field \"{}\"", where, key));
      }
      if (!good) return wrong(name, fmt::format("{}: \"{}\" has no usable value", where, key));
    }
    if (budget.kernel.empty()) return wrong(name, where + ": \"kernel\" is missing");
    if (budget.reason.empty())
      return wrong(name, where + ": \"reason\" is missing: say why this kernel has a budget of its own");
    if (!budget.min_utilisation_ratio && !budget.max_time_ns && !budget.max_dram_bytes) {
      return wrong(name, where + ": give min_utilisation_ratio, max_time_ns or max_dram_bytes");
    }
    budgets.push_back(std::move(budget));
  }
  return budgets;
}

Result<Budgets> read_budget(const std::string& path) {
  if (path.empty()) return Failure{ErrorKind::usage, "the name of the budget file is empty"};
  const Result<std::string> text = read_file(path, kLargestBudgetBytes, FileKind::handed_over);
  if (text.ok()) {
    const std::size_t begin = text.value().find_first_not_of(" \t\r\n");
    if (begin != std::string::npos && (text.value()[begin] == '{' || path.ends_with(".json"))) {
      auto budgets = parse_budget(text.value(), path);
      if (!budgets) return budgets.failure();
      return Budgets{std::move(budgets).value(), true};
    }
    auto project = experiment::parse_project(text.value(), path);
    if (!project) return project.failure();
    if (project.value().budgets.empty()) return wrong(path, "no [[budget]] in it: docs/compare.md shows one");
    return Budgets{std::move(project).value().budgets, false};
  }
  if (text.failure().kind == ErrorKind::corrupt) return wrong(path, "larger than a budget file can be");
  return Failure{ErrorKind::io, fmt::format("cannot read the budget {}: {}", path, text.failure().message)};
}

bool is_of_a_step(const analyzer::KernelBudget& budget) {
  return budget.max_time_ns || budget.max_dram_bytes;
}

Result<void> check_budget_scope(const std::vector<analyzer::KernelBudget>& budgets,
                                const analyzer::Scope& scope) {
  const bool all_steps = !scope.range.empty() && scope.steps.kind == analyzer::StepSelection::Kind::any;
  if ((!scope.window && !all_steps) || std::none_of(budgets.begin(), budgets.end(), is_of_a_step)) return {};
  return Failure{ErrorKind::usage,
                 std::string("budgets of time and bytes are of a step, and ") +
                     (scope.window ? "--window adds up all that ran then: leave it out, or give budgets of "
                                     "min_utilisation_ratio alone"
                                   : "--range adds up all steps: name one with --step, or give budgets of "
                                     "min_utilisation_ratio alone")};
}

}  // namespace ridgeline::cli
