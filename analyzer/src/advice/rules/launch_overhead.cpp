// launch_overhead.cpp: the GPU runs out of work because launches come one by one. A CUDA graph, or fewer and larger
// kernels, closes the gaps to what lies between two nodes of a graph.
#include <set>

#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kGraphGapNs = 1400;
constexpr double kLaunchesLow = 0.5, kLaunchesMid = 0.85;
// Steps whose launches differ, and steps that wait in between, cannot be one graph.
constexpr double kVaryLow = 0.2, kVaryMid = 0.5;

bool launches_vary(const AdviceInput& input) {
  std::set<std::uint64_t> sequences;
  for (const StepSummary& step : input.steps.steps) {
    if (step.process_id == input.steps.process_id && step.phase == input.steps.representative.summary.phase &&
        step.kind == static_cast<int>(input.steps.kind))
      sequences.insert(step.sequence_hash);
  }
  return sequences.size() > 1;
}

}  // namespace

RuleAnswer judge_launch_overhead(const RuleInput& in) {
  RuleAnswer answer;
  double gaps_ns = 0, waits_ns = 0;
  std::int64_t gaps = 0;
  Proposal proposal{.power = PowerEffect::idle};
  const bool vary = launches_vary(in.input);
  for (const Idle& one : in.idle) {
    if (one.cause == IdleCause::wait) waits_ns += one.length_ns();
  }
  const bool hard = vary || waits_ns > 0;
  const double own = 1 - recorded_share(in.input);
  for (const Idle& one : in.idle) {
    const double max_ns = (one.length_ns() - kGraphGapNs) * own;
    if (one.cause != IdleCause::launches || max_ns <= 0) continue;
    gaps_ns += one.length_ns();
    ++gaps;
    proposal.parts.push_back(
        {PartKind::gap, one.gap,
         hard ? gain_of(max_ns, kVaryLow, kVaryMid) : gain_of(max_ns, kLaunchesLow, kLaunchesMid)});
  }
  if (gaps_ns > 0 && launches_lost(in.input)) {
    answer.cannot_say(AdviceNeed::whole_timeline, {}, gaps_ns);
    return answer;
  }
  if (proposal.parts.empty()) return answer;
  proposal.say("gaps_ns", gaps_ns);
  proposal.say("gaps", static_cast<double>(gaps));
  proposal.say("launches", static_cast<double>(in.input.accounting.launches));
  if (vary) proposal.say("launches_vary", 1);
  if (waits_ns > 0) proposal.say("waits_ns", waits_ns);
  if (own < 1) proposal.say("by_recording_ratio", 1 - own);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
