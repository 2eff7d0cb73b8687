/// steps.h: the steps of a process's recording, what was launched in them, and where in a step something belongs.
///
/// Order: 1. steps and windows, as the source has them or step_search.h finds them  2. one pass over calls and
/// executions (LaunchPass)  3. one over copies (add_copy). Then places can be asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/events.h"
#include "recording/launch_join.h"
#include "ridgeline/base/reason.h"

namespace ridgeline::import {

/// A launch of a step with counters, found by its position; the values of the counters join it.
struct CountedLaunch {
  std::uint32_t kernel = 0;
  store::Dim3 grid;
  std::uint32_t device = 0;
  std::int64_t duration_ns = 0;  // 0: no timestamps
  store::Id launch_id = 0;       // the capture's, once written
};

/// What became of the counters of a step.
struct StepCounters {
  std::uint32_t configuration = 0;
  StepStatus status = StepStatus::ok;
  std::optional<Reason> reason;
};

struct RecordedStep {
  std::uint32_t index = 0;
  Phase phase = Phase::timeline;
  StepSource source = StepSource::nvtx;
  bool stretch = false;        // of a program without steps: only counts launches, and is none of its steps
  std::uint32_t number = 0;    // in the capture, once number_steps() was called
  bool superseded = false;     // by period, and no step of the program after all
  std::uint32_t position = 0;  // in the schedule, from 0
  bool unmeasured = false;     // sample phase: only lets the clocks settle
  bool sampled = false;        // of the timeline, along which samples were taken all the time
  bool deferred = false;       // beside the schedule, which waited for the GPU's counters
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
  std::uint32_t configuration = 0;
  std::optional<StepCounters> counters;

  std::int64_t launches_seen = 0;   // calls that expect one kernel
  std::int64_t kernel_records = 0;  // of those
  std::int64_t launches_without_kernel() const { return launches_seen - kernel_records; }
  std::optional<std::int64_t> gpu_start_ns;  // of kernels; of copies in a step without
  std::optional<std::int64_t> gpu_end_ns;    // of kernels and copies
  std::int64_t kernel_end_ns = 0;            // kernels only
  /// Of its first launch that has a record: how far the device is behind the host there.
  std::uint32_t first_joined_id = UINT32_MAX;
  std::int64_t first_enter_ns = 0, first_start_ns = 0;
  /// And of the one after it: how long the device is at the first.
  std::uint32_t second_joined_id = UINT32_MAX;
  std::int64_t second_start_ns = 0;
  std::uint32_t first_correlation_id = UINT32_MAX, last_correlation_id = 0;
  /// Kernel launches are numbered alone: a graph launch has no position, but its kernels take places in the capture.
  /// By order of launch: correlation id, position of the next kernel launch, kernels of this and all earlier graph
  /// launches of the step.
  struct GraphCall {
    std::uint32_t correlation_id = 0;
    std::uint32_t next_position = 0;
    std::int64_t kernels_until_here = 0;
  };
  std::vector<GraphCall> graph_calls;

  std::unordered_map<std::uint32_t, CountedLaunch>
      counted;                       // by position; steps with counters of launches only
  std::int64_t counter_values = 0;   // joined
  std::int64_t unjoined_values = 0;  // no kernel record at that position
  std::optional<Reason> mismatch;    // the first contradiction

  store::Id id = 0;  // the capture's, once written

  /// Replayed with counters: T2's steps, and T3's with cold caches or instrumented.
  [[nodiscard]] bool is_replay() const {
    return phase == Phase::replay || is_third_tier() || counters.has_value();
  }
  [[nodiscard]] bool is_third_tier() const { return phase == Phase::cold || phase == Phase::flops; }
  /// Of the values of its counters.
  [[nodiscard]] Tier counter_tier() const { return is_third_tier() ? Tier::t3 : Tier::t2; }
  [[nodiscard]] bool counters_usable() const {
    return !mismatch && (!counters || counters->status == StepStatus::ok);
  }
};

/// Finds steps by their index: records of one step come together.
class StepFinder {
 public:
  explicit StepFinder(std::map<std::uint32_t, RecordedStep>& steps) : steps_(steps) {}
  [[nodiscard]] RecordedStep* find(std::uint32_t index) {
    if (last_ != nullptr && last_->index == index) return last_;
    const auto found = steps_.find(index);
    return found == steps_.end() ? nullptr : last_ = &found->second;
  }

