#include "advice/claims.h"

#include <algorithm>
#include <vector>

namespace ridgeline::analyzer {

double exposed_copy_ns(const AdviceInput& input, std::uint32_t copy) {
  const Model& model = input.model;
  const store::Memcpy& item = model.memcpys[copy];
  if (item.start_ns <= 0 || item.end_ns <= item.start_ns) return 0;
  std::int64_t hidden_ns = 0, covered_until_ns = item.start_ns;
  const Launches::Range near = model.launches.near(item.process_id, item.start_ns, item.end_ns);
  for (std::size_t i = near.first; i < near.last; ++i) {
    const Launches::Row& row = model.launches.row(i);
    if (!has_time(row) || model.launches.site(i).device_id != item.device_id) continue;
    const std::int64_t start_ns = std::max(row.start_ns, covered_until_ns);
    const std::int64_t end_ns = std::min(row.end_ns, item.end_ns);
    if (end_ns <= start_ns) continue;
    hidden_ns += end_ns - start_ns;
    covered_until_ns = end_ns;
  }
  return static_cast<double>(item.end_ns - item.start_ns - hidden_ns);
}

double Claims::time_ns(PartKind kind, std::uint32_t index) const {
  switch (kind) {
    case PartKind::launch:
      return static_cast<double>(input_.utilisation.launches.row(index).duration_ns);
    case PartKind::gap:
      return static_cast<double>(input_.accounting.gaps.length_ns(index));
    case PartKind::copy:
      return exposed_copy_ns(input_, index);
  }
  return 0;
}

ProposalPart Claims::left_of(const ProposalPart& part) const {
  const double time = time_ns(part.kind, part.index);
  AdviceGain taken;
  if (const auto& claimed = claimed_[static_cast<std::size_t>(part.kind)]; part.index < claimed.size())
    taken = claimed[part.index];
  // What is left of a launch is as much shorter by the second case as the whole would have been: a kernel that one case
  // makes half as long cannot lose a tenth of the whole twice.
  const auto left = [&](double wanted, double claimed) {
    if (time <= 0) return 0.0;
    const double rest = std::max(time - claimed, 0.0);
    return std::min(wanted, time) * rest / time;
  };
  ProposalPart result = part;
  result.saved = {left(part.saved.low_ns, taken.low_ns), left(part.saved.mid_ns, taken.mid_ns),
                  left(part.saved.high_ns, taken.high_ns)};
  return result;
}

void Claims::claim(const ProposalPart& part) {
  auto& claimed = claimed_[static_cast<std::size_t>(part.kind)];
  if (part.index >= claimed.size()) claimed.resize(part.index + std::size_t{1});
  AdviceGain& taken = claimed[part.index];
  taken.low_ns += part.saved.low_ns;
  taken.mid_ns += part.saved.mid_ns;
  taken.high_ns += part.saved.high_ns;
}

}  // namespace ridgeline::analyzer
