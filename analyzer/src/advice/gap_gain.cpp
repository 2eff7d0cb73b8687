#include "advice/gap_gain.h"

#include <algorithm>

#include "advice/gains.h"
#include "advice/idle.h"

namespace ridgeline::analyzer {

namespace {

// Of a gain, that has to be left if the recording adds the most it may.
constexpr double kSurely = 0.25;

}  // namespace

double add_gaps(const RuleInput& in, std::span<const OwnGap> own, std::optional<double> gained_ns,
                const GainShare& share, Proposal& proposal) {
  double own_ns = 0, sum_ns = 0;
  for (const OwnGap& one : own) own_ns += one.max_ns;
  const auto add = [&](std::uint32_t gap, double max_ns) {
    if (max_ns <= 0) return;
    proposal.parts.push_back({PartKind::gap, gap, gain_of(max_ns, share.low, share.mid, share.high)});
    sum_ns += max_ns;
  };
  const double wanted_ns = gained_ns.value_or(own_ns);
  const double ratio = own_ns > 0 ? std::min(wanted_ns / own_ns, 1.0) : 0;
  for (const OwnGap& one : own) add(one.gap, one.max_ns * ratio);
  if (wanted_ns <= own_ns) return sum_ns;
  const auto is_own = [&](const Idle& idle) {
    return std::any_of(own.begin(), own.end(), [&](const OwnGap& one) { return one.gap == idle.gap; });
  };
  std::vector<const Idle*> late;
  double late_ns = 0;
  for (const Idle& idle : in.idle) {
    if (idle.cause != IdleCause::launches || is_own(idle)) continue;
    late.push_back(&idle);
    late_ns += idle.length_ns();
  }
  const double more = late_ns > 0 ? std::min((wanted_ns - own_ns) / late_ns, 1.0) : 0;
  for (const Idle* idle : late) add(idle->gap, idle->length_ns() * more);
  return sum_ns;
}

CpuGain cpu_gain(const RuleInput& in, const std::optional<RemedyGain>& simulated, double max_ns) {
  const RecordingCost& recording = in.recording;
  RemedyGain gain{max_ns - recording.ns, max_ns - recording.max_ns};
  // Of one that is certain the accounting has each gap's part.
  if (!simulated && recording.certain()) gain.ns = gain.min_ns = max_ns * (1 - recorded_share(in.input));
  // Simulated, what is not known of the recording was taken off the launches alike. It may as well be all in these
  // gaps: a program with a large graph and few launches beside it is late with those.
  if (simulated) gain = {simulated->ns, std::min(simulated->min_ns, gain.min_ns)};
  const double ns = std::clamp(gain.ns, 0.0, max_ns);
  if (ns <= 0 || ns < recording.error_ns) return {CpuGain::State::recording, 0};
  if (!recording.certain() && gain.min_ns < kSurely * ns) return {CpuGain::State::unknown, ns};
  return {CpuGain::State::gained, ns};
}

}  // namespace ridgeline::analyzer
