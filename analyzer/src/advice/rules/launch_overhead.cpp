// launch_overhead.cpp: the GPU runs out of work because launches come one by one. A CUDA graph, or fewer and larger
// kernels, closes the gaps to what lies between two nodes of a graph.
#include <set>

#include "advice/gap_gain.h"
#include "advice/idle.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

namespace {

// Kernels that are queued have no more between them; nodes of a graph have this.
constexpr double kQueuedGapNs = 1400, kGraphGapNs = 500;
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
  std::vector<OwnGap> late;
  double max_ns = 0;
  for (const Idle& one : in.idle) {
    if (one.cause != IdleCause::launches || one.length_ns() <= kQueuedGapNs) continue;
    gaps_ns += one.length_ns();
    ++gaps;
    late.push_back({one.gap, one.length_ns() - kGraphGapNs});
    max_ns += late.back().max_ns;
  }
  if (gaps_ns > 0 && launches_lost(in.input)) {
    answer.cannot_say(AdviceNeed::whole_timeline, {}, gaps_ns);
    return answer;
  }
  if (late.empty()) return answer;
  // A graph takes all of the CPU's time between launches away, of which these gaps are what the GPU saw.
  const std::optional<RemedyGain> simulated = in.remedies != nullptr ? in.remedies->as_graph() : std::nullopt;
  const CpuGain gained = cpu_gain(in, simulated, max_ns);
  if (gained.state == CpuGain::State::unknown) answer.cannot_say(in.recording.need(), {}, gained.ns);
  if (gained.state != CpuGain::State::gained) {
    answer.nearest = {{"gaps_ns", gaps_ns, {}, {}}};
    return answer;
  }
  add_gaps(in, late, gained.ns, hard ? GainShare{kVaryLow, kVaryMid} : GainShare{kLaunchesLow, kLaunchesMid},
           proposal);
  if (simulated) proposal.remedy = simulated->edit;
  proposal.say("gaps_ns", gaps_ns);
  proposal.say("gaps", static_cast<double>(gaps));
  proposal.say("launches", static_cast<double>(in.input.accounting.launches));
  if (vary) proposal.say("launches_vary", 1);
  if (waits_ns > 0) proposal.say("waits_ns", waits_ns);
  if (gained.ns < max_ns) proposal.say("by_recording_ratio", 1 - gained.ns / max_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
