// What the start and the end of a step set going: sampling, counting, stalls, each in its phases.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ridgeline/counting/kind.h"
#include "session/alone_steps.h"
#include "session/session_state.h"
#include "steps/sequence.h"
#include "thread_state.h"

namespace ridgeline::agent {

class StepConductor {
 public:
  /// `wake_threads`: there is work for the agent's threads before their next turn.
  StepConductor(SessionState& parts, AloneSteps& alone, std::function<void()> wake_threads)
      : session_(parts), alone_(alone), wake_threads_(std::move(wake_threads)) {
    kinds_of_window_.reserve(LaunchSequence::kCapacity);
    settled_kinds_.reserve(LaunchSequence::kCapacity);
  }

  /// A step begins on this thread, unless one is open; its index. `flags` of StepStartRecord.
  bool begin(ThreadState& thread, std::uint16_t flags, std::uint32_t* step_index) noexcept;
  void end(ThreadState& thread, std::int64_t now_ns) noexcept;
  /// Before counting: kernels on the timeline, those of graphs too, are part of what the budget is for.
  void set_aside_for_records() noexcept;
  /// A stretch is to be counted, or sampled for so long (stretches.h): nothing else holds the counters. False: it
  /// cannot be sampled.
  void prepare_counted_stretch() noexcept;
  /// `another` stretch may follow if this one is missed.
  bool prepare_sampled_stretch(const StepTracker::Step& step, std::int64_t window_ns, bool another) noexcept;
  /// A step or a stretch of the sample phase has ended. Samples had not come yet for its first `unsampled` launches.
  void end_sampled(const StepTracker::Step& step, std::uint32_t unsampled = 0) noexcept;
  /// After the latest window was closed: its kinds of launches are known to have samples, or not. True: some of its
  /// steps, or the stretch, were missed, since sampling started late. The agent's thread.
  bool settle_sampled_kinds() noexcept;
  /// A stretch is due: this process has its turn with the counters. False: not now, another process has them.
  bool has_turn_for_stretch() noexcept;
  /// After prepare_sampled_stretch(): somebody else had the counters, and a later stretch is to try again.
  bool was_put_off() const noexcept { return put_off_; }
  /// Ends a turn with the counters in which nothing is open any more. Any thread.
  void end_unused_turn() noexcept;
  /// Samples or counters were put off since a stream waits for the host. Says so once.
  void tell_put_off() noexcept;
  /// CUPTI says that another process has the counters of the open step, whose start is written. True: the next step is
  /// to try again.
  bool put_off() noexcept;

 private:
  bool may_begin_schedule() noexcept;
  /// The step that has begun needs counters and has its turn with them, or needs none; else it is deferred.
  bool has_its_turn(StepTracker::Step& step) noexcept;
  /// Setting up waits for the device, and a stream there for the host: for this very thread, it may be. False once that
  /// was put off for long enough: it is then tried, and fails with that for its reason.
  bool puts_off_for_streams(std::int64_t now_ns) noexcept;
  /// Others wait for the counters: this process's turn ends with its samples, which are read while its steps go on, and
  /// counting has a turn of its own. False once that took too long.
  bool puts_off_for_others(std::int64_t now_ns) noexcept;
  /// Ends a window of samples that is open, and waits for it. False: it still is.
  bool close_samples() noexcept;
  void pay_for_samples(std::int64_t since_ns) noexcept;
  /// Of the step that has begun, before anything is set up for it.
  void look_at_budget(const StepTracker::Step& step) noexcept;
  /// False: the step counts nothing. It is made an ordinary one if what it would count is known.
  bool is_worth_counting(StepTracker::Step& step) noexcept;
  /// If samples of the phase before are missing since starting them took long, the step goes on with that phase.
  void sample_again(StepTracker::Step& step) noexcept;
  bool keeps_step_with_peers() const noexcept;
  bool affords_another_window() noexcept;
  std::int64_t wanted_interval_ns(const StepTracker::Step& step) const noexcept;
  std::uint16_t prepare_sampling(StepTracker::Step& step) noexcept;
  std::uint32_t prepare_replay(const StepTracker::Step& step, const ThreadState& thread,
                               bool by_period) noexcept;
  void look_for_waiting_kernels(bool may_flush) noexcept;
  std::int64_t usual_step_ns() const noexcept;

  SessionState& session_;
  AloneSteps& alone_;
  const std::function<void()> wake_threads_;
  bool concurrency_looked_at_ = false;
  bool put_off_ = false;            // the latest sampled stretch
  bool keeps_turn_to_ask_ = false;  // of the step that begins: which counters there are is not known yet
  std::atomic<bool> put_off_said_{false};
  std::int64_t waiting_streams_since_ns_ = 0;         // 0: nothing is put off for them
  std::int64_t others_before_counting_since_ns_ = 0;  // likewise
  bool counts_ = true;                                // the latest step of a counting phase
  bool sampled_ = false;                             // samples are taken in the latest step of a sample phase
  std::uint32_t again_first_ = 0, again_steps_ = 0;  // of the sample phase that goes on; 0 steps: none does
  std::atomic_flag kinds_lock_ = ATOMIC_FLAG_INIT;
  std::vector<counting::Kind>
      kinds_of_window_;  // with kinds_lock_: launches in the steps or the stretch of one window
  std::vector<counting::Kind> settled_kinds_;  // the agent's thread, and room for it
  std::atomic_flag agreeing_ = ATOMIC_FLAG_INIT;
  /// Begin of the latest steps, by index; written at a step's start only, one step at a time.
  static constexpr std::uint32_t kStepHistory = 16;
  std::int64_t step_start_ns_[kStepHistory] = {};
  std::int64_t step_before_counters_ns_ = 0;  // how long one took; 0: not known
};

}  // namespace ridgeline::agent
