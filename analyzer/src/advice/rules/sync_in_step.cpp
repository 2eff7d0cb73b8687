// sync_in_step.cpp: the CPU waits for the GPU, which then waits for the CPU to launch again.
#include <map>

#include "advice/gap_gain.h"
#include "advice/idle.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kSyncLow = 0.4, kSyncMid = 0.85;

struct Gained {
  double ns = 0;
  std::optional<StepEdit> simulated = {};  // empty: not simulated
};

// Of the step, if calls of this kind did not wait. Not simulated: a program that the CPU paces gains no more than
// what is left above the CPU's own time.
Gained gained_without(const RuleInput& in, SynchronisationCall call, double gaps_ns, double all_ns) {
  if (in.remedies != nullptr) {
    if (const std::optional<RemedyGain> gain = in.remedies->without_waits(call))
      return {gain->ns, gain->edit};
  }
  const std::optional<StepReach>& reach = in.input.ranking.reach;
  if (!reach || !reach->known()) return {gaps_ns};
  return {gaps_ns * std::clamp((reach->simulated_ns - reach->without_gpu_ns) / all_ns, 0.0, 1.0)};
}

}  // namespace

RuleAnswer judge_sync_in_step(const RuleInput& in) {
  RuleAnswer answer;
  const Accounting& accounting = in.input.accounting;
  if (!accounting.gap_synchronisation_ns) {
    if (accounting.gap_host_bound_ns > 0)
      answer.cannot_say(AdviceNeed::host_waits, {}, static_cast<double>(accounting.gap_host_bound_ns));
    return answer;
  }
  std::map<SynchronisationCall, std::vector<OwnGap>> by_call;
  double all_ns = 0;
  for (const Idle& one : in.idle) {
    if (one.cause != IdleCause::wait) continue;
    by_call[one.what.wait->call].push_back({one.gap, one.length_ns()});
    all_ns += one.length_ns();
  }
  for (const auto& [call, gaps] : by_call) {
    Proposal proposal{.subject = std::string(to_string(call)), .power = PowerEffect::idle};
    double gaps_ns = 0;
    for (const OwnGap& one : gaps) gaps_ns += one.max_ns;
    const Gained gained = gained_without(in, call, gaps_ns, all_ns);
    if (gained.simulated && (gained.ns <= 0 || gained.ns < in.recording.error_ns)) {
      answer.nearest = {{"gaps_ns", gaps_ns, {}, {}}};
      continue;
    }
    add_gaps(in, gaps, gained.ns, {kSyncLow, kSyncMid}, proposal);
    proposal.remedy = gained.simulated;
    proposal.say("gaps_ns", gaps_ns);
    proposal.say("waits", static_cast<double>(gaps.size()));
    if (gained.ns < gaps_ns && in.input.ranking.reach)
      proposal.say("cpu_needs_ns", in.input.ranking.reach->without_gpu_ns);
    answer.proposals.push_back(std::move(proposal));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
