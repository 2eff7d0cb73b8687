#include "ridgeline/reports/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/error_text.h"
#include "ridgeline/reports/reason_text.h"

namespace ridgeline::reports {
namespace {

using analyzer::Evidence;
using analyzer::Finding;
using analyzer::FindingCode;

constexpr int kKernelNameColumns = 60;
constexpr std::size_t kRunsShown = 5;
// A capture may hold names and messages of any length.
constexpr std::size_t kLongest = 2000;

std::string kernel_of(const Finding& finding) {
  return elide_kernel_name(finding.subject.name, kKernelNameColumns);
}

std::string detail_of(const Finding& finding) {
  return finding.detail.empty() ? "" : ": " + reason_text(finding.detail);
}

// "16 to 19, 25": steps that follow one another are one run.
std::string runs_text(const std::vector<std::int64_t>& steps) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t last = i;
    while (last + 1 < steps.size() && steps[last + 1] == steps[last] + 1) ++last;
    if (shown++ == kRunsShown) return text + ", …";
    text += (text.empty() ? "" : ", ") + fmt::format("{}", steps[i]);
    if (last > i) text += fmt::format(" to {}", steps[last]);
    i = last + 1;
  }
  return text;
}

// "40.0 % ± 0.1"
std::string with_error(const Evidence* evidence) {
  if (evidence == nullptr) return "–";
  return percent_text(evidence->value) + (evidence->error ? " ± " + error_text(*evidence->error) : "");
}

std::string difference_percent(double ratio) {
  return (ratio > 0 ? "+" : "") + percent_text(ratio);
}

std::string outlier_text(const Finding& f) {
  const bool one = f.count == 1;
  const std::string list = runs_text(f.subject.steps);
  const bool one_run = list.find(',') == std::string::npos;
  std::string text = one       ? "step " + list
                     : one_run ? "steps " + list
                               : fmt::format("{} ({})", counted(f.count, "step"), list);
  text += " took " + time_text(f.value("shortest_ns"));
  if (!one) text += " to " + time_text(f.value("longest_ns"));
  text += fmt::format(" against a median of {}: ", time_text(f.value("median_ns")));
  if (f.find("lowest_hz") == nullptr) return text + "something disturbed " + (one ? "it" : "them");
  return text + fmt::format("the SM clock fell to {} MHz in {}{}, against {} MHz in the others",
                            megahertz(f.value("lowest_hz")), one ? "it" : "them",
                            f.detail.empty() ? "" : " (" + reason_text(f.detail) + ")",
                            megahertz(f.value("others_hz")));
}

std::string not_ok_text(const Finding& f) {
  const std::string_view phase = to_string(f.subject.phase.value_or(Phase::timeline));
  const std::string_view status = to_string(f.subject.status.value_or(StepStatus::failed));
  if (f.count == 1)
    return fmt::format("{} step {} is {}{}", phase, runs_text(f.subject.steps), status, detail_of(f));
  return fmt::format("{} {} steps ({}) are {}{}", integer(f.count), phase, runs_text(f.subject.steps), status,
                     detail_of(f));
}

std::string no_timeline_text(const Finding& f) {
  const Phase phase = f.subject.phase.value_or(Phase::after);
  const bool disturbed = phase == Phase::replay || phase == Phase::cold || phase == Phase::flops;
  return fmt::format("no timeline step is usable: {} steps stand in{}", to_string(phase),
                     disturbed ? ", whose gaps are the profiler's, not the program's" : "");
}

std::string kinds_text(const Finding& f) {
  const auto count = [&](const char* name) { return integer(static_cast<std::int64_t>(f.value(name))); };
  return fmt::format(
      "the steps are of {} kinds: {} of {} {}, {} launches in {}, are analysed; {} of the time is in others, "
      "first of "
      "all {} of {} launches in {} (--step-kind {})",
      count("kinds"), count("ranked_steps"), count("steps"),
      f.subject.phase ? to_string(*f.subject.phase) : "", count("ranked_launches"),
      time_text(f.value("ranked_median_ns")), percent_text(f.step_share.value_or(0)), count("other_steps"),
      count("other_launches"), time_text(f.value("other_median_ns")), count("other_kind"));
}

