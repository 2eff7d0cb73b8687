// tier_verdict.h: which tiers a process got, and in one line why not more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recording/step_rows.h"
#include "ridgeline/spool/manifest.h"
#include "ridgeline/store/records.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

/// What the recording was asked to do, by the launch manifest, else by what the agent understood.
struct RecordingPlan {
  std::string schedule;
  std::string step_range;
  bool sampling_requested = false;    // T1
  bool replay_requested = true;       // T2
  bool third_tier_requested = false;  // T3: any of cold, stalls and flops
  bool stalls_requested = false;
  std::uint64_t total_steps = 0;  // of the schedule; 0: it could not be understood
  std::uint64_t first_sample_step = 0;
  std::uint64_t first_replay_step = 0;
  std::uint64_t first_third_tier_step = 0;
};
[[nodiscard]] RecordingPlan recording_plan(const spool::Reader& reader, const ScannedSpool& spool,
                                           const std::optional<spool::LaunchManifest>& manifest);

/// Counts as the capture states them: what the agent counted where that is more than the spool holds.
[[nodiscard]] store::Completeness completeness_of(const spool::Reader& reader, const ScannedSpool& spool);

/// The schedule's, or after.
[[nodiscard]] Phase phase_of(const ScannedSpool& spool, const RecordedStep& step, const RecordingPlan& plan);
/// Sets status and reason of a step.
void judge_step(const spool::Reader& reader, const ScannedSpool& spool, const RecordedStep& step,
                const RecordingPlan& plan, store::Step& row);

/// T0 to T3, without process id.
[[nodiscard]] std::vector<store::TierStatus> tier_verdicts(const ScannedSpool& spool,
                                                           const RecordingPlan& plan,
                                                           const store::Completeness& completeness,
                                                           const TierOutcomes& outcomes);

/// What to say when the program launched kernels but marked no steps.
[[nodiscard]] Reason without_steps(const spool::Reader& reader, const ScannedSpool& spool,
                                   const RecordingPlan& plan);

}  // namespace ridgeline::import
