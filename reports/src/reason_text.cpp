#include "ridgeline/reports/reason_text.h"

#include <fmt/format.h>

#include "ridgeline/base/units.h"

namespace ridgeline::reports {
namespace {

using Code = ReasonCode;

// Those below, in their order.
std::string below(const Reason& reason, const char* between = "; ") {
  std::string text;
  for (const Reason& each : reason.because) text += (text.empty() ? "" : between) + reason_text(each);
  return text;
}

bool is_of(const Reason& reason, Tier tier) {
  return reason.word("tier") == to_string(tier);
}

// In the words of a source; a name that found no room in the spool has none.
std::string said(const Reason& reason) {
  return reason.text.empty() ? "(text lost)" : reason.text;
}

std::string process_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  switch (reason.code) {
    case Code::end_not_seen:
      return "the launcher did not see the program end: its exit status is unknown";
    case Code::launches_without_record:
      return counted(number("launches"), "launch", "launches") + " without a kernel record";
    case Code::records_without_launch:
      return fmt::format("{} ran of whose launch CUPTI did not tell: which call and step {} of is not known",
                         counted(number("records"), "kernel"), number("records") == 1 ? "it is" : "they are");
    case Code::records_of_one_call:
      return fmt::format("CUPTI says of {} that one call launched {}: which call and step {} of is not known",
                         counted(number("records"), "kernel"), number("records") == 1 ? "it" : "them",
                         number("records") == 1 ? "it is" : "they are");
    case Code::records_dropped:
      return counted(number("records"), "record") + " dropped by the driver";
    case Code::records_without_room:
      return counted(number("records"), "record") + " that found no room in the spool";
    case Code::records_without_time:
      return counted(number("records"), "kernel record") + " without a time";
    case Code::bytes_unreadable:
      return fmt::format("{} bytes of the spool unreadable", number("bytes"));
    case Code::process_unfinished:
      return fmt::format("process {} did not end in order (killed, crashed or still running): {}",
                         number("pid"),
                         reason.because.empty() ? "the last moments of it may be missing" : below(reason));
    case Code::spool_damaged:
      return fmt::format("the spool of process {} is damaged, {} bytes are lost: {}{}", number("pid"),
                         number("bytes"), reason.text.empty() ? "no detail" : reason.text,
                         number("more") > 0 ? fmt::format(" (and {} more)", number("more")) : "");
    case Code::spool_cut:
      return fmt::format(
          "the spool of process {} was cut while it was read: {} of {} kernel records are in the capture; "
          "import it again from a whole one",
          number("pid"), number("records"), number("expected"));
    case Code::names_lost:
      return fmt::format(
          "{} names found no room in the spool: kernels and ranges without a name are among them",
          number("names"));
    case Code::range_paths_full:
      return fmt::format(
          "the program nests its NVTX ranges in more than {} different ways (numbered names?): launches "
          "after that have no range; name ranges alike in every step",
          number("limit"));
    case Code::nccl_profiler_taken:
      return fmt::format(
          "algorithm and protocol of NCCL's collectives are not known: NCCL takes one profiler plugin, and "
          "it has another ({})",
          reason.word("by"));
    case Code::ranges_unbalanced:
      return fmt::format(
          "{} NVTX calls could not be followed (an end without a begin, or too deeply nested): ranges of "
          "some launches are missing or wrong",
          number("calls"));
    default:  // part_of_capture
      return fmt::format(
          "this is a part of {}: {} of {} and {} of {}, those of a stretch of {} and the steps that "
          "measured",
          reason.word("name"), number("steps"), counted(number("of_steps"), "step"), number("launches"),
          counted(number("of_launches"), "launch", "launches"),
          time_text(static_cast<double>(number("duration_ns"))));
  }
}

std::string no_steps_text(const Reason& reason) {
  const bool searched = reason.number("searched") != 0;
  // What another profiler recorded has no tier that waits for steps, and is not recorded again for them.
  if (reason.number("imported") != 0)
    return fmt::format(
        "{}{}: it counts as one step; ridgeline import --step-range NAME names the ranges that are its "
        "steps; {}",
        reason.number("ranges") == 0
            ? fmt::format("no range named \"{}\" is in the trace", reason.word("step_range"))
            : fmt::format(
                  "nothing that is recorded was launched in the ranges named \"{}\" of the trace ({})",
                  reason.word("step_range"), reason.number("ranges")),
        searched ? " and no period of the launches was found" : "",
        reason.because.empty() ? "the trace has no range at all"
                               : "outermost ranges: " + below(reason, ", "));
  if (reason.number("stretches") != 0)
    return fmt::format(
        "no NVTX range named \"{}\" was seen and no period of the launches was found: the recording counts "
        "as one step, "
        "and its launches were counted by kind (tier T2), in {}, between which the longest piece is ranked; "
        "{}",
        reason.word("step_range"), counted(reason.number("stretches"), "stretch", "stretches"),
        reason.because.empty() ? "the program opened no range at all"
                               : "outermost ranges seen: " + below(reason, ", "));
  return fmt::format(
      "no NVTX range named \"{}\" was seen{}, so there are no steps and no counters (tier T2){}: mark the "
      "steps of the program with such a range, or name its own with --step-range; {}",
      reason.word("step_range"), searched ? " and no period of the launches was found" : "",
      searched ? "; the recording counts as one step, on the timeline only" : "",
      reason.because.empty() ? "the program opened no range at all"
                             : "outermost ranges seen: " + below(reason, ", "));
}

std::string too_few_steps_text(const Reason& reason) {
  return fmt::format(
      "the program ended after {} steps and {} begins with step {}: run more steps or shorten the schedule",
      reason.number("steps"),
      is_of(reason, Tier::t1)   ? "sampling"
      : is_of(reason, Tier::t2) ? "replay"
                                : "tier T3",
      reason.number("first_step"));
}

std::string found_by_period_text(const Reason& reason) {
  const std::int64_t periods = reason.number("periods");
  const bool imported = reason.number("imported") != 0;
  return fmt::format(
      "{}found {} of {}{} launches{}, {:.2f} ms each{}{}",
      imported ? "no range of the trace is known as its step; by the period of the launches the import "
               : "no step was found in time while the program ran; the import ",
      reason.number("steps"), reason.number("varies") != 0 ? "about " : "", reason.number("launches"),
      periods > 1 ? fmt::format(", {} times", periods) : "",
      static_cast<double>(reason.number("step_ns")) / 1e6,
      reason.number("varies") != 0 ? " (steps by period that do not launch alike)" : "",
      imported ? ": ridgeline import --step-range NAME names others"
               : ": on the timeline only, since samples and counters need steps while the program runs");
}

std::string step_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  switch (reason.code) {
    case Code::no_steps:
      return no_steps_text(reason);
    case Code::range_seen:
      return fmt::format("\"{}\" ({})", reason.word("name"), number("ranges"));
    case Code::no_range_seen:
      return fmt::format(
          "no NVTX range named \"{}\" was seen: name the program's step range with --step-range",
          reason.word("step_range"));
    case Code::steps_by_period:
      return found_by_period_text(reason);
    case Code::steps_by_range:
      if (reason.number("imported") != 0)
        return fmt::format(
            "steps are the ranges \"{}\" of the trace: {}, {:.0f} % of the launches in them; ridgeline "
            "import "
            "--step-range NAME names others",
            reason.word("name"), counted(reason.number("steps"), "step"),
            100 * reason.real("launches_ratio"));
      return fmt::format(
          "no step was found in time while the program ran; the import took its NVTX ranges \"{}\": {} "
          "steps, "
          "{:.0f} % of the launches in them: on the timeline only, since samples and counters need steps "
          "while the program runs; --step-range names others",
          reason.word("name"), number("steps"), 100 * reason.real("launches_ratio"));
    case Code::too_few_steps:
      return too_few_steps_text(reason);
    case Code::step_open:
      return "the recording ended inside this step";
    case Code::step_killed:
      return fmt::format("the program was killed before {} of {} kernel records of this step arrived",
                         number("missing"), number("launches"));
    case Code::window_open:
      return "the program was killed before the recording window closed";
    case Code::step_superseded:
      return "other steps were found later";
    default:  // another_launch
      return fmt::format(
          "values discarded: launch {}: the counters are of {} with grid {}, the timeline has {} with grid "
          "{}",
          number("position"), reason.word("counted"), reason.word("counted_grid"), reason.word("ran"),
          reason.word("ran_grid"));
  }
}