std::string_view how_to_have_steps(const Finding& f) {
  return f.remedy == analyzer::Remedy::name_steps
             ? "ridgeline import --step-range NAME names the ranges of the trace that are its steps"
             : "mark steps with an NVTX range (record --step-range NAME)";
}

std::string step_text(const Finding& f) {
  switch (f.code) {
    case FindingCode::steps_none:
      return fmt::format("{}: the whole recording is ranked; {}",
                         f.count == 0 ? "the capture has no steps" : "no step of the capture is usable",
                         how_to_have_steps(f));
    case FindingCode::steps_no_timeline:
      return no_timeline_text(f);
    case FindingCode::steps_window:
      return fmt::format("no steps were found: the whole recording is ranked; {}", how_to_have_steps(f));
    case FindingCode::steps_period:
      return f.remedy == analyzer::Remedy::name_steps
                 ? fmt::format(
                       "no range of the trace is known as its step: steps are taken from the period of "
                       "the launches; {}",
                       how_to_have_steps(f))
                 : "the program marks no steps: they are taken from the period of its launches";
    case FindingCode::steps_few:
      return fmt::format("the median is of {}: {}", counted(f.count, "step"),
                         f.remedy == analyzer::Remedy::trace_more_steps
                             ? "profile more steps and import them"
                             : "record more (record --schedule timeline=10)");
    case FindingCode::steps_open:
      return "the step's time ends with its own last work: no step of its kind follows it, so the pause "
             "between "
             "steps is not in it";
    case FindingCode::steps_outlier:
      return outlier_text(f);
    case FindingCode::steps_not_ok:
      return not_ok_text(f);
    default:
      return kinds_text(f);
  }
}

// A single case, of a recording of several processes.
bool one_of_several(const Finding& f) {
  return f.count == 1 && f.subject.process_id && f.find("processes") != nullptr;
}

std::string recording_finding_text(const Finding& f) {
  switch (f.code) {
    case FindingCode::completeness_launches: {
      const std::string whose = f.count == 1 ? fmt::format("process {}", f.subject.process_id.value_or(0))
                                             : counted(f.count, "process", "processes");
      return fmt::format("{}: {} kernel launches seen, {} recorded: the missing ones are not included below",
                         whose, integer(static_cast<std::int64_t>(f.value("launches_seen"))),
                         integer(static_cast<std::int64_t>(f.value("launches_recorded"))));
    }
    case FindingCode::completeness_unknown:
      return "the capture does not say how many launches there were: nothing proves that all are in it";
    case FindingCode::completeness_dropped:
      return counted(f.count, "record was", "records were") + " lost (buffers or disk full)";
    case FindingCode::completeness_zero_timestamps:
      return counted(f.count, "kernel has", "kernels have") +
             " no timestamps and are excluded from all times below";
    case FindingCode::completeness_truncated:
      return fmt::format("{} bytes at the end of the recording were unreadable",
                         integer(static_cast<std::int64_t>(f.value("truncated_bytes"))));
    case FindingCode::rows_lost:
      return fmt::format(
          "the capture has lost rows since it was made: {} holds {} of {}{}; ridgeline info --verify has "
          "all, and "
          "figures below miss them",
          f.subject.name, integer(static_cast<std::int64_t>(f.value("rows"))),
          integer(static_cast<std::int64_t>(f.value("rows_written"))),
          f.count > 1 ? fmt::format(", and {} more", integer(f.count - 1)) : "");
    case FindingCode::run_interrupted:
      return "the recording was interrupted: this is what happened until then";
    case FindingCode::run_signal:
      return fmt::format("the program was ended by signal {}", static_cast<int>(f.value("signal")));
    case FindingCode::run_exit_status:
      return fmt::format("the program ended with exit status {}", static_cast<int>(f.value("exit_status")));
    case FindingCode::collector:
      return (one_of_several(f) ? fmt::format("process {}: ", *f.subject.process_id) : "") +
             reason_text(f.detail) + (f.count > 1 ? fmt::format(" ({} times)", integer(f.count)) : "");
    default:  // tier_partial, tier_refused, tier_failed
      return fmt::format("{} {}{}{}", to_string(f.subject.tier.value_or(Tier::t0)),
                         f.code == FindingCode::tier_partial   ? "partial"
                         : f.code == FindingCode::tier_refused ? "refused"
                                                               : "failed",
                         f.count > 1         ? fmt::format(" in {} processes", integer(f.count))
                         : one_of_several(f) ? fmt::format(" in process {}", *f.subject.process_id)
                                             : "",
                         detail_of(f));
  }
}

