// loader_wait.cpp: the GPU waits for the next batch: the CPU is in a range that loads data, or comes out of a long
// pause with a copy to the device.
#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kMinLoaderShare = 0.02;  // of the step
constexpr double kLoaderLow = 0.5, kLoaderMid = 0.9;

}  // namespace

RuleAnswer judge_loader_wait(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.power = PowerEffect::idle};
  double gaps_ns = 0, long_ns = 0, named_ns = 0;
  const auto step_ns = static_cast<double>(in.input.accounting.step_ns);
  for (const Idle& one : in.idle) {
    // Whatever else the CPU did: nobody can say from here.
    if (one.cause == IdleCause::other && one.what.kind == GapKind::host_bound) long_ns += one.length_ns();
    if (one.cause != IdleCause::loader) continue;
    gaps_ns += one.length_ns();
    if (one.in_loader_range) named_ns += one.length_ns();
    proposal.parts.push_back({PartKind::gap, one.gap, gain_of(one.length_ns(), kLoaderLow, kLoaderMid)});
  }
  if (long_ns >= kMinLoaderShare * step_ns) answer.cannot_say(AdviceNeed::loader_range, {}, long_ns);
  if (gaps_ns < kMinLoaderShare * step_ns) {
    if (gaps_ns > 0) answer.nearest = {{"gaps_ns", gaps_ns, {}, {}}};
    return answer;
  }
  if (named_ns < gaps_ns / 2) proposal.basis = AdviceBasis::estimated;
  proposal.say("gaps_ns", gaps_ns);
  proposal.say("gaps", static_cast<double>(proposal.parts.size()));
  proposal.say("in_ranges_ns", named_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