std::string sampling_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  switch (reason.code) {
    case Code::not_asked_for:
      if (reason.word("source") == "trace")
        return is_of(reason, Tier::t1) ? "the trace that was imported has no samples of counters"
               : is_of(reason, Tier::t2)
                   ? "the trace that was imported has no counters: join results of Nsight Compute with "
                     "ridgeline import --onto"
                   : "the trace that was imported has none";
      return is_of(reason, Tier::t1)   ? "the schedule or the tiers leave samples (T1) out"
             : is_of(reason, Tier::t2) ? "the schedule or the tiers leave step replay out"
                                       : "ask for it with --cold, --stalls or --sass-flops";
    case Code::no_samples:
      return "no samples: " + below(reason);
    case Code::samples_undecoded:
      return "the recording ended before they were decoded";
    case Code::samples_elsewhere:
      return "those of its window end before it or begin after it";
    case Code::samples_unread:
      return "the recording ended before its samples were read to the end";
    case Code::samples_of_part_of_step:
      return fmt::format("samples cover {:.0f} % of this step{}{}", 100 * reason.real("covered_ratio"),
                         reason.because.empty() ? "" : ": ", below(reason));
    case Code::no_sampled_values:
      return fmt::format("none of {} sample steps gave values: {}", number("steps"), below(reason));
    case Code::none_told_apart:
      return "no kernel in them could be told from its neighbours";
    case Code::sampled_steps_lost:
      return fmt::format("{} of {} sample steps are whole; the first that is not: {}", number("ok"),
                         number("steps"), below(reason));
    case Code::samples_of_part:
      return fmt::format(
          "values for {:.1f} % of the kernel time only: a finer interval or more sample steps tell more "
          "kernels apart",
          100 * reason.real("covered_ratio"));
    case Code::sampled_metric_left_out:
      return fmt::format("samples (T1) of {}: {} of {} could not be evaluated; the metric is left out",
                         reason.word("metric"), number("missing"), number("samples"));
    default:  // samples_uncorrelated
      return fmt::format(
          "the samples (T1) hardly follow the kernels (correlation {:.2f}), so the clock shift between them "
          "is not known and values of short kernels are doubtful",
          reason.real("correlation"));
  }
}