std::string agreement_text(const Finding& f) {
  const bool one = f.count == 1;
  if (f.code != FindingCode::t2_disagreement) {
    const bool tensor = f.code == FindingCode::t1_tensor_disagreement;
    const double difference = f.value("difference_ratio");
    return fmt::format(
        "{}{}: {} utilisation {} by samples (T1) against {} by counters (T2), {}{} points over {} "
        "of {}",
        one ? "" : fmt::format("T1 and T2 disagree on {}, most on ", counted(f.count, "kernel")),
        kernel_of(f), tensor ? "tensor-pipe" : "DRAM",
        with_error(f.find(tensor ? "tensor_t1_ratio" : "dram_t1_ratio")),
        with_error(f.find(tensor ? "tensor_t2_ratio" : "dram_t2_ratio")), difference > 0 ? "+" : "−",
        fixed(std::fabs(difference) * 100, 1),
        counted(static_cast<std::int64_t>(f.value("launches")), "launch", "launches"),
        time_text(f.value("mean_ns")));
  }
  return fmt::format(
      "{}{} took {} in replay against {} in the timeline ({}), in cycles too: overlap or caches differ, so "
      "its "
      "counters may differ as well",
      one ? ""
          : fmt::format("{} ran faster or slower when serialised in replay; worst: ",
                        counted(f.count, "kernel")),
      kernel_of(f), time_text(f.value("replay_ns")), time_text(f.value("timeline_ns")),
      difference_percent(f.value("difference_ratio")));
}

std::string above_peak_text(const Finding& f) {
  return fmt::format(
      "{} reaches {} of its peak{}: its duration varies between steps, its caches were colder in replay, or "
      "the "
      "peak is too low{}",
      kernel_of(f), percent_text(f.value("utilisation_ratio")),
      f.count == 1 ? "" : fmt::format(", the most of {} above theirs", counted(f.count, "kernel")),
      f.find("shown_ratio") != nullptr ? "; shown as 100 %" : "");
}

std::string above_measured_roof_text(const Finding& f) {
  return fmt::format(
      "{} reaches {} of the measured {} roof{}, where {} is within what the roof and the figure vary by: its "
      "bytes or "
      "operations are counted wrong, or the roof was measured on a slower card or at a lower clock",
      kernel_of(f), percent_text(f.value("utilisation_ratio")), f.peak ? roof_label(*f.peak) : "",
      f.count == 1 ? "" : fmt::format(", the most of {} above theirs", counted(f.count, "kernel")),
      percent_text(f.value("allowed_ratio")));
}

std::string above_cache_roof_text(const Finding& f) {
  return fmt::format(
      "{} moves {} of what the roof of {} lets through{}: the counter counts more than the benchmark's "
      "reads, or the "
      "roof was measured on a slower card",
      kernel_of(f), percent_text(f.value("utilisation_ratio")), f.roof ? to_string(*f.roof) : "the caches",
      f.count == 1 ? "" : fmt::format(", the most of {} above theirs", counted(f.count, "kernel")));
}

