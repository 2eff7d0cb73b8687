#include "ranks/contention.h"

#include <algorithm>

#include "ranks/interference_cost.h"

namespace ridgeline::analyzer::ranks {

Contention no_contention(const JobView& view) {
  Contention none;
  none.lost.resize(view.ranks(), 0.0);
  return none;
}

Contention contention_of(const JobView& view) {
  const InterferenceOfJob found = interference_cost(view);
  Contention out = no_contention(view);
  out.said.refusal = found.refusal;
  if (found.refusal != InterferenceRefusal::none) return out;
  out.said.beside_ns = found.cost.beside_ns;
  out.said.controlled_ns = found.cost.controlled_ns;
  if (!found.cost.shown() || found.cost.cost_ns <= 0 || found.cost.controlled_ns <= 0) return out;
  const double of_job = std::min(found.cost.cost_ns / found.cost.controlled_ns, kMaxLost);
  out.said.factor_ratio = 1 / (1 - of_job);
  for (std::size_t rank = 0; rank < out.lost.size(); ++rank) {
    const InterferenceCost& of = found.ranks[rank].cost;
    if (of.beside_ns <= 0) continue;
    const double without_controls = std::max(0.0, of.beside_ns - of.controlled_ns);
    out.lost[rank] = std::clamp((of.cost_ns + of_job * without_controls) / of.beside_ns, 0.0, kMaxLost);
    out.said.cost_ns += out.lost[rank] * of.beside_ns / static_cast<double>(out.lost.size());
  }
  return out;
}

}  // namespace ridgeline::analyzer::ranks
