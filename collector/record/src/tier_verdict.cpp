#include "tier_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/spool/environment.h"
#include "ridgeline/spool/schedule.h"
#include "text.h"

namespace ridgeline::record {

RecordingPlan recording_plan(const spool::Reader& reader, const ScannedSpool& spool,
                             const std::optional<LaunchManifest>& manifest) {
  RecordingPlan plan;
  if (spool.process) {
    plan.schedule = one_line(reader.string_or(spool.process->schedule, ""));
    plan.step_range = one_line(reader.string_or(spool.process->step_range, ""));
  }
  if (plan.schedule.empty()) {
    plan.schedule =
        manifest && !manifest->schedule.empty() ? manifest->schedule : spool::environment::kDefaultSchedule;
  }
  if (plan.step_range.empty()) {
    plan.step_range = manifest && !manifest->step_range.empty() ? manifest->step_range
                                                                : spool::environment::kDefaultStepRange;
  }
  spool::StepSchedule schedule;
  if (spool::parse_schedule(plan.schedule.data(), plan.schedule.size(), &schedule) ==
      spool::ScheduleError::kNone) {
    plan.total_steps = schedule.total_steps();
    plan.replay_requested = schedule.has(spool::Phase::kReplay);
    for (std::size_t i = 0; i < schedule.phase_count && schedule.phases[i].phase != spool::Phase::kReplay;
         ++i) {
      plan.first_replay_step += schedule.phases[i].steps;
    }
  }
  if (manifest && !manifest->tiers.empty() &&
      std::find(manifest->tiers.begin(), manifest->tiers.end(), "T2") == manifest->tiers.end()) {
    plan.replay_requested = false;
  }
  return plan;
}

store::Completeness completeness_of(const spool::Reader& reader, const ScannedSpool& spool) {
  store::Completeness row;
  row.launches_seen = spool.launches_seen;
  row.kernel_records = spool.kernel_records;
  row.graph_launches = spool.graph_launches;
  row.graph_kernel_records = spool.graph_kernel_records;
  row.zero_timestamps = spool.zero_timestamps;
  row.truncated_bytes = static_cast<std::int64_t>(reader.diagnosis().unusable_bytes);
  row.lost_spool_records = static_cast<std::int64_t>(reader.file_header().records_lost);
  if (const auto& agent = spool.completeness) {
    const auto raise = [](std::int64_t& value, std::uint64_t by_agent) {
      value = std::max(value, static_cast<std::int64_t>(by_agent));
    };
    raise(row.launches_seen, agent->launches_seen);
    raise(row.graph_launches, agent->graph_launches_seen);
    raise(row.lost_spool_records, agent->spool_records_lost);
    row.profiler_records = static_cast<std::int64_t>(agent->own_kernel_records);
    row.dropped_records = static_cast<std::int64_t>(agent->dropped_records);
  }
  return row;
}

std::string phase_of(const ScannedStep& step, const RecordingPlan& plan) {
  if (plan.total_steps > 0 && step.index >= plan.total_steps) return "after";
  for (const spool::Phase known : spool::kAllPhases) {
    if (known == step.phase) return spool::phase_name(known);
  }
  return "after";
}

void judge_step(const spool::Reader& reader, const ScannedSpool& spool, const ScannedStep& step,
                const RecordingPlan& plan, store::Step& row) {
  const auto judge = [&](const char* status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
  };
  row.status = "ok";
  if (step.counters && step.counters->status != spool::CounterStatus::kOk) {
    const std::string reason = one_line(reader.string_or(step.counters->reason, "no reason given"));
    judge(step.counters->status == spool::CounterStatus::kMismatch ? "mismatch" : "failed", reason);
  } else if (!step.mismatch.empty()) {
    judge("mismatch", "values discarded: " + step.mismatch);
  } else if (!step.end_ns) {
    judge("interrupted", "the recording ended inside this step");
  } else if (!spool.end && step.launches_without_kernel() > 0) {
    judge("interrupted",
          fmt::format("the program was killed before {} of {} kernel records of this step arrived",
                      step.launches_without_kernel(), step.launches_seen));
  } else if (step.is_replay() && !step.counters && plan.replay_requested) {
    const MessageText* refused = spool.message_about(spool::Topic::kCountersRefused);
    if (refused == nullptr) refused = spool.message_about(spool::Topic::kReplay);
    judge("failed", refused != nullptr ? "no counters: " + refused->text
                                       : "no counters: the recording ended before they were read");
  }
}

std::vector<store::TierStatus> tier_verdicts(const ScannedSpool& spool, const RecordingPlan& plan,
                                             const store::Completeness& completeness,
                                             const ReplayOutcome& replay) {
  std::vector<store::TierStatus> verdicts;
  const auto add = [&](const char* tier, const char* status, std::string reason) {
    verdicts.push_back(
        {.process_id = 0,
         .tier = tier,
         .status = status,
         .reason = reason.empty() ? std::nullopt : std::optional<std::string>(std::move(reason))});
  };

  const MessageText* missing = spool.message_about(spool::Topic::kCuptiMissing);
  if (missing == nullptr) missing = spool.message_about(spool::Topic::kSubscriberTaken);
  const MessageText* refused = spool.message_about(spool::Topic::kTimelineRefused);
  const std::int64_t kernels = completeness.kernel_records + completeness.graph_kernel_records;
  if (kernels == 0 && missing != nullptr) {
    add("T0", "failed", missing->text);
  } else if (kernels == 0 && refused != nullptr) {
    add("T0", "refused", refused->text);
  } else {
    std::string gaps;
    const auto gap = [&](std::int64_t count, const char* what) {
      if (count > 0) gaps += fmt::format("{}{} {}", gaps.empty() ? "" : "; ", count, what);
    };
    gap(completeness.launches_seen - completeness.kernel_records, "launches without a kernel record");
    gap(completeness.dropped_records, "records dropped by the driver");
    gap(completeness.lost_spool_records, "records that found no room in the spool");
    gap(completeness.zero_timestamps, "kernel records without a time");
    gap(completeness.truncated_bytes, "bytes of the spool unreadable");
    if (refused != nullptr) gaps += (gaps.empty() ? "" : "; ") + refused->text;
    if (missing != nullptr) gaps += (gaps.empty() ? "" : "; ") + missing->text;
    add("T0", gaps.empty() ? "ok" : "partial", gaps);
  }

  add("T1", "not_requested", "in-situ sampling is not in this version");

  if (!plan.replay_requested) {
    add("T2", "not_requested", "the schedule or the tiers leave step replay out");
  } else {
    const MessageText* counters = spool.message_about(spool::Topic::kCountersRefused);
    const MessageText* nvtx = spool.message_about(spool::Topic::kNvtxMissing);
    if (replay.steps > 0 && replay.ok == replay.steps && replay.unjoined_values == 0) {
      add("T2", "ok", "");
    } else if (replay.ok > 0 && replay.ok == replay.steps) {
      add("T2", "partial",
          fmt::format("{} counter values belong to launches without a kernel record and were left out",
                      replay.unjoined_values));
    } else if (replay.ok > 0) {
      add("T2", "partial",
          fmt::format("{} of {} replay steps gave counters; the first that did not: {}", replay.ok,
                      replay.steps, replay.first_reason));
    } else if (counters != nullptr) {
      add("T2", "refused", counters->text);
    } else if (missing != nullptr) {
      add("T2", "failed", missing->text);
    } else if (spool.steps.empty()) {
      add("T2", "failed",
          nvtx != nullptr
              ? nvtx->text
              : fmt::format("no NVTX range named \"{}\" was seen: name the program's step range with "
                            "--step-range",
                            plan.step_range));
    } else if (replay.steps == 0) {
      add("T2", "failed",
          fmt::format(
              "the program ended after {} steps and replay begins with step {}: run more steps or shorten "
              "the schedule",
              spool.steps.rbegin()->first + 1, plan.first_replay_step));
    } else {
      add("T2", "failed",
          fmt::format("none of {} replay steps gave counters: {}", replay.steps, replay.first_reason));
    }
  }

  add("T3", "not_requested", "kernel replay is not in this version");
  return verdicts;
}

std::string no_steps_text(const spool::Reader& reader, const ScannedSpool& spool, const RecordingPlan& plan) {
  std::string seen;
  std::vector<std::pair<std::int64_t, std::uint32_t>> most;
  for (const auto& [path, count] : spool.ranges_by_path) most.emplace_back(count, path);
  std::sort(most.rbegin(), most.rend());
  if (most.size() > 5) most.resize(5);
  for (const auto& [count, path] : most) {
    const auto definition = spool.paths.find(path);
    if (definition == spool.paths.end()) continue;
    seen += fmt::format("{}\"{}\" ({})", seen.empty() ? "" : ", ",
                        one_line(reader.string_or(definition->second.name, "?")), count);
  }
  return fmt::format(
      "no NVTX range named \"{}\" was seen, so there are no steps and no counters (tier T2): mark the steps "
      "of the "
      "program with such a range, or name its own with --step-range; {}",
      plan.step_range,
      seen.empty() ? "the program opened no range at all" : "outermost ranges seen: " + seen);
}

}  // namespace ridgeline::record
