#include "findings/pace.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ridgeline::analyzer {

namespace {

using Cause = std::pair<std::string_view, std::int64_t>;

// The idle time by cause, the most first.
std::array<Cause, 6> idle_by_cause(const Accounting& a) {
  std::array<Cause, 6> causes = {{{"host_bound_ns", a.gap_host_bound_ns},
                                  {"synchronisation_ns", a.gap_synchronisation_ns.value_or(0)},
                                  {"launch_bound_ns", a.gap_launch_bound_ns},
                                  {"queued_ns", a.gap_queued_ns},
                                  {"unknown_ns", a.gap_unknown_ns},
                                  {"tail_ns", a.gap_tail_ns}}};
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& x, const Cause& y) { return x.second > y.second; });
  return causes;
}

std::string_view longest_name(GapKind kind) {
  switch (kind) {
    case GapKind::launch_bound:
      return "longest_launch_bound_ns";
    case GapKind::host_bound:
      return "longest_host_bound_ns";
    case GapKind::synchronisation:
      return "longest_synchronisation_ns";
    case GapKind::queued:
      return "longest_queued_ns";
    case GapKind::tail:
      return "longest_tail_ns";
    case GapKind::unknown:
      break;
  }
  return "longest_unknown_ns";
}

void add_idle(const Accounting& a, Findings& findings) {
  if (a.step_ns <= 0) return;
  const auto step = static_cast<double>(a.step_ns);
  // What recording adds to the gaps is none of the program's.
  const auto recording_ns = static_cast<double>(std::max<std::int64_t>(a.gap_recording_ns.value_or(0), 0));
  const auto idle_ns = static_cast<double>(a.gap_total_ns);
  const double alone_ns = step - recording_ns;
  if (idle_ns - recording_ns < kIdleThatMatters * alone_ns) return;
  Finding idle;
  idle.severity = Severity::warning;
  idle.code = FindingCode::gpu_idle;
  idle.subject.process_id = a.process_id;
  idle.subject.device_id = a.device_id;
  idle.count = static_cast<std::int64_t>(a.gaps.size());
  idle.magnitude_ns = idle_ns;
  idle.step_share = idle_ns / step;
  idle.evidence = {{"step_ns", step, {}, {}}};
  for (const auto& [name, ns] : idle_by_cause(a)) {
    if (ns > 0) idle.evidence.push_back({name, static_cast<double>(ns), {}, {}});
  }
  if (recording_ns > 0 && alone_ns > 0) {
    idle.evidence.push_back({"recording_ns", recording_ns, {}, {}});
    idle.evidence.push_back({"idle_alone_ratio", (idle_ns - recording_ns) / alone_ns, {}, {}});
  }
  if (const std::optional<Gap> gap = longest_gap(a)) {
    idle.evidence.push_back(
        {longest_name(gap->kind), static_cast<double>(gap->end_ns - gap->start_ns), {}, {}});
    if (gap->kind == GapKind::synchronisation && gap->wait) idle.subject.name = to_string(gap->wait->call);
  }
  idle.remedy = Remedy::launch_less;
  findings.push_back(std::move(idle));
}

void add_held_back(const Ranking& ranking, Findings& findings) {
  if (!ranking.reach || !ranking.reach->known()) return;
  const StepReach& reach = *ranking.reach;
  const auto step = static_cast<double>(reach.measured_ns);
  const double saved_ns = ranking.totals.saved_target_ns;
  if (saved_ns < kSavingThatMatters * step || reach.target_ns >= kReachThatMatters * saved_ns) return;
  Finding held;
  held.severity = Severity::warning;
  held.code = FindingCode::saving_held_back;
  held.magnitude_ns = saved_ns - reach.target_ns;
  held.step_share = step > 0 ? *held.magnitude_ns / step : 0;
  held.evidence = {{"saved_ns", saved_ns, {}, {}},
                   {"reached_ns", reach.target_ns, {}, {}},
                   {"without_gpu_ns", reach.without_gpu_ns, {}, {}},
                   {"step_ns", step, {}, {}},
                   {"target_ratio", ranking.options.target, {}, {}}};
  held.remedy = Remedy::launch_less;
  findings.push_back(std::move(held));
}

void add_communication(const Accounting& a, Findings& findings) {
  if (a.step_ns <= 0) return;
  const auto step = static_cast<double>(a.step_ns), exposed = static_cast<double>(a.communication_exposed_ns);
  if (exposed < kCommunicationThatMatters * step) return;
  Finding shown;
  shown.severity = Severity::warning;
  shown.code = FindingCode::communication;
  shown.subject.process_id = a.process_id;
  shown.subject.device_id = a.device_id;
  shown.magnitude_ns = exposed;
  shown.step_share = exposed / step;
  shown.evidence = {{"step_ns", step, {}, {}},
                    {"communication_ns", static_cast<double>(a.communication_sum_ns), {}, {}}};
  findings.push_back(std::move(shown));
}

}  // namespace

Findings pace_findings(const RepresentativeStep& step, const Accounting& accounting, const Ranking& ranking) {
  Findings findings;
  // In steps of other phases the gaps are the recorder's.
  const Phase phase = step.summary.phase;
  const bool own = step.whole_recording || phase == Phase::timeline || phase == Phase::sample ||
                   phase == Phase::after || phase == Phase::warmup;
  if (own) add_idle(accounting, findings);
  add_held_back(ranking, findings);
  if (own) add_communication(accounting, findings);
  return findings;
}

}  // namespace ridgeline::analyzer