std::string counters_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  const char* steps = is_of(reason, Tier::t3) ? "cold and instrumented" : "replay";
  switch (reason.code) {
    case Code::no_counters:
      return "no counters: " + below(reason);
    case Code::counters_unread:
      return "the recording ended before they were read";
    case Code::counters_of_step:
      if (reason.has("steps"))
        return fmt::format("counters of {} steps lack some; the first of them, step {}: {}", number("steps"),
                           number("step"), below(reason));
      return fmt::format("counters of step {}: {}", number("step"), below(reason));
    case Code::counted_steps_lost:
      return fmt::format("{} of {} {} steps gave counters; the first that did not: {}", number("ok"),
                         number("steps"), steps, below(reason));
    case Code::no_counted_values:
      return fmt::format("none of {} {} steps gave counters: {}", number("steps"), steps, below(reason));
    case Code::values_without_launch:
      return counted(number("values"),
                     "counter value belongs to a launch without a kernel record and was left out",
                     "counter values belong to launches without a kernel record and were left out");
    case Code::values_without_metric:
      return counted(number("values"), "counter value names no metric and was left out",
                     "counter values name no metric and were left out");
    case Code::values_not_evaluated:
      return counted(number("values"), "counter value could not be evaluated by CUPTI and was left out",
                     "counter values could not be evaluated by CUPTI and were left out");
    case Code::no_stall_samples:
      return "no sample of stalls arrived";
    case Code::stall_samples_dropped:
      return fmt::format("stall reasons: {} dropped by the hardware, {} received",
                         counted(number("dropped"), "sample was", "samples were"),
                         counted(number("received"), "was", "were"));
    case Code::stall_samples_nameless:
      return "stall reasons: " + counted(number("samples"),
                                         "sample names no kernel or reason and was left out",
                                         "samples name no kernel or reason and were left out");
    default:  // stall_samples_ambiguous
      return "stall reasons: " + counted(number("samples"), "sample is", "samples are") +
             fmt::format(" of kernels that ran in two machine codes of one name, and {} left out",
                         number("samples") == 1 ? "was" : "were");
  }
}

