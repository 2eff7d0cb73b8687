// T2: counters of every kernel of a step, one configuration a step, on the running program.
//
// CUPTI's range profiler in its automatic range mode measures each kernel launch by itself; in user replay it
// saves and restores nothing, so that a one-pass configuration costs about a millisecond a launch and the
// program goes on with its own data. The kernels run one at a time.
//
// Lifecycle of the object:
// 1. prepare() once, on the agent's own thread, when the program has launched its first kernel: what this
// machine
//    can count, the metric sets resolved for the chip. No permission shows here.
// 2. For each replay step: arm() when the step begins; launch_enter() at each launch opens the session at the
// first
//    one, inside the driver call, where the context is current; step_end() stops, decodes, checks, writes and
//    closes. If the step ends on a thread that launched nothing in it, the next launch does that.
// 3. Nothing at process exit: CUPTI's counter libraries may have been torn down by then. A session still open
// is
//    reported as failed by abandon() and left alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cupti_api.h"
#include "metric_sets.h"
#include "ridgeline/spool/writer.h"
#include "step_tracker.h"
#include "timeline.h"

namespace ridgeline::agent {

class Replay {
 public:
  Replay(const CuptiApi& api, spool::Writer& writer, StepTracker& steps, CounterIntervals& intervals,
         std::vector<MetricSet> sets);

  /// May take a second. Errors become messages, after which replay steps are reported as failed.
  void prepare(CUcontext context, std::uint32_t device_id, const std::string& chip) noexcept;
  /// Tells that prepare() will never be called, and why.
  void rule_out(spool::Topic topic, const std::string& reason) noexcept;

  void arm(const StepTracker::Step& step, std::uint32_t thread_id) noexcept;
  /// Id of the configuration that a replay step takes; known before prepare().
  std::uint32_t config_id(const StepTracker::Step& step) const noexcept {
    return 1 + step.replay_number % static_cast<std::uint32_t>(sets_.size());
  }
  /// True if launch_enter() has something to do. One relaxed load.
  bool wants_launch() const noexcept {
    const State s = state_.load(std::memory_order_relaxed);
    return s == State::kArmed || s == State::kToFinish;
  }
  void launch_enter(CUcontext context, std::uint32_t thread_id) noexcept;
  /// True if the step is dealt with; false if the next launch has to finish it, and last() must stay as it
  /// is.
  bool step_end(std::uint32_t thread_id) noexcept;
  /// A new step begins and no launch came since: finish the one before here and now.
  void finish_pending() noexcept;
  /// The context goes away: close a session on it.
  void context_destroyed(CUcontext context) noexcept;
  void abandon() noexcept;

  /// A session is open: do not flush activity records meanwhile.
  bool collecting() const noexcept {
    const State s = state_.load(std::memory_order_relaxed);
    return s == State::kCollecting || s == State::kToFinish;
  }

 private:
  enum class State { kIdle, kArmed, kCollecting, kToFinish };
  enum class Readiness { kPending, kReady, kRuledOut };

  bool open(CUcontext context, std::string* why, spool::CounterStatus* status) noexcept;
  void finish() noexcept;
  void close() noexcept;
  void collect(const CounterConfig& config, spool::CounterStepRecord* record, std::string* reason);
  void report(spool::CounterStatus status, const std::string& reason, std::uint32_t ranges) noexcept;
  void message(spool::Severity severity, spool::Topic topic, const std::string& text) noexcept;

  const CuptiApi& api_;
  spool::Writer& writer_;
  StepTracker& steps_;
  CounterIntervals& intervals_;
  const std::vector<MetricSet> sets_;

  std::mutex mutex_;  // serialises everything below; never held while a launch of the program runs
  std::condition_variable ready_;
  Readiness readiness_ = Readiness::kPending;
  std::string ruled_out_reason_;
  std::string chip_;
  std::uint32_t device_id_ = 0;
  std::vector<std::uint8_t> availability_;
  std::vector<CounterConfig> configs_;     // by config id - 1; without metrics if not available
  std::vector<std::uint32_t> metric_ids_;  // flattened, in the order of configs_
  std::vector<std::size_t> first_metric_;  // of a configuration in metric_ids_

  std::atomic<State> state_{State::kIdle};
  StepTracker::Step step_{};
  std::uint32_t session_thread_ = 0;
  CUcontext context_ = nullptr;
  CUpti_RangeProfiler_Object* session_ = nullptr;
  bool started_ = false;
  std::vector<std::uint8_t> counter_data_;
};

}  // namespace ridgeline::agent
