#include "advice/rules/declared.h"

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kExcessLow = 0.5, kExcessMid = 0.8;

}  // namespace

std::optional<Excess> excess_of(const RuleInput& in, const RankingRow& row) {
  if (!row.work || row.work->kernels != 1 || row.work->undeclared_launches > 0 || row.work->ranges <= 0)
    return std::nullopt;
  if (!row.work->bytes_ratio || !row.work->declared_bytes || !row.work->measured_bytes) return std::nullopt;
  if (row.launches.empty()) return std::nullopt;
  const store::Device* device = in.input.model.device(in.launches.at(row.launches.front()).site->device_id);
  Excess excess;
  excess.ratio = *row.work->bytes_ratio;
  excess.declared_bytes = *row.work->declared_bytes / static_cast<double>(row.work->ranges);
  excess.excess_bytes = *row.work->measured_bytes - *row.work->declared_bytes;
  excess.fits_l2 = device != nullptr && device->l2_bytes &&
                   excess.declared_bytes <= kFitsL2 * kL2Knee * static_cast<double>(*device->l2_bytes);
  excess.bound_by_memory = row.bound == KernelBound::memory;
  return excess;
}

Proposal excess_proposal(const RuleInput& in, const RankingRow& row, const Excess& excess) {
  Proposal proposal{.subject = row.kernel, .power = PowerEffect::less_work};
  for (const std::uint32_t position : row.launches) {
    const auto time_ns = static_cast<double>(in.launches.at(position).duration_ns);
    proposal.add_launch(position, gain_of(time_ns * (1 - 1 / excess.ratio), kExcessLow, kExcessMid));
  }
  proposal.say("time_ns", static_cast<double>(row.time_ns));
  proposal.say("moved_bytes",
               excess.excess_bytes + excess.declared_bytes * static_cast<double>(row.work->ranges));
  proposal.say("needed_bytes", excess.declared_bytes * static_cast<double>(row.work->ranges));
  return proposal;
}

}  // namespace ridgeline::analyzer