std::string operations_disagree_text(const Finding& f) {
  std::string amounts;
  for (const analyzer::Evidence& each : f.evidence) {
    amounts +=
        fmt::format("{}{} {} GFLOP", amounts.empty() ? "" : ", ", each.name, fixed(each.value * 1e-9, 3));
  }
  return fmt::format(
      "{}: its operations differ by their source by more than 5 % ({}){}; the first is used, and what is "
      "counted beyond what is declared is padding of tiles, or the declaration is of other work",
      kernel_of(f), amounts,
      f.count == 1 ? "" : fmt::format(", as do those of {}", counted(f.count - 1, "other kernel")));
}

std::string clock_text_of(const Finding& f) {
  const std::string others =
      f.count == 1 ? "" : fmt::format(" (the worst of {})", counted(f.count, "device"));
  switch (f.code) {
    case FindingCode::clock_spread:
      return fmt::format("{}: the SM clock moved between {} and {} MHz during the timeline{}", f.subject.name,
                         megahertz(f.value("least_hz")), megahertz(f.value("most_hz")), others);
    case FindingCode::clock_throttled:
      return fmt::format("{}: clocks were throttled in {} of the samples ({}){}", f.subject.name,
                         percent_text(f.value("samples_ratio"), 0), reason_text(f.detail), others);
    case FindingCode::clock_replay_differs:
      return fmt::format(
          "replay ran at {} MHz, the timeline at {} MHz: compute utilisation counts the cycles of each at "
          "its own "
          "clock",
          megahertz(f.value("replay_hz")), megahertz(f.value("timeline_hz")));
    default:  // clock_unknown
      return "clocks and power were not recorded: compute utilisation takes replay and timeline to have run "
             "at one "
             "clock";
  }
}

std::string excess_text(const Finding& f) {
  const double surplus = f.value("surplus_bytes");
  std::string text = fmt::format(
      "{} moves {} × its minimum traffic: {} more over {}, {} at the DRAM peak of the {} they take",
      f.subject.name, fixed(f.value("measured_to_declared"), 2), bytes_text(surplus),
      counted(static_cast<std::int64_t>(f.value("launches")), "launch", "launches"),
      time_text(f.magnitude_ns.value_or(0)), time_text(f.value("time_ns")));
  if (f.count > 1) text += fmt::format("; {} more move too much", counted(f.count - 1, "operation"));
  return text;
}

// Where the GPU had nothing to do.
constexpr std::pair<std::string_view, std::string_view> kIdleWords[] = {
    {"host_bound_ns", "the CPU was late with the next launch"},
    {"synchronisation_ns", "the CPU waited for the GPU and launched nothing meanwhile"},
    {"launch_bound_ns", "the next launch was being made, or starting"},
    {"queued_ns", "launched work waited for an event, a copy or a stream"},
    {"unknown_ns", "nothing says why"},
    {"tail_ns", "after the last work of the {}"},
};

std::string idle_words(std::string_view words, analyzer::ScopeKind scope) {
  std::string text(words);
  if (const std::size_t place = text.find("{}"); place != std::string::npos)
    text.replace(place, 2, scope_noun(scope));
  return text;
}

// " (32.6 % without what recording adds)", of an idle GPU; "" if what recording adds is not known, or nothing.
std::string without_recording(const Finding& f) {
  const Evidence* ratio = f.find("idle_alone_ratio");
  return ratio == nullptr ? "" : fmt::format(" ({} without what recording adds)", percent_text(ratio->value));
}