std::string import_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  switch (reason.code) {
    case Code::import_without_names:
      return "the export has no table StringIds: names are not known";
    case Code::import_without_calls:
      return "the export has no calls of the CUDA API: launches have no time on the host and no range round "
             "them";
    case Code::import_without_devices:
      return "the export does not describe the devices, as in containers that hide them: they have no peaks";
    case Code::import_hidden_graphs:
      return fmt::format(
          "{} of CUDA graphs, {} of GPU time, {} in the file without their kernels: record "
          "with nsys profile --cuda-graph-trace=node",
          counted(number("launches"), "launch", "launches"),
          time_text(static_cast<double>(number("duration_ns"))), number("launches") == 1 ? "is" : "are");
    case Code::import_cut:
      return fmt::format("the file {}: {} events before that are here",
                         reason.word("end") == "damage" ? "is damaged, and is not read to its end"
                         : reason.word("end") == "gzip" ? "ends before its gzip stream does"
                                                        : "ends inside its list of events",
                         number("events"));
    case Code::import_malformed:
      return fmt::format("{} {} malformed and left out", counted(number("events"), "event"),
                         number("events") == 1 ? "is" : "are");
    case Code::import_left_out:
      return "events that are not taken over: " + below(reason, ", ");
    case Code::import_left_out_events:
      return fmt::format("{} of {}", number("events"),
                         reason.word("category").empty() ? "no category" : reason.word("category"));
    case Code::import_samples:
      return fmt::format("samples (T1) of the file: {} of {}, one each {}", number("samples"),
                         counted(number("metrics"), "metric"),
                         time_text(static_cast<double>(number("interval_ns"))));
    case Code::import_samples_unused:
      return fmt::format("{} of GPU metrics are not taken over: {}", counted(number("samples"), "sample"),
                         reason.word("cause") == "no_metric" ? "none of their metrics has a meaning here"
                         : reason.word("cause") == "no_device"
                             ? "they are of a GPU on which nothing that is recorded ran"
                         : reason.word("cause") == "too_many" ? "there are more than can be held at once"
                                                              : "none was taken while kernels ran");
    case Code::import_metrics_unused:
      return fmt::format("{} of the samples are not taken over: {}", counted(number("metrics"), "metric"),
                         reason.word("names"));
    default:  // import_dram_without_peak
      return "the samples give DRAM traffic in per cent of a peak that the file does not state: it is not "
             "taken over";
  }
}

std::string joined_text(const Reason& reason) {
  const auto number = [&](const char* name) { return reason.number(name); };
  const auto launches = [&] { return counted(number("launches"), "launch", "launches"); };
  switch (reason.code) {
    case Code::counters_joined:
      return fmt::format(
          "{} of {} that {} counted are joined onto the step: {}, {} (tier T2){}", launches(),
          number("of_launches"), reason.word("source"), counted(number("kernels"), "kernel"),
          counted(number("metrics"), "metric"),
          number("by_order") == 0
              ? ""
              : fmt::format("; {} are known by what was launched around them", number("by_order")));
    case Code::counters_unmatched:
      return fmt::format("{} no launch of that name, grid and block in the step: {}",
                         number("launches") == 1 ? launches() + " that was counted has"
                                                 : launches() + " that were counted have",
                         below(reason, "; "));
    case Code::counters_ambiguous:
      return fmt::format(
          "{} that were counted may be of several kernels and are not joined: {}: profile with "
          "--kernel-name-base demangled",
          launches(), below(reason, "; "));
    case Code::counters_by_kind:
      return fmt::format(
          "of {} there are not as many launches in the step as were counted: which is which is taken to be "
          "their order, and stands for all of them: {}",
          counted(number("kernels"), "kernel"), below(reason, "; "));
    case Code::counters_of_kernel:
      return fmt::format("{} ({}){}", reason.word("name"), number("launches"),
                         reason.word("candidates").empty()
                             ? ""
                             : fmt::format(", which may be {}", reason.word("candidates")));
    default:  // counters_unreadable
      return fmt::format("{} without a number or with a unit that is not known are left out: {}",
                         counted(number("metrics"), "metric"), reason.word("names"));
  }
}

}  // namespace

