#include "ridgeline/experiment/bisect.h"

#include <numeric>

namespace ridgeline::experiment {

Bisected bisect(std::size_t count, const TryCandidate& try_candidate) {
  Bisected result;
  std::vector<std::size_t> left(count);
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (left.size() > 1) {
    const std::size_t middle = (left.size() - 1) / 2;
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(middle);
    switch (try_candidate(*at, left)) {
      case Trial::bad:
        left.erase(at + 1, left.end());
        break;
      case Trial::good:
        left.erase(left.begin(), at + 1);
        break;
      case Trial::untestable:
        result.untestable.push_back(*at);
        left.erase(at);
        break;
    }
  }
  result.first_bad = left.front();
  return result;
}

}  // namespace ridgeline::experiment