 private:
  std::map<std::uint32_t, RecordedStep>& steps_;
  RecordedStep* last_ = nullptr;
};

/// A stretch of time in which was recorded.
struct RecordedWindow {
  std::int64_t open_ns = 0;
  std::optional<std::int64_t> close_ns;
  WindowCause cause = WindowCause::start;                // of the opening
  std::optional<std::int64_t> gpu_start_ns, gpu_end_ns;  // of kernels launched in it; only without steps
  store::Id step_id = 0;                                 // of the representative of it, once written
  bool synchronisation = false;                          // calls that wait are recorded
  bool stream_calls = false;                             // calls that order streams are
  std::uint32_t number = 0;                              // of that step in the capture
};

class RecordedSteps {
 public:
  std::map<std::uint32_t, RecordedStep> steps;  // by index
  std::vector<RecordedWindow> windows;          // in order of time; may be none
  /// What is left of them beside the stretches; LaunchPass makes them.
  std::vector<RecordedWindow> pieces;
  /// The program has steps; stretches are none.
  [[nodiscard]] bool has_steps() const;
  /// Gives steps and pieces their numbers in the capture: in order of time where there are no steps, else stretches
  /// after them.
  void number_steps();

  /// Where the import found the steps itself (step_search.h): what they are, and the place of each launch, by
  /// correlation id: step, position in it.
  std::optional<Reason> steps_found;
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> placed;
  /// The call with its place in those steps; as it is where the source had steps.
  [[nodiscard]] Call in_step(Call call) const;
  /// The same for what has a time.
  [[nodiscard]] std::uint32_t step_at(std::uint32_t recorded_step, std::int64_t time_ns) const;

  /// Counted while the launches pass.
  std::int64_t launches_seen = 0;  // calls that expect one kernel
  std::int64_t kernel_records = 0;
  std::int64_t graph_launches = 0;
  std::int64_t graph_kernel_records = 0;
  GraphLaunches graphs;

  /// The first pass over what was launched. Calls that expect no kernel are left out.
  class LaunchPass {
   public:
    explicit LaunchPass(RecordedSteps& steps) : all_(steps), finder_(steps.steps) { all_.cut_windows(); }
    void add(const Call& call);
    void add(const Execution& execution);
    void finish();

   private:
    void joined(const Execution& execution, const Call* call);
    RecordedSteps& all_;
    StepFinder finder_;
    LaunchJoin join_;
  };
  /// After it: a step's extent on the GPU includes its copies.
  void add_copy(const Copy& copy);

  /// The piece of a window that a launch at this time belongs to.
  [[nodiscard]] RecordedWindow* piece_at(std::int64_t time_ns);
  /// The step that stands for that piece; none if there are real ones.
  [[nodiscard]] std::optional<store::Id> window_step(std::int64_t time_ns);
  /// Place of a kernel among all kernels of its step, from the position of its launch.
  [[nodiscard]] static std::int64_t ordinal_in_step(const RecordedStep& step, std::uint32_t position);
  /// The step whose host range a copy or set was issued in, as far as it can be told: from the correlation ids of the
  /// launches round it and, between the launches of two steps, from its time and direction.
  [[nodiscard]] RecordedStep* step_of(const Copy& copy);

 private:
  void cut_windows();

  bool has_steps_ = false;                                                     // as cut_windows() found it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps_by_correlation_;  // (first id, step index)
};

}  // namespace ridgeline::import
