#include "ridgeline/analyzer/model/scope.h"

#include <algorithm>

namespace ridgeline::analyzer {

StepSelection StepSelection::many(std::vector<std::int64_t> indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return {Kind::listed, std::move(indices), {}};
}

}  // namespace ridgeline::analyzer
