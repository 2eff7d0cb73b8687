#include "spool/tier_verdict.h"

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

Phase phase_of(const ScannedSpool& spool, const RecordedStep& step, const RecordingPlan& plan) {
  if (spool.steps_found || step.stretch) return step.phase;
  if (step.superseded) {
    // Its times are of no step, but what was counted belongs to the launches: another step's are of the same kinds.
    const bool counted = step.phase == Phase::replay && step.counters && step.counters_usable();
    return counted ? Phase::replay : Phase::warmup;
  }
  if (step.deferred) return step.phase == Phase::sample ? Phase::sample : Phase::after;
  if (plan.total_steps > 0 && step.position >= plan.total_steps) return Phase::after;
  return is_known(step.phase) ? step.phase : Phase::after;
}

namespace {

// A sample step is ok if samples cover its work on the GPU to the end.
void judge_sampling(const spool::Reader& reader, const ScannedSpool& spool, const RecordedStep& step,
                    store::Step& row) {
  Reason reason(ReasonCode::samples_undecoded);
  if (const AgentMessage* refused = spool.message_about(spool::Topic::sampling_refused)) {
    reason = refused->what;
  } else if (const AgentMessage* said = spool.message_about(spool::Topic::sampling)) {
    reason = said->what;
  }
  for (const auto& [id, window] : spool.pm_windows) {
    if (window.record && (step.index < window.record->first_step || step.index > window.record->last_step)) {
      continue;
    }
    const bool whole = window.record && window.record->status == WindowStatus::ok;
    if (window.record && !whole) reason = spool.words_of(reader, ReasonCode::sampling, window.record->reason);
    if (window.samples == 0 || !step.gpu_start_ns || step.kernel_end_ns == 0) continue;
    // What the clocks of kernels and samples may differ by, and a few intervals at each end.
    const std::int64_t slack =
        20'000 + (window.last_end_ns - window.first_start_ns) / std::max<std::int64_t>(window.samples, 1) * 4;
    if (window.last_end_ns + slack >= step.kernel_end_ns &&
        window.first_start_ns <= *step.gpu_start_ns + slack) {
      return;
    }
    if (whole) reason = Reason(ReasonCode::samples_elsewhere);
    if (window.first_start_ns < step.kernel_end_ns && window.last_end_ns > *step.gpu_start_ns) {
      if (step.stretch)
        return;  // no launch of it stands for another at its place: those that have samples have them
      const double covered =
          static_cast<double>(std::min(window.last_end_ns, step.kernel_end_ns) -
                              std::max(window.first_start_ns, *step.gpu_start_ns)) /
          static_cast<double>(std::max<std::int64_t>(step.kernel_end_ns - *step.gpu_start_ns, 1));
      row.status = StepStatus::interrupted;
      row.reason = Reason(ReasonCode::samples_of_part_of_step, {{"covered_ratio", covered}});
      if (!whole) row.reason->because.push_back(std::move(reason));
      return;
    }
  }
  row.status = StepStatus::failed;
  row.reason = Reason(ReasonCode::no_samples, {}, {std::move(reason)});
}

}  // namespace

void judge_step(const spool::Reader& reader, const ScannedSpool& spool, const RecordedStep& step,
                const RecordingPlan& plan, store::Step& row) {
  const auto judge = [&](StepStatus status, Reason reason) {
    row.status = status;
    row.reason = std::move(reason);
  };
  row.status = StepStatus::ok;
  if (step.counters && step.counters->status != StepStatus::ok) {
    judge(step.counters->status, step.counters->reason.value_or(Reason(ReasonCode::no_reason)));
  } else if (step.mismatch) {
    judge(StepStatus::mismatch, *step.mismatch);
  } else if (!step.end_ns) {
    judge(StepStatus::interrupted, Reason(ReasonCode::step_open));
  } else if (!spool.end && step.launches_without_kernel() > 0) {
    judge(StepStatus::interrupted,
          Reason(ReasonCode::step_killed,
                 {{"missing", step.launches_without_kernel()}, {"launches", step.launches_seen}}));
  } else if (step.phase == Phase::sample && !step.unmeasured && plan.sampling_requested) {
    judge_sampling(reader, spool, step, row);
  } else if (step.is_replay() && !step.counters &&
             (step.is_third_tier() ? plan.third_tier_requested : plan.replay_requested)) {
    const AgentMessage* refused = spool.message_about(spool::Topic::counters_refused);
    if (refused == nullptr) refused = spool.message_about(spool::Topic::replay);
    judge(StepStatus::failed,
          Reason(ReasonCode::no_counters, {},
                 {refused != nullptr ? refused->what : Reason(ReasonCode::counters_unread)}));
  }
}

