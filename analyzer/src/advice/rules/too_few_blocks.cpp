// too_few_blocks.cpp: launches that cannot reach most of the SMs.
#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMaxSmsFilled = 0.75;  // of the SMs; above, it is the size of a tile
constexpr double kAtItsRoof = 0.85;     // more blocks cannot help
constexpr double kFewBlocksLow = 0.5, kFewBlocksMid = 0.85;

}  // namespace

RuleAnswer judge_too_few_blocks(const RuleInput& in) {
  RuleAnswer answer;
  double no_shape_ns = 0;
  for (const RankingRow& row : in.input.ranking.rows) {
    Proposal proposal{.subject = row.kernel};
    TimeMean blocks, filled;
    std::int64_t sms = 0;
    for (const std::uint32_t position : row.launches) {
      const LaunchView launch = in.launches.at(position);
      // Collectives take few SMs on purpose.
      if (launch.kernel_class == KernelClass::communication) continue;
      if (launch.verdict->status == LaunchStatus::too_short) continue;
      const auto time_ns = static_cast<double>(launch.duration_ns);
      const auto& shape = launch.traits->shape;
      const store::Device* device = in.input.model.device(launch.site->device_id);
      if (!shape || device == nullptr) {
        no_shape_ns += time_ns;
        continue;
      }
      sms = *device->sm_count;
      const double ratio = static_cast<double>(shape->blocks) / static_cast<double>(sms);
      if (ratio > kMaxSmsFilled || launch.limiter().value_or(0) > kAtItsRoof) continue;
      double idle = 1 - ratio;
      // One that shares the device with another stream leaves nothing idle.
      idle *= std::min(in.input.exposure.ns(launch.launch) / std::max(time_ns, 1.0), 1.0);
      blocks.add(static_cast<double>(shape->blocks), time_ns);
      filled.add(ratio, time_ns);
      proposal.add_launch(position, gain_of(std::min(time_ns * idle, time_ns - bounded_ns(launch)),
                                            kFewBlocksLow, kFewBlocksMid));
    }
    if (proposal.parts.empty()) continue;
    proposal.say("time_ns", blocks.time_ns());
    proposal.say("blocks", blocks.value());
    proposal.say("sms", static_cast<double>(sms));
    answer.proposals.push_back(std::move(proposal));
  }
  if (no_shape_ns > 0) answer.cannot_say(AdviceNeed::device_facts, {}, no_shape_ns);
  return answer;
}

}  // namespace ridgeline::analyzer
