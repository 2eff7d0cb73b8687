#include "spool/tier_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/schedule.h"
#include "ridgeline/base/text.h"
#include "ridgeline/spool/environment.h"

namespace ridgeline::import {

namespace {
constexpr double kGoodCoverage = 0.95;  // of the sampled steps' kernel time, below that T1 is partial
}

RecordingPlan recording_plan(const spool::Reader& reader, const ScannedSpool& spool,
                             const std::optional<spool::LaunchManifest>& manifest) {
  RecordingPlan plan;
  if (spool.process) {
    plan.schedule = one_line(reader.string_or(spool.process->schedule, ""));
    plan.step_range = one_line(reader.string_or(spool.process->step_range, ""));
  }
  if (plan.schedule.empty()) {
    plan.schedule = manifest && !manifest->schedule.empty() ? manifest->schedule : kDefaultSchedule;
  }
  if (plan.step_range.empty()) {
    plan.step_range = manifest && !manifest->step_range.empty() ? manifest->step_range
                                                                : spool::environment::kDefaultStepRange;
  }
  Schedule schedule;
  if (parse_schedule(plan.schedule, &schedule) == ScheduleError::none) {
    plan.total_steps = schedule.total_steps();
    const auto begins_with = [&](std::initializer_list<Phase> wanted, std::uint64_t& first_step) {
      first_step = 0;
      for (std::size_t i = 0; i < schedule.phase_count; ++i) {
        if (std::find(wanted.begin(), wanted.end(), schedule.phases[i].phase) != wanted.end()) return true;
        first_step += schedule.phases[i].steps;
      }
      return false;
    };
    plan.sampling_requested = begins_with({Phase::sample}, plan.first_sample_step);
    plan.replay_requested = begins_with({Phase::replay}, plan.first_replay_step);
    plan.third_tier_requested =
        begins_with({Phase::cold, Phase::stalls, Phase::flops}, plan.first_third_tier_step);
    plan.stalls_requested = schedule.has(Phase::stalls);
  }
  if (manifest && manifest->tiers) {
    plan.sampling_requested = plan.sampling_requested && manifest->tiers->has(Tier::t1);
    plan.replay_requested = plan.replay_requested && manifest->tiers->has(Tier::t2);
    plan.third_tier_requested = plan.third_tier_requested && manifest->tiers->has(Tier::t3);
    plan.stalls_requested = plan.stalls_requested && manifest->tiers->has(Tier::t3);
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
    row.strings_lost = static_cast<std::int64_t>(agent->strings_lost);
    row.nvtx_unbalanced = static_cast<std::int64_t>(agent->nvtx_unbalanced);
    row.profiler_records = static_cast<std::int64_t>(agent->own_kernel_records);
    row.dropped_records = static_cast<std::int64_t>(agent->dropped_records);
  }
  return row;
}

Phase phase_of(const ScannedSpool& spool, const ScannedStep& step, const RecordingPlan& plan) {
  if (!spool.steps_found.empty()) return step.phase;
  if (step.superseded) return Phase::warmup;
  if (plan.total_steps > 0 && step.position >= plan.total_steps) return Phase::after;
  return is_known(step.phase) ? step.phase : Phase::after;
}

namespace {

// A sample step is ok if samples cover its work on the GPU to the end.
void judge_sampling(const spool::Reader& reader, const ScannedSpool& spool, const ScannedStep& step,
                    store::Step& row) {
  std::string reason = "the recording ended before they were decoded";
  if (const MessageText* refused = spool.message_about(spool::Topic::sampling_refused)) {
    reason = refused->text;
  } else if (const MessageText* said = spool.message_about(spool::Topic::sampling)) {
    reason = said->text;
  }
  for (const auto& [id, window] : spool.pm_windows) {
    if (window.record && (step.index < window.record->first_step || step.index > window.record->last_step)) {
      continue;
    }
    const bool whole = window.record && window.record->status == WindowStatus::ok;
    if (window.record && !whole) {
      reason = one_line(reader.string_or(window.record->reason, "no reason given"));
    }
    if (window.samples == 0 || !step.gpu_start_ns || step.kernel_end_ns == 0) continue;
    // What the clocks of kernels and samples may differ by, and a few intervals at each end.
    const std::int64_t slack =
        20'000 + (window.last_end_ns - window.first_start_ns) / std::max<std::int64_t>(window.samples, 1) * 4;
    if (window.last_end_ns + slack >= step.kernel_end_ns &&
        window.first_start_ns <= *step.gpu_start_ns + slack) {
      return;
    }
    if (whole) reason = "those of its window end before it or begin after it";
    if (window.first_start_ns < step.kernel_end_ns && window.last_end_ns > *step.gpu_start_ns) {
      row.status = StepStatus::interrupted;
      row.reason = fmt::format(
          "samples cover {:.0f} % of this step{}",
          100.0 *
              static_cast<double>(std::min(window.last_end_ns, step.kernel_end_ns) -
                                  std::max(window.first_start_ns, *step.gpu_start_ns)) /
              static_cast<double>(std::max<std::int64_t>(step.kernel_end_ns - *step.gpu_start_ns, 1)),
          whole ? "" : ": " + reason);
      return;
    }
  }
  row.status = StepStatus::failed;
  row.reason = "no samples: " + reason;
}

}  // namespace

void judge_step(const spool::Reader& reader, const ScannedSpool& spool, const ScannedStep& step,
                const RecordingPlan& plan, store::Step& row) {
  const auto judge = [&](StepStatus status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
  };
  row.status = StepStatus::ok;
  if (step.counters && step.counters->status != spool::CounterStatus::ok) {
    const std::string reason = one_line(reader.string_or(step.counters->reason, "no reason given"));
    judge(step.counters->status == spool::CounterStatus::mismatch ? StepStatus::mismatch : StepStatus::failed,
          reason);
  } else if (!step.mismatch.empty()) {
    judge(StepStatus::mismatch, "values discarded: " + step.mismatch);
  } else if (!step.end_ns) {
    judge(StepStatus::interrupted, "the recording ended inside this step");
  } else if (!spool.end && step.launches_without_kernel() > 0) {
    judge(StepStatus::interrupted,
          fmt::format("the program was killed before {} of {} kernel records of this step arrived",
                      step.launches_without_kernel(), step.launches_seen));
  } else if (step.phase == Phase::sample && !step.unmeasured && plan.sampling_requested) {
    judge_sampling(reader, spool, step, row);
  } else if (step.is_replay() && !step.counters &&
             (step.is_third_tier() ? plan.third_tier_requested : plan.replay_requested)) {
    const MessageText* refused = spool.message_about(spool::Topic::counters_refused);
    if (refused == nullptr) refused = spool.message_about(spool::Topic::replay);
    judge(StepStatus::failed, refused != nullptr ? "no counters: " + refused->text
                                                 : "no counters: the recording ended before they were read");
  }
}

namespace {

// CUPTI was not there or not free; null if it was.
const MessageText* missing_cupti(const ScannedSpool& spool) {
  const MessageText* missing = spool.message_about(spool::Topic::cupti_missing);
  return missing != nullptr ? missing : spool.message_about(spool::Topic::subscriber_taken);
}

store::TierStatus verdict(Tier tier, TierOutcome status, std::string reason) {
  return {.process_id = 0,
          .tier = tier,
          .status = status,
          .reason = reason.empty() ? std::nullopt : std::optional<std::string>(std::move(reason))};
}

store::TierStatus timeline_verdict(const ScannedSpool& spool, const store::Completeness& completeness) {
  const MessageText* missing = missing_cupti(spool);
  const MessageText* refused = spool.message_about(spool::Topic::timeline_refused);
  const std::int64_t kernels = completeness.kernel_records + completeness.graph_kernel_records;
  if (kernels == 0 && missing != nullptr) {
    return verdict(Tier::t0, TierOutcome::failed, missing->text);
  }
  if (kernels == 0 && refused != nullptr) {
    return verdict(Tier::t0, TierOutcome::refused, refused->text);
  }
  std::string gaps;
  const auto gap = [&](std::int64_t count, const char* what) {
    if (count > 0) gaps += fmt::format("{}{} {}", gaps.empty() ? "" : "; ", count, what);
  };
  gap(completeness.launches_seen - completeness.kernel_records, "launches without a kernel record");
  gap(completeness.dropped_records, "records dropped by the driver");
  gap(completeness.lost_spool_records, "records that found no room in the spool");
  if (const MessageText* full = spool.message_about(spool::Topic::spool_full);
      full != nullptr && completeness.lost_spool_records > 0) {
    gaps += "; " + full->text;
  }
  gap(completeness.zero_timestamps, "kernel records without a time");
  gap(completeness.truncated_bytes, "bytes of the spool unreadable");
  if (refused != nullptr) gaps += (gaps.empty() ? "" : "; ") + refused->text;
  if (missing != nullptr) gaps += (gaps.empty() ? "" : "; ") + missing->text;
  return verdict(Tier::t0, gaps.empty() ? TierOutcome::ok : TierOutcome::partial, gaps);
}

// Why a tier that needs steps got none.
std::string no_steps(const ScannedSpool& spool, const RecordingPlan& plan, const char* what,
                     std::uint64_t first_step) {
  if (const MessageText* missing = missing_cupti(spool)) return missing->text;
  if (spool.steps.empty()) {
    const MessageText* nvtx = spool.message_about(spool::Topic::nvtx_missing);
    return nvtx != nullptr ? nvtx->text
                           : fmt::format(
                                 "no NVTX range named \"{}\" was seen: name the program's step range with "
                                 "--step-range",
                                 plan.step_range);
  }
  if (!spool.steps_found.empty()) return spool.steps_found;
  return fmt::format(
      "the program ended after {} steps and {} begins with step {}: run more steps or shorten the schedule",
      spool.steps.rbegin()->first + 1, what, first_step);
}

store::TierStatus sampling_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                   const SamplingOutcome& sampling) {
  if (!plan.sampling_requested && sampling.covered_ns == 0) {
    return verdict(Tier::t1, TierOutcome::not_requested, "the schedule or the tiers leave samples (T1) out");
  }
  if (sampling.covered_ns == 0) {
    const MessageText* no_permission = spool.message_about(spool::Topic::sampling_refused);
    if (no_permission != nullptr) {
      return verdict(Tier::t1, TierOutcome::refused, no_permission->text);
    }
    if (sampling.steps == 0) {
      return verdict(Tier::t1, TierOutcome::failed,
                     no_steps(spool, plan, "sampling", plan.first_sample_step));
    }
    return verdict(
        Tier::t1, TierOutcome::failed,
        fmt::format("none of {} sample steps gave values: {}", sampling.steps,
                    sampling.first_reason.empty() ? "no kernel in them could be told from its neighbours"
                                                  : sampling.first_reason));
  }
  std::string gaps;
  if (sampling.ok < sampling.steps) {
    gaps = fmt::format("{} of {} sample steps are whole; the first that is not: {}", sampling.ok,
                       sampling.steps, sampling.first_reason);
  }
  const double covered =
      static_cast<double>(sampling.covered_ns) / static_cast<double>(sampling.kernel_time_ns);
  if (covered < kGoodCoverage) {
    gaps += fmt::format(
        "{}values for {:.1f} % of the kernel time only: a finer interval or more sample steps "
        "tell more kernels apart",
        gaps.empty() ? "" : "; ", 100 * covered);
  }
  return verdict(Tier::t1, gaps.empty() ? TierOutcome::ok : TierOutcome::partial, gaps);
}

store::TierStatus replay_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                 const CounterOutcome& replay) {
  const MessageText* counters = spool.message_about(spool::Topic::counters_refused);
  if (!plan.replay_requested) {
    return verdict(Tier::t2, TierOutcome::not_requested, "the schedule or the tiers leave step replay out");
  }
  if (replay.steps > 0 && replay.ok == replay.steps && replay.unjoined_values == 0) {
    return verdict(Tier::t2, TierOutcome::ok, "");
  }
  if (replay.ok > 0 && replay.ok == replay.steps) {
    return verdict(
        Tier::t2, TierOutcome::partial,
        fmt::format("{} counter values belong to launches without a kernel record and were left out",
                    replay.unjoined_values));
  }
  if (replay.ok > 0) {
    return verdict(Tier::t2, TierOutcome::partial,
                   fmt::format("{} of {} replay steps gave counters; the first that did not: {}", replay.ok,
                               replay.steps, replay.first_reason));
  }
  if (counters != nullptr) {
    return verdict(Tier::t2, TierOutcome::refused, counters->text);
  }
  if (missing_cupti(spool) != nullptr || replay.steps == 0) {
    return verdict(Tier::t2, TierOutcome::failed, no_steps(spool, plan, "replay", plan.first_replay_step));
  }
  return verdict(Tier::t2, TierOutcome::failed,
                 fmt::format("none of {} replay steps gave counters: {}", replay.steps, replay.first_reason));
}

