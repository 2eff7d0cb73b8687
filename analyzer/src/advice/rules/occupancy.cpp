// occupancy.cpp: kernels that wait for memory with too few warps to hide it, where registers, shared memory or the size
// of a block could be changed.
#include "ridgeline/analyzer/ranking/occupancy.h"

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kScoreboard = 0.30;  // of the samples
constexpr double kLowOccupancy = 0.50;
constexpr double kPipeByDesign = 0.30;  // few warps that keep a pipe busy are how such kernels are written
constexpr double kReachedRoof = 0.85;
constexpr double kOccupancyLow = 0.25, kOccupancyMid = 0.6;
constexpr std::string_view kLongScoreboard = "long scoreboard";

double scoreboard_share(const KernelStalls& stalls) {
  for (const StallReason& reason : stalls.reasons) {
    if (reason.label == kLongScoreboard) return reason.share;
  }
  return 0;
}

const KernelStalls* stalls_of(const RuleInput& in, std::size_t row) {
  for (const KernelStalls& stalls : in.input.stalls.kernels) {
    if (stalls.ranking_row == row) return &stalls;
  }
  return nullptr;
}

}  // namespace

RuleAnswer judge_occupancy(const RuleInput& in) {
  RuleAnswer answer;
  double unknown_ns = 0, uncounted_ns = 0;
  std::string unknown, uncounted;
  for (std::size_t r = 0; r < in.input.ranking.rows.size(); ++r) {
    const RankingRow& row = in.input.ranking.rows[r];
    const bool counted = row.bound != KernelBound::unmeasured;
    if ((counted && row.bound != KernelBound::latency) || row.launches.empty()) continue;
    if (row.kernel_class == KernelClass::communication) continue;
    if (row.roofs.of(Roof::kTensor).value_or(0) > kPipeByDesign) continue;
    const LaunchView first = in.launches.at(row.launches.front());
    const store::Device* device = in.input.model.device(first.site->device_id);
    const auto occupancy = device == nullptr
                               ? std::nullopt
                               : theoretical_occupancy(*first.site, device->compute_capability.value_or(""));
    if (!occupancy || occupancy->ratio() >= kLowOccupancy || occupancy->limiter == OccupancyLimiter::warps)
      continue;
    // A grid that fills one wave or less has no more blocks to place.
    const auto& shape = first.traits->shape;
    if (!shape || shape->waves <= 1) continue;
    if (!counted) {
      // Few warps are how those are written that keep the tensor pipe busy.
      if (row.kernel_class == KernelClass::gemm || row.kernel_class == KernelClass::attention) continue;
      if (static_cast<double>(row.time_ns) <= uncounted_ns) continue;
      uncounted_ns = static_cast<double>(row.time_ns);
      uncounted = row.kernel;
      continue;
    }
    const KernelStalls* stalls = stalls_of(in, r);
    if (stalls == nullptr) {
      if (static_cast<double>(row.time_ns) > unknown_ns) {
        unknown_ns = static_cast<double>(row.time_ns);
        unknown = row.kernel;
      }
      continue;
    }
    const double share = scoreboard_share(*stalls);
    if (share < kScoreboard) continue;
    const double now = occupancy->ratio();
    // One more block, or half as many again where many small ones fit.
    const double then = std::min(now * std::max(1 + 1 / static_cast<double>(occupancy->blocks), 1.5), 1.0);
    Proposal proposal{.basis = AdviceBasis::modelled, .subject = row.kernel};
    for (const std::uint32_t position : row.launches) {
      const LaunchView launch = in.launches.at(position);
      if (!launch.limiter()) continue;
      const auto time_ns = static_cast<double>(launch.duration_ns);
      const double headroom_ns = time_ns - bounded_ns(launch) / kReachedRoof;
      proposal.add_launch(position, gain_of(std::max(std::min(headroom_ns, time_ns * (1 - now / then)), 0.0),
                                            kOccupancyLow, kOccupancyMid));
    }
    if (proposal.parts.empty()) continue;
    proposal.say("time_ns", static_cast<double>(row.time_ns));
    proposal.say("occupancy_ratio", now);
    proposal.say("long_scoreboard_ratio", share);
    proposal.say("blocks_an_sm", static_cast<double>(occupancy->blocks));
    proposal.say("registers", static_cast<double>(first.site->registers_per_thread));
    answer.proposals.push_back(std::move(proposal));
  }
  if (unknown_ns > 0)
    answer.cannot_say(AdviceNeed::stalls, unknown, unknown_ns);
  else if (uncounted_ns > 0)
    answer.cannot_say(AdviceNeed::counters, uncounted, uncounted_ns);
  return answer;
}

}  // namespace ridgeline::analyzer
