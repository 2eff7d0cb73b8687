// cold_start.cpp: launch calls of a millisecond or more with the GPU idle: code is loaded or made. In the first steps
// that is as it must be, and these stand for no other.
#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kFirstSteps = 2;
constexpr double kColdLow = 0.6, kColdMid = 0.95;

}  // namespace

RuleAnswer judge_cold_start(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.power = PowerEffect::idle};
  double gaps_ns = 0, longest_ns = 0;
  for (const Idle& one : in.idle) {
    if (one.cause != IdleCause::loading) continue;
    gaps_ns += one.length_ns();
    if (one.length_ns() > longest_ns) {
      longest_ns = one.length_ns();
      proposal.subject = in.input.model.kernel_name(in.input.model.launches.site(*one.what.after));
    }
    proposal.parts.push_back({PartKind::gap, one.gap, gain_of(one.length_ns(), kColdLow, kColdMid)});
  }
  if (proposal.parts.empty()) return answer;
  const RepresentativeStep& step = in.input.steps.representative;
  const bool first =
      !step.whole_recording && step.scope == ScopeKind::step && step.summary.step_index < kFirstSteps;
  if (first) {
    answer.cannot_say(AdviceNeed::more_steps, proposal.subject, gaps_ns);
    return answer;
  }
  proposal.say("gaps_ns", gaps_ns);
  proposal.say("calls", static_cast<double>(proposal.parts.size()));
  proposal.say("longest_ns", longest_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