std::string reason_text(const Reason& reason) {
  switch (reason.code) {
    case Code::none_given:
      return reason.text;
    case Code::no_reason:
      return "no reason given";
    case Code::text_lost:
      return "(text lost)";
    case Code::several:
      return below(reason);
    case Code::tier:
      return fmt::format("tier {} {}: {}", reason.word("tier"), reason.word("outcome"), below(reason));
    case Code::collector:
    case Code::cupti_missing:
    case Code::subscriber_taken:
    case Code::timeline_refused:
    case Code::counters_refused:
    case Code::metric_unavailable:
    case Code::replay:
    case Code::nvtx_missing:
    case Code::clocks_missing:
    case Code::forked:
    case Code::configuration:
    case Code::sampling:
    case Code::sampling_refused:
    case Code::replay_exclusion:
    case Code::replay_time_out:
    case Code::steps:
    case Code::window:
    case Code::stalls:
    case Code::flops:
    case Code::spool_full:
    case Code::nvtx_paths:
    case Code::price:
    case Code::turns:
    case Code::launcher:
    case Code::file_unreadable:
      return said(reason);
    case Code::end_not_seen:
    case Code::launches_without_record:
    case Code::records_without_launch:
    case Code::records_of_one_call:
    case Code::records_dropped:
    case Code::records_without_room:
    case Code::records_without_time:
    case Code::bytes_unreadable:
    case Code::process_unfinished:
    case Code::spool_damaged:
    case Code::spool_cut:
    case Code::names_lost:
    case Code::range_paths_full:
    case Code::ranges_unbalanced:
    case Code::nccl_profiler_taken:
    case Code::part_of_capture:
      return process_text(reason);
    case Code::no_steps:
    case Code::range_seen:
    case Code::no_range_seen:
    case Code::steps_by_period:
    case Code::steps_by_range:
    case Code::too_few_steps:
    case Code::step_open:
    case Code::step_killed:
    case Code::window_open:
    case Code::step_superseded:
    case Code::another_launch:
      return step_text(reason);
    case Code::recording_price:
      return fmt::format("a step takes {} alone and {} recorded, ± {}",
                         time_text(static_cast<double>(reason.number("alone_ns"))),
                         time_text(static_cast<double>(reason.number("recorded_ns"))),
                         time_text(static_cast<double>(reason.number("error_ns"))));
    case Code::not_asked_for:
    case Code::no_samples:
    case Code::samples_undecoded:
    case Code::samples_elsewhere:
    case Code::samples_unread:
    case Code::samples_of_part_of_step:
    case Code::no_sampled_values:
    case Code::none_told_apart:
    case Code::sampled_steps_lost:
    case Code::samples_of_part:
    case Code::sampled_metric_left_out:
    case Code::samples_uncorrelated:
      return sampling_text(reason);
    case Code::no_counters:
    case Code::counters_unread:
    case Code::counters_of_step:
    case Code::counted_steps_lost:
    case Code::no_counted_values:
    case Code::values_without_launch:
    case Code::values_without_metric:
    case Code::values_not_evaluated:
    case Code::no_stall_samples:
    case Code::stall_samples_dropped:
    case Code::stall_samples_nameless:
    case Code::stall_samples_ambiguous:
      return counters_text(reason);
    case Code::import_without_names:
    case Code::import_without_calls:
    case Code::import_without_devices:
    case Code::import_hidden_graphs:
    case Code::import_cut:
    case Code::import_malformed:
    case Code::import_left_out:
    case Code::import_left_out_events:
    case Code::import_samples:
    case Code::import_samples_unused:
    case Code::import_metrics_unused:
    case Code::import_dram_without_peak:
      return import_text(reason);
    case Code::counters_joined:
    case Code::counters_unmatched:
    case Code::counters_ambiguous:
    case Code::counters_by_kind:
    case Code::counters_of_kernel:
    case Code::counters_unreadable:
      return joined_text(reason);
  }
  return reason.text;
}

}  // namespace ridgeline::reports