store::TierStatus third_tier_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                     const CounterOutcome& third) {
  const MessageText* counters = spool.message_about(spool::Topic::counters_refused);
  const bool stalls_wanting = plan.stalls_requested && spool.stall_samples == 0;
  const MessageText* about_stalls = spool.message_about(spool::Topic::stalls);
  const std::string no_stalls = about_stalls != nullptr ? about_stalls->text : "no sample of stalls arrived";
  if (!plan.third_tier_requested && third.ok == 0 && spool.stall_samples == 0) {
    return verdict(Tier::t3, TierOutcome::not_requested, "ask for it with --cold, --stalls or --sass-flops");
  }
  if (third.ok == third.steps && third.ok + spool.stall_samples > 0 && !stalls_wanting &&
      about_stalls == nullptr) {
    if (third.unjoined_values == 0) {
      return verdict(Tier::t3, TierOutcome::ok, "");
    }
    return verdict(
        Tier::t3, TierOutcome::partial,
        fmt::format("{} counter values belong to launches without a kernel record and were left out",
                    third.unjoined_values));
  }
  if (third.ok > 0 || spool.stall_samples > 0) {
    std::string gaps;
    if (third.ok < third.steps) {
      gaps = fmt::format("{} of {} cold and instrumented steps gave counters; the first that did not: {}",
                         third.ok, third.steps, third.first_reason);
    }
    if (stalls_wanting || about_stalls != nullptr) gaps += (gaps.empty() ? "" : "; ") + no_stalls;
    return verdict(Tier::t3, TierOutcome::partial, gaps);
  }
  if (counters != nullptr) {
    return verdict(Tier::t3, TierOutcome::refused, counters->text);
  }
  if (third.steps > 0) {
    return verdict(Tier::t3, TierOutcome::failed,
                   fmt::format("none of {} cold and instrumented steps gave counters: {}", third.steps,
                               third.first_reason));
  }
  if (stalls_wanting && about_stalls != nullptr) {
    return verdict(Tier::t3, TierOutcome::failed, no_stalls);
  }
  return verdict(Tier::t3, TierOutcome::failed, no_steps(spool, plan, "tier T3", plan.first_third_tier_step));
}

}  // namespace

std::vector<store::TierStatus> tier_verdicts(const ScannedSpool& spool, const RecordingPlan& plan,
                                             const store::Completeness& completeness,
                                             const TierOutcomes& outcomes) {
  return {timeline_verdict(spool, completeness), sampling_verdict(spool, plan, outcomes.sampling),
          replay_verdict(spool, plan, outcomes.replay), third_tier_verdict(spool, plan, outcomes.third_tier)};
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
      "no NVTX range named \"{}\" was seen{}, so there are no steps and no counters (tier T2){}: mark the "
      "steps of the "
      "program with such a range, or name its own with --step-range; {}",
      plan.step_range, spool.windows.empty() ? "" : " and no period of the launches was found",
      spool.windows.empty() ? "" : "; the recording counts as one step, on the timeline only",
      seen.empty() ? "the program opened no range at all" : "outermost ranges seen: " + seen);
}

}  // namespace ridgeline::import
