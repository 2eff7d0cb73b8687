// tail_wave.cpp: blocks that do not fill the last wave. The model (blocks, what fits) and the measured idleness of the
// SMs must agree: blocks that differ in length even out.
#include <cmath>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMaxTailWaves = 6;    // from here on the last wave is a small part
constexpr double kMinTailIdle = 0.05;  // of the launch
constexpr double kTailLow = 0.5, kTailMid = 0.8;

}  // namespace

RuleAnswer judge_tail_wave(const RuleInput& in) {
  RuleAnswer answer;
  double unknown_ns = 0, nearest = 0;
  std::string unknown;
  for (const RankingRow& row : in.input.ranking.rows) {
    Proposal proposal{.subject = row.kernel};
    TimeMean waves, empty, idle;
    double row_unknown_ns = 0;
    for (const std::uint32_t position : row.launches) {
      const LaunchTraits& traits = in.launches.traits(position);
      if (traits.kernel_class == KernelClass::communication || traits.is(LaunchTraits::kFetchesWork))
        continue;
      const auto& shape = traits.shape;
      if (!shape || shape->waves <= 1 || shape->waves >= kMaxTailWaves) continue;
      const double last = 1 - shape->waves / std::ceil(shape->waves - 1e-9);
      if (last < kMinTailIdle) continue;
      const LaunchView launch = in.launches.at(position);
      if (launch.verdict->status == LaunchStatus::too_short) continue;
      const auto time_ns = static_cast<double>(launch.duration_ns);
      const auto active = launch.metric("sm_active_ratio");
      if (!active) {
        row_unknown_ns += time_ns * last;
        continue;
      }
      const double both = std::min(last, 1 - *active);
      nearest = std::max(nearest, both);
      if (both < kMinTailIdle) continue;
      waves.add(shape->waves, time_ns);
      empty.add(last, time_ns);
      idle.add(1 - *active, time_ns);
      proposal.add_launch(
          position, gain_of(std::min(time_ns * both, time_ns - bounded_ns(launch)), kTailLow, kTailMid));
    }
    if (row_unknown_ns > unknown_ns) {
      unknown_ns = row_unknown_ns;
      unknown = row.kernel;
    }
    if (proposal.parts.empty()) continue;
    proposal.say("time_ns", waves.time_ns());
    proposal.say("waves", waves.value());
    proposal.say("empty_in_last_wave_ratio", empty.value());
    proposal.say("sms_idle_ratio", idle.value());
    answer.proposals.push_back(std::move(proposal));
  }
  if (unknown_ns > 0) answer.cannot_say(AdviceNeed::samples, unknown, unknown_ns);
  if (nearest > 0) answer.nearest = {{"sms_idle_ratio", nearest, {}, {}}};
  return answer;
}

}  // namespace ridgeline::analyzer
