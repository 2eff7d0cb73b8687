// Counts steps, knows their phase and collects the launches of each.
//
// A step is an NVTX push/pop range of the agreed name, or a period of the launches. One step at a time: a
// step range opened while another is open (nested, or on another thread) is an ordinary range.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "ridgeline/base/schedule.h"
#include "ridgeline/spool/writer.h"
#include "ridgeline/steps/range_watch.h"
#include "steps/sequence.h"

namespace ridgeline::agent {

class StepTracker {
 public:
  struct Step {
    std::uint32_t index;
    Phase phase;
    std::uint32_t number_in_phase;       // among the steps of its phase in the schedule, from 0
    std::uint16_t flags = 0;             // of StepStartRecord
    Phase next_phase = Phase::timeline;  // of the step after it
    std::uint32_t steps_in_phase = 0;    // of the whole schedule
    std::uint64_t steps_left = 0;        // of the phase, this one included
    std::uint32_t phase_first = 0;       // index of the first step of its phase in the schedule
    std::uint32_t phase_steps = 0;       // and how many that has; 0 after the last phase
  };

  StepTracker(spool::Writer& writer, const Schedule& schedule, std::string name);

  /// The name that steps of ranges of this name share, numbers left out; empty if such a range makes no step
  /// (environment.h, kStepRange, and what was adopted).
  std::string_view step_name(std::string_view range) const noexcept;
  bool matches(std::string_view range) const noexcept { return !step_name(range).empty(); }
  /// Ranges of this name make steps from now on, too, in place of those of the name that was adopted before. One thread
  /// at a time. False: too many were.
  bool adopt(const steps::FoldedName& name) noexcept;

  /// Opens a step unless one is open. The caller writes the start after whatever set-up the step needs.
  /// `before_schedule`: a step of warm-up, whatever the schedule says, which begins anew after it.
  bool begin(Step* step, bool before_schedule = false) noexcept;
  /// Opens a stretch (session/stretches.h), unless a step is open: the number-th, of so many that are planned. It is
  /// none of the schedule's.
  bool begin_stretch(Phase phase, std::uint32_t number, std::uint32_t planned, Step* step) noexcept;
  void write_begin(const Step& step, std::uint32_t config_id, std::int64_t now_ns, std::uint32_t thread_id,
                   std::uint16_t flags = 0) noexcept;
  /// The open step is none of the schedule after all, but a timeline step before it goes on: what it was meant for is
  /// for the next one. Before its start is written, or with `announced` after that: then its end says so.
  void defer(Step* step, bool announced) noexcept;
  /// The open step has its turn in the schedule, and nothing is to be measured in it: an ordinary step.
  /// Before its start is written.
  void spare(Step* step) noexcept;
  /// The open step is one of `steps` from `first` on that go on with the sample phase beside the schedule, which waits
  /// for them. Before its start is written.
  void sample_again(Step* step, std::uint32_t first, std::uint32_t steps) noexcept;
  /// The open step runs without being recorded, beside the schedule. Before its start is written.
  void run_alone(Step* step) noexcept;
  /// Closes the open step and hands it over; its launches are then `last()`.
  Step end(std::int64_t now_ns) noexcept;
  /// Makes the launches of the step just ended the reference for the steps to come.
  void keep_as_reference() noexcept;
  /// After end() and whatever is done with last(): the next step may begin.
  void release() noexcept { open_.store(false, std::memory_order_release); }

  /// The schedule begins anew with the next step; `flags` go to its StepStartRecord as well.
  void restart_schedule(std::uint16_t flags) noexcept;
  /// No step begins while this is so.
  void hold(bool held) noexcept { held_.store(held, std::memory_order_release); }

  /// A step is open, or what has ended is not dealt with yet.
  bool open() const noexcept { return open_.load(std::memory_order_acquire); }
  bool held() const noexcept { return held_.load(std::memory_order_acquire); }
  /// Drops the open step, if any: it never ends.
  void abandon() noexcept {
    if (active_.exchange(spool::kNoStep, std::memory_order_acq_rel) != spool::kNoStep) release();
  }

  /// Index of the open step or spool::kNoStep.
  std::uint32_t active() const noexcept { return active_.load(std::memory_order_acquire); }
  LaunchSequence& current() noexcept { return *current_.load(std::memory_order_acquire); }
  const LaunchSequence& last() const noexcept { return *current_.load(std::memory_order_acquire); }
  /// Launches of the latest step without replay; null before there is one.
  const LaunchSequence* reference() const noexcept { return has_reference_ ? reference_ : nullptr; }
  /// Most launches of a step without replay, of all so far: steps may differ in length.
  std::uint32_t max_launches() const noexcept { return max_launches_; }
  /// Of the steps without replay more launched something else than the one before them than did not: batches of every
  /// length. May be asked while a step runs.
  bool vary() const noexcept { return vary_.load(std::memory_order_relaxed); }
  /// So many have passed that vary() has its answer.
  bool variation_known() const noexcept { return steps_begun() >= kStepsCompared; }
  /// All phases of the schedule have passed, and steps go on.
  bool schedule_over() const noexcept {
    return steps_begun() - schedule_base_.load(std::memory_order_acquire) > total_steps_;
  }
  /// No step begins while a stretch is to come, which a launch between two steps begins.
  void reserve(bool reserved) noexcept { reserved_.store(reserved, std::memory_order_release); }
  std::uint32_t steps_begun() const noexcept { return next_index_.load(std::memory_order_relaxed); }

 private:
  void compare_with_latest() noexcept;
  spool::Writer& writer_;
  const Schedule schedule_;
  const bool compares_;  // something is measured, of which vary() is asked
  const std::string name_;
  /// A name that is read while another thread adopts the next stays as it is; of more than these none is adopted.
  std::array<steps::FoldedName, 8> adopted_;
  std::atomic<std::uint32_t> adoptions_{0};  // the last of them counts
  std::atomic<bool> open_{false};
  std::atomic<std::uint16_t> pending_flags_{0};
  std::atomic<bool> held_{false};
  Step step_{};
  std::atomic<bool> deferred_{false};  // the open step
  LaunchSequence sequences_[2];
  /// What each launch reads, on one line of the cache.
  alignas(64) std::atomic<LaunchSequence*> current_{&sequences_[0]};
  std::atomic<std::uint32_t> active_{spool::kNoStep};
  std::atomic<std::uint32_t> next_index_{0};
  std::atomic<std::uint32_t> schedule_base_{0};  // index of the schedule's first step
  const std::uint64_t total_steps_;              // of the schedule
  LaunchSequence* reference_ = &sequences_[1];
  bool has_reference_ = false;
  std::uint32_t max_launches_ = 0;
  static constexpr std::uint32_t kStepsCompared = 12;
  std::uint64_t latest_hash_ = 0;
  std::uint32_t unlike_ = 0, compared_ = 0;  // bits of the latest steps; how many there are
  std::atomic<bool> vary_{false}, reserved_{false};
  std::uint32_t stretches_begun_ = 0;
};

}  // namespace ridgeline::agent