namespace {

// CUPTI was not there or not free; null if it was.
const AgentMessage* missing_cupti(const ScannedSpool& spool) {
  const AgentMessage* missing = spool.message_about(spool::Topic::cupti_missing);
  return missing != nullptr ? missing : spool.message_about(spool::Topic::subscriber_taken);
}

store::TierStatus verdict(Tier tier, TierOutcome status, Reason reason = {}) {
  return {.process_id = 0,
          .tier = tier,
          .status = status,
          .reason = reason.empty() ? std::nullopt : std::optional(std::move(reason))};
}

Reason not_asked_for(Tier tier) {
  return Reason(ReasonCode::not_asked_for, {{"tier", to_string(tier)}});
}

store::TierStatus timeline_verdict(const ScannedSpool& spool, const store::Completeness& completeness,
                                   std::int64_t kernels_of_one_call) {
  const AgentMessage* missing = missing_cupti(spool);
  const AgentMessage* refused = spool.message_about(spool::Topic::timeline_refused);
  const std::int64_t kernels = completeness.kernel_records + completeness.graph_kernel_records;
  if (kernels == 0 && missing != nullptr) return verdict(Tier::t0, TierOutcome::failed, missing->what);
  if (kernels == 0 && refused != nullptr) return verdict(Tier::t0, TierOutcome::refused, refused->what);
  std::vector<Reason> gaps;
  const auto gap = [&](ReasonCode code, const char* what, std::int64_t count) {
    if (count > 0) gaps.push_back(Reason(code, {{what, count}}));
  };
  gap(ReasonCode::launches_without_record, "launches",
      completeness.launches_seen - completeness.kernel_records);
  // Calls that did not come to the callback: their records may carry the id of any other.
  gap(ReasonCode::records_without_launch, "records",
      completeness.kernel_records - completeness.launches_seen);
  gap(ReasonCode::records_of_one_call, "records", kernels_of_one_call);
  gap(ReasonCode::records_dropped, "records", completeness.dropped_records);
  gap(ReasonCode::records_without_room, "records", completeness.lost_spool_records);
  if (const AgentMessage* full = spool.message_about(spool::Topic::spool_full);
      full != nullptr && completeness.lost_spool_records > 0)
    gaps.push_back(full->what);
  gap(ReasonCode::records_without_time, "records", completeness.zero_timestamps);
  gap(ReasonCode::bytes_unreadable, "bytes", completeness.truncated_bytes);
  if (refused != nullptr) gaps.push_back(refused->what);
  if (missing != nullptr) gaps.push_back(missing->what);
  const TierOutcome outcome = gaps.empty() ? TierOutcome::ok : TierOutcome::partial;
  return verdict(Tier::t0, outcome, Reason::together(std::move(gaps)));
}

std::uint32_t steps_begun(const ScannedSpool& spool) {
  std::uint32_t begun = 0;
  for (const auto& [index, step] : spool.steps)
    if (!step.stretch) begun = index + 1;
  return begun;
}

// Why a tier that needs steps got none.
Reason no_steps(const ScannedSpool& spool, const RecordingPlan& plan, Tier tier, std::uint64_t first_step) {
  if (const AgentMessage* missing = missing_cupti(spool)) return missing->what;
  if (!spool.has_steps()) {
    const AgentMessage* nvtx = spool.message_about(spool::Topic::nvtx_missing);
    return nvtx != nullptr ? nvtx->what
                           : Reason(ReasonCode::no_range_seen, {{"step_range", plan.step_range}});
  }
  if (const AgentMessage* turns = spool.message_about(spool::Topic::turns)) return turns->what;
  if (spool.steps_found) return *spool.steps_found;
  return Reason(ReasonCode::too_few_steps,
                {{"steps", steps_begun(spool)}, {"first_step", first_step}, {"tier", to_string(tier)}});
}

store::TierStatus sampling_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                   const SamplingOutcome& sampling) {
  if (!plan.sampling_requested && sampling.covered_ns == 0)
    return verdict(Tier::t1, TierOutcome::not_requested, not_asked_for(Tier::t1));
  if (sampling.covered_ns == 0) {
    const AgentMessage* no_permission = spool.message_about(spool::Topic::sampling_refused);
    if (no_permission != nullptr) return verdict(Tier::t1, TierOutcome::refused, no_permission->what);
    // Steps were there, but their window was given up.
    if (const AgentMessage* said = spool.message_about(spool::Topic::sampling); said && sampling.steps == 0)
      return verdict(Tier::t1, TierOutcome::failed, said->what);
    if (sampling.steps == 0)
      return verdict(Tier::t1, TierOutcome::failed, no_steps(spool, plan, Tier::t1, plan.first_sample_step));
    return verdict(Tier::t1, TierOutcome::failed,
                   Reason(ReasonCode::no_sampled_values, {{"steps", sampling.steps}},
                          {sampling.first_reason.empty() ? Reason(ReasonCode::none_told_apart)
                                                         : sampling.first_reason}));
  }
  std::vector<Reason> gaps;
  if (sampling.ok < sampling.steps) {
    gaps.push_back(Reason(ReasonCode::sampled_steps_lost, {{"ok", sampling.ok}, {"steps", sampling.steps}},
                          {sampling.first_reason}));
  }
  const double covered =
      static_cast<double>(sampling.covered_ns) / static_cast<double>(sampling.kernel_time_ns);
  if (covered < kGoodCoverage)
    gaps.push_back(Reason(ReasonCode::samples_of_part, {{"covered_ratio", covered}}));
  const TierOutcome outcome = gaps.empty() ? TierOutcome::ok : TierOutcome::partial;
  return verdict(Tier::t1, outcome, Reason::together(std::move(gaps)));
}

