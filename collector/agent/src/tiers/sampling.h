// T1: periodic samples of the whole device while the program runs as it always does.
//
// CUPTI's PM sampling reads a set of counters every few microseconds; nothing is serialised, no cache is
// touched. Reading a sample back costs far more host time than its interval, so that sampling is a bounded
// window: the raw records wait in a hardware buffer until the window is over, then the agent's thread decodes
// them.
//
// Lifecycle of a window:
// 1. prepare() once, on the agent's own thread: what this device can sample, the metrics resolved into one
//    pass.
// 2. step_begin() of the first step of a `sample` phase, on the program's thread: window and interval are
//    chosen, the session is enabled and configured. That takes 0.1 to 0.5 s of that thread, at the border of
//    two steps, and lets the device cool: the first steps of the phase run unmeasured until power and clocks
//    have settled.
// 3. step_begin() of the first measured step waits for the device and starts sampling; step_end() of the last
//    one asks for the end. The host runs ahead of the device, so that tick() stops only when that step's last
//    launch is known to have ended.
// 4. tick(), on a thread of its own, then reads the samples, disables the session and writes the window's
//    record.
// Counters of replay steps and sampling exclude each other on a device: close_now() comes before a replay
// step. At process exit finish_at_exit() ends a window that is open. A window's record is written when it
// opens, as one that the program's end cut off, and again with what became of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "call_gate.h"
#include "cupti/cupti_api.h"
#include "cupti/timeline.h"
#include "ridgeline/spool/writer.h"
#include "steps/step_tracker.h"
#include "tiers/metric_sets.h"

namespace ridgeline::agent {

struct SamplingLimits {
  std::int64_t interval_ns = 0;    // 0: chosen
  std::uint64_t buffer_bytes = 0;  // 0: chosen
};

/// A window as planned: pure arithmetic, apart from the object so that it is tested without a device.
struct SamplingPlan {
  std::uint32_t settle_steps = 0;   // at the phase's start, unmeasured
  std::uint32_t sampled_steps = 0;  // after those; the rest of the phase is unmeasured again
  std::int64_t interval_ns = 0;
  std::uint64_t buffer_bytes = 0;
};
/// `phase_steps` >= 1; `step_ns` as the steps before took, 0: unknown; `memory_bytes` that may be taken at
/// most.
SamplingPlan plan_sampling(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                           const SamplingLimits& limits) noexcept;

class Sampling {
 public:
  Sampling(const CuptiApi& api, spool::Writer& writer, Timeline& timeline, const CallGate& gate,
           const SamplingLimits& limits);

  /// Once, on the agent's thread. Errors become messages, after which windows are reported as failed.
  void prepare(std::uint32_t device_id, const std::string& chip) noexcept;
  /// Tells that prepare() will never be called, and why.
  void rule_out(spool::Topic topic, const std::string& reason) noexcept;

  /// A step of a sample phase begins on this thread. True if it is a measured one. `step_ns`: length of the
  /// steps before, 0 if unknown. `last_correlation_id` of the launches before.
  bool step_begin(const StepTracker::Step& step, std::int64_t step_ns,
                  std::uint32_t last_correlation_id) noexcept;
  /// It ended; `last_correlation_id` of its launches.
  void step_end(const StepTracker::Step& step, std::uint32_t last_correlation_id) noexcept;

  /// Looks whether the window is over and the device through with it, and if so reads the samples, which
  /// takes some 90 us each. Call it every few milliseconds while busy().
  void tick(std::int64_t now_ns) noexcept;
  bool busy() const noexcept {
    const State s = state_.load(std::memory_order_acquire);
    return s == State::sampling || s == State::draining;
  }
  /// A session is open on the device.
  bool open() const noexcept { return state_.load(std::memory_order_acquire) != State::idle; }
  /// Ends a session that is open, doing what tick() does until it is closed. False if it is still open after
  /// a minute.
  bool close_now() noexcept;
  /// Called just before samples are taken: waits for processes that this one waits for in collectives, so that
  /// none of them is still setting up.
  void meet_by(std::function<void()> meet) { meet_ = std::move(meet); }
  /// The gate was closed: whoever waits in here goes on.
  void wake() noexcept { changed_.notify_all(); }
  /// No measured step will come any more: has tick() end the window. Does not wait.
  void cut_short(const char* why) noexcept;
  /// In an exit handler that runs before those of CUPTI's libraries: ends and closes what is open. The samples are
  /// read only if that can be done by `deadline_ns`; a window that takes longer is reported as cut off.
  void finish_at_exit(std::int64_t deadline_ns) noexcept;
  /// At exit, when finish_at_exit() could not: touches nothing of CUPTI's, reports the window.
  void abandon() noexcept;

  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::uint8_t* memory) const noexcept;
  };

 private:
  enum class State { idle, configured, sampling, draining };
  enum class Readiness { pending, ready, ruled_out };

  bool configure(std::uint32_t phase_first, std::uint32_t phase_steps, std::int64_t step_ns) noexcept;
  bool device_passed(std::uint32_t correlation_id) const noexcept;
  bool start(std::uint32_t last_correlation_id) noexcept;
  void read_on(std::int64_t now_ns) noexcept;
  /// Stops, reads and closes. `early`: why before the window's end, else empty.
  void finish(const std::string& early) noexcept;
  bool read_samples();
  /// Values of samples 1 to `count` - 1, sample after sample; NaN where CUPTI fails.
  std::vector<double> evaluate(std::size_t count) const;
  void close() noexcept;
  void fail(const char* what, CUptiResult result) noexcept;
  void write_window() noexcept;
  void message(Severity severity, spool::Topic topic, const std::string& text) noexcept;

  const CuptiApi& api_;
  spool::Writer& writer_;
  Timeline& timeline_;
  const CallGate& gate_;
  const SamplingLimits limits_;
  std::function<void()> meet_;

  std::mutex mutex_;  // serialises everything below
  std::condition_variable changed_;
  Readiness readiness_ = Readiness::pending;
  std::string ruled_out_reason_;
  std::string chip_;
  std::uint32_t device_id_ = 0;
  std::vector<std::uint8_t> availability_;
  CounterConfig config_;
  std::vector<CounterConfig> helpers_;  // the same, for the threads that help to evaluate
  std::vector<std::uint32_t> metric_ids_;

  std::atomic<State> state_{State::idle};
  std::uint32_t next_window_id_ = 1;
  std::uint32_t phase_first_ = 0;  // step index
  bool phase_given_up_ = false;    // the phase that began at phase_first_ will not be measured
  bool phase_known_ = false;
  SamplingPlan plan_;
  CUpti_PmSampling_Object* session_ = nullptr;
  std::unique_ptr<std::uint8_t[], Unmap>
      image_;  // gigabytes: in huge pages, else the page faults take a second
  spool::PmWindowRecord window_{};
  std::string reason_;
  std::uint32_t last_correlation_id_ = 0;
  std::string cut_short_;
  std::uint32_t steps_ended_ = 0;  // of the measured ones
  std::int64_t settling_since_ns_ = 0;
  std::int64_t full_ns_ = 0;  // when the hardware buffer will be nearly full
  std::int64_t drain_deadline_ns_ = 0;
};

}  // namespace ridgeline::agent
