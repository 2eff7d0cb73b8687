// sync_in_step.cpp: the CPU waits for the GPU, which then waits for the CPU to launch again.
#include <map>

#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kSyncLow = 0.4, kSyncMid = 0.85;

}  // namespace

RuleAnswer judge_sync_in_step(const RuleInput& in) {
  RuleAnswer answer;
  const Accounting& accounting = in.input.accounting;
  if (!accounting.gap_synchronisation_ns) {
    if (accounting.gap_host_bound_ns > 0)
      answer.cannot_say(AdviceNeed::host_waits, {}, static_cast<double>(accounting.gap_host_bound_ns));
    return answer;
  }
  std::map<SynchronisationCall, Proposal> by_call;
  std::map<SynchronisationCall, double> times;
  double all_ns = 0;
  for (const Idle& one : in.idle) {
    if (one.cause == IdleCause::wait) all_ns += one.length_ns();
  }
  // A program that the CPU paces gains no more than what is left above the CPU's own time.
  double reached = 1;
  if (in.input.ranking.reach && in.input.ranking.reach->known() && all_ns > 0) {
    const StepReach& reach = *in.input.ranking.reach;
    reached = std::clamp((reach.simulated_ns - reach.without_gpu_ns) / all_ns, 0.0, 1.0);
  }
  for (const Idle& one : in.idle) {
    if (one.cause != IdleCause::wait) continue;
    Proposal& proposal = by_call[one.what.wait->call];
    proposal.power = PowerEffect::idle;
    proposal.subject = to_string(one.what.wait->call);
    proposal.parts.push_back(
        {PartKind::gap, one.gap, gain_of(one.length_ns() * reached, kSyncLow, kSyncMid)});
    times[one.what.wait->call] += one.length_ns();
  }
  for (auto& [call, proposal] : by_call) {
    proposal.say("gaps_ns", times[call]);
    proposal.say("waits", static_cast<double>(proposal.parts.size()));
    if (reached < 1) proposal.say("cpu_needs_ns", in.input.ranking.reach->without_gpu_ns);
    answer.proposals.push_back(std::move(proposal));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