Reason steps_lost(Tier tier, const CounterOutcome& outcome) {
  return Reason(ReasonCode::counted_steps_lost,
                {{"ok", outcome.ok}, {"steps", outcome.steps}, {"tier", to_string(tier)}},
                {outcome.first_reason});
}

Reason no_values(Tier tier, const CounterOutcome& outcome) {
  return Reason(ReasonCode::no_counted_values, {{"steps", outcome.steps}, {"tier", to_string(tier)}},
                {outcome.first_reason});
}

Reason values_left_out(const CounterOutcome& outcome) {
  return Reason(ReasonCode::values_without_launch, {{"values", outcome.unjoined_values}});
}

store::TierStatus replay_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                 const CounterOutcome& replay) {
  const AgentMessage* counters = spool.message_about(spool::Topic::counters_refused);
  if (!plan.replay_requested) return verdict(Tier::t2, TierOutcome::not_requested, not_asked_for(Tier::t2));
  if (replay.steps > 0 && replay.ok == replay.steps && replay.unjoined_values == 0)
    return verdict(Tier::t2, TierOutcome::ok);
  if (replay.ok > 0 && replay.ok == replay.steps)
    return verdict(Tier::t2, TierOutcome::partial, values_left_out(replay));
  if (replay.ok > 0) return verdict(Tier::t2, TierOutcome::partial, steps_lost(Tier::t2, replay));
  if (counters != nullptr) return verdict(Tier::t2, TierOutcome::refused, counters->what);
  if (missing_cupti(spool) != nullptr || replay.steps == 0)
    return verdict(Tier::t2, TierOutcome::failed, no_steps(spool, plan, Tier::t2, plan.first_replay_step));
  return verdict(Tier::t2, TierOutcome::failed, no_values(Tier::t2, replay));
}