// `longest_gap`: what is known of it, "65.961 ms, 67.6 % of the step: CPU code in thread main".
std::string idle_text(const Finding& f, const std::string& longest_gap = {}) {
  std::string text =
      fmt::format("the GPU is idle for {} of the {}, {} of {}", percent_text(f.step_share.value_or(0)),
                  scope_noun(f.scope), time_text(f.magnitude_ns.value_or(0)), time_text(f.value("step_ns")));
  text += without_recording(f);
  // The causes are in order, the most first.
  auto most = std::end(kIdleWords);
  for (const Evidence& evidence : f.evidence) {
    most = std::find_if(std::begin(kIdleWords), std::end(kIdleWords),
                        [&](const auto& cause) { return cause.first == evidence.name; });
    if (most == std::end(kIdleWords)) continue;
    text += fmt::format(": for {} {}", time_text(evidence.value), idle_words(most->second, f.scope));
    break;
  }
  if (!longest_gap.empty()) return text + "; the longest gap lasts " + longest_gap;
  for (const Evidence& evidence : f.evidence) {
    constexpr std::string_view kLongestGap = "longest_";
    if (!evidence.name.starts_with(kLongestGap)) continue;
    const auto words = std::find_if(std::begin(kIdleWords), std::end(kIdleWords), [&](const auto& cause) {
      return cause.first == evidence.name.substr(kLongestGap.size());
    });
    // The cause of most of it needs no second telling.
    const bool told = words == std::end(kIdleWords) || words == most;
    text += fmt::format("; the longest gap lasts {}{}", time_text(evidence.value),
                        !f.subject.name.empty() ? " (" + f.subject.name + ")"
                        : told                  ? ""
                                                : fmt::format(" ({})", idle_words(words->second, f.scope)));
  }
  return text;
}

std::string held_back_text(const Finding& f) {
  const double step_ns = f.value("step_ns");
  const double without_ns = f.value("without_gpu_ns");
  std::string text =
      fmt::format("kernels could take {} less at {} of their roof, but only {} of that reach the {}",
                  time_text(f.value("saved_ns")), target_text(f.value("target_ratio")),
                  time_text(f.value("reached_ns")), simulated_noun(f.scope));
  if (2 * without_ns >= step_ns)
    return text + fmt::format(": the CPU needs {} of its {}", time_text(without_ns), time_text(step_ns));
  return text +
         fmt::format(": other streams or the CPU hold the rest back (without GPU work it takes {} of its {})",
                     time_text(without_ns), time_text(step_ns));
}

// "alone 35.4 ms, recorded 38.5 ms a step (+8.7 % ± 0.6), 0.72 µs a launch".
std::string price_text(const Finding& f) {
  const double ratio = f.value("difference_ratio");
  std::string text = fmt::format("{}alone {}, recorded {} a step ({} ± {})",
                                 one_of_several(f) ? fmt::format("process {}: ", *f.subject.process_id) : "",
                                 time_text(f.value("alone_ns")), time_text(f.value("recorded_ns")),
                                 difference_percent(ratio), fixed(f.value("error_ratio") * 100, 1));
  if (!f.magnitude_ns)
    text += ratio < -f.value("error_ratio")
                ? ": recording makes no step longer; those alone include what the switch before them takes"
                : ": no more than steps vary by";
  const double launches = f.value("launches");
  if (f.magnitude_ns && *f.magnitude_ns > 0 && launches > 0)
    text += fmt::format(", {} a launch", time_text(*f.magnitude_ns / launches));
  if (const Evidence* gaps = f.find("gaps_ns"))
    text += fmt::format(", of which gaps that wait for launches {}", time_text(gaps->value));
  text += fmt::format("; {} and {} steps", integer(static_cast<std::int64_t>(f.value("steps_alone"))),
                      integer(static_cast<std::int64_t>(f.value("steps_recorded"))));
  if (const double remained_ns = f.value("remained_ns"); remained_ns > 0)
    text += fmt::format("; alone without {} of callbacks that remained", time_text(remained_ns));
  if (const Evidence* kept = f.find("kept_ns")) {
    if (kept->value > 0)
      text += fmt::format("; alone without {} that CUPTI takes with its records off", time_text(kept->value));
  } else if (f.magnitude_ns && *f.magnitude_ns > 0) {
    text += "; alone includes what CUPTI takes with its records off";
  }
  return text;
}

std::string communication_text(const Finding& f) {
  const double ranks = f.value("ranks");
  return fmt::format(
      "communication that no other kernel hides takes {} of the {}, {} of {}: its collectives run for {}{}",
      percent_text(f.step_share.value_or(0)), scope_noun(f.scope), time_text(f.magnitude_ns.value_or(0)),
      time_text(f.value("step_ns")), time_text(f.value("communication_ns")),
      ranks > 1   ? "; ridgeline ranks says what of it is waiting for another rank"
      : ranks > 0 ? "; ridgeline ranks of all ranks' captures says what of it is waiting for another rank"
                  : "");
}

