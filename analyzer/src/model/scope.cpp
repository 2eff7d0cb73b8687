#include "ridgeline/analyzer/model/scope.h"

#include <algorithm>
#include <utility>

namespace ridgeline::analyzer {

StepSelection StepSelection::many(std::vector<std::int64_t> indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return {Kind::listed, std::move(indices), {}, 0};
}

Scope Scope::of_range(std::string pattern) {
  Scope scope;
  scope.steps = StepSelection::everything();
  scope.range = std::move(pattern);
  return scope;
}

Scope whole_step(const Scope& scope) {
  Scope whole;
  whole.process_id = scope.process_id;
  const auto kind = scope.steps.kind;
  const bool one = kind == StepSelection::Kind::listed && scope.steps.indices.size() == 1;
  if (kind == StepSelection::Kind::representative || one) whole.steps = scope.steps;
  return whole;
}

}  // namespace ridgeline::analyzer
