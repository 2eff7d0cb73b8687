#include "scope_options.h"

#include <cstdint>
#include <utility>

namespace ridgeline::reports {
namespace {

// Exactly, in the largest unit that it is whole in.
std::string time_word(std::int64_t ns) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  for (const auto& [unit, name] : kUnits)
    if (ns % unit == 0) return std::to_string(ns / unit) + name;
  return std::to_string(ns) + "ns";
}

}  // namespace

std::vector<std::string> scope_options(const analyzer::Scope& scope) {
  using Steps = analyzer::StepSelection::Kind;
  std::vector<std::string> words;
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  if (scope.process_id) add("--process", std::to_string(*scope.process_id));
  if (scope.steps.kind == Steps::listed && scope.steps.indices.size() == 1)
    add("--step", std::to_string(scope.steps.indices.front()));
  if (scope.steps.kind == Steps::representative && scope.steps.step_kind > 0)
    add("--step-kind", std::to_string(scope.steps.step_kind + 1));
  if (!scope.range.empty()) add("--range", scope.range);
  if (scope.window && scope.window_from_start)
    add("--window", time_word(scope.window->start_ns) + ".." + time_word(scope.window->end_ns));
  return words;
}

}  // namespace ridgeline::reports