std::string words_of(const Finding& f) {
  switch (f.code) {
    case FindingCode::steps_none:
    case FindingCode::steps_no_timeline:
    case FindingCode::steps_window:
    case FindingCode::steps_period:
    case FindingCode::steps_few:
    case FindingCode::steps_open:
    case FindingCode::steps_outlier:
    case FindingCode::steps_not_ok:
    case FindingCode::steps_kinds:
      return step_text(f);
    case FindingCode::peak_fallback:
      return fmt::format("no {} peak of {}: measured against {}",
                         f.missing_source ? to_string(*f.missing_source) : "", f.subject.name,
                         f.peak ? peak_text(*f.peak) : kMissing);
    case FindingCode::above_peak:
      return above_peak_text(f);
    case FindingCode::above_measured_roof:
      return above_measured_roof_text(f);
    case FindingCode::above_cache_roof:
      return above_cache_roof_text(f);
    case FindingCode::operations_disagree:
      return operations_disagree_text(f);
    case FindingCode::tensor_only:
      return "only the tensor pipe was counted: kernels that use the FP pipes show a compute utilisation of "
             "about 0";
    case FindingCode::completeness_launches:
    case FindingCode::completeness_unknown:
    case FindingCode::completeness_dropped:
    case FindingCode::completeness_zero_timestamps:
    case FindingCode::completeness_truncated:
    case FindingCode::rows_lost:
    case FindingCode::run_interrupted:
    case FindingCode::run_signal:
    case FindingCode::run_exit_status:
    case FindingCode::tier_partial:
    case FindingCode::tier_refused:
    case FindingCode::tier_failed:
    case FindingCode::collector:
      return recording_finding_text(f);
    case FindingCode::t1_concurrent:
      return percent_text(f.value("concurrent_ratio")) +
             " of the kernel time ran beside other kernels: its T1 values cover every kernel running at that "
             "time";
    case FindingCode::t1_disagreement:
    case FindingCode::t1_tensor_disagreement:
    case FindingCode::t2_disagreement:
      return agreement_text(f);
    case FindingCode::t2_coverage:
      if (f.value("coverage_ratio") <= 0)
        return fmt::format("DRAM and compute utilisation are not known for any kernel of the {}",
                           scope_noun(f.scope));
      return "DRAM and compute utilisation are known for " + percent_text(f.value("coverage_ratio")) +
             fmt::format(" of the {}'s kernel time", scope_noun(f.scope));
    case FindingCode::missing:
      return fmt::format("{} without utilisation, the longest {}{}", counted(f.count, "launch", "launches"),
                         time_text(f.magnitude_ns.value_or(0)),
                         f.why.empty() ? "" : ": " + absence_text(f.why));
    case FindingCode::clock_spread:
    case FindingCode::clock_throttled:
    case FindingCode::clock_replay_differs:
    case FindingCode::clock_unknown:
      return clock_text_of(f);
    case FindingCode::excess_bytes:
      return excess_text(f);
    case FindingCode::recording_price:
      return price_text(f);
    case FindingCode::gpu_idle:
      return idle_text(f);
    case FindingCode::saving_held_back:
      return held_back_text(f);
    case FindingCode::communication:
      return communication_text(f);
  }
  return reason_text(f.detail);
}

}  // namespace

std::string finding_text(const Finding& finding) {
  return bounded(words_of(finding), kLongest);
}

std::string idle_share_text(const Finding& finding) {
  return fmt::format("{} of the {}{}", percent_text(finding.step_share.value_or(0)),
                     scope_noun(finding.scope), without_recording(finding));
}

std::string idle_finding_text(const Finding& finding, const std::string& longest_gap) {
  return bounded(idle_text(finding, longest_gap), kLongest);
}

}  // namespace ridgeline::reports