store::TierStatus third_tier_verdict(const ScannedSpool& spool, const RecordingPlan& plan,
                                     const CounterOutcome& third) {
  const AgentMessage* counters = spool.message_about(spool::Topic::counters_refused);
  const bool stalls_wanting = plan.stalls_requested && spool.stall_samples == 0;
  const AgentMessage* about_stalls = spool.message_about(spool::Topic::stalls);
  const Reason no_stalls =
      about_stalls != nullptr ? about_stalls->what : Reason(ReasonCode::no_stall_samples);
  if (!plan.third_tier_requested && third.ok == 0 && spool.stall_samples == 0)
    return verdict(Tier::t3, TierOutcome::not_requested, not_asked_for(Tier::t3));
  if (third.ok == third.steps && third.ok + spool.stall_samples > 0 && !stalls_wanting &&
      about_stalls == nullptr) {
    if (third.unjoined_values == 0) return verdict(Tier::t3, TierOutcome::ok);
    return verdict(Tier::t3, TierOutcome::partial, values_left_out(third));
  }
  if (third.ok > 0 || spool.stall_samples > 0) {
    std::vector<Reason> gaps;
    if (third.ok < third.steps) gaps.push_back(steps_lost(Tier::t3, third));
    if (stalls_wanting || about_stalls != nullptr) gaps.push_back(no_stalls);
    return verdict(Tier::t3, TierOutcome::partial, Reason::together(std::move(gaps)));
  }
  if (counters != nullptr) return verdict(Tier::t3, TierOutcome::refused, counters->what);
  if (third.steps > 0) return verdict(Tier::t3, TierOutcome::failed, no_values(Tier::t3, third));
  if (stalls_wanting && about_stalls != nullptr) return verdict(Tier::t3, TierOutcome::failed, no_stalls);
  return verdict(Tier::t3, TierOutcome::failed, no_steps(spool, plan, Tier::t3, plan.first_third_tier_step));
}

}  // namespace

std::vector<store::TierStatus> tier_verdicts(const ScannedSpool& spool, const RecordingPlan& plan,
                                             const store::Completeness& completeness,
                                             const TierOutcomes& outcomes) {
  return {timeline_verdict(spool, completeness, outcomes.kernels_of_one_call),
          sampling_verdict(spool, plan, outcomes.sampling), replay_verdict(spool, plan, outcomes.replay),
          third_tier_verdict(spool, plan, outcomes.third_tier)};
}

Reason without_steps(const spool::Reader& reader, const ScannedSpool& spool, const RecordingPlan& plan) {
  const auto counted = std::count_if(spool.steps.begin(), spool.steps.end(),
                                     [](const auto& step) { return step.second.is_replay(); });
  Reason reason(
      ReasonCode::no_steps,
      {{"step_range", plan.step_range}, {"searched", spool.windows.empty() ? 0 : 1}, {"stretches", counted}});
  std::vector<std::pair<std::int64_t, std::uint32_t>> most;
  for (const auto& [path, count] : spool.ranges_by_path) most.emplace_back(count, path);
  std::sort(most.rbegin(), most.rend());
  if (most.size() > 5) most.resize(5);
  for (const auto& [count, path] : most) {
    const auto definition = spool.paths.find(path);
    if (definition == spool.paths.end()) continue;
    reason.because.push_back(
        Reason(ReasonCode::range_seen,
               {{"name", one_line(reader.string_or(definition->second.name, "?"))}, {"ranges", count}}));
  }
  return reason;
}

}  // namespace ridgeline::import
