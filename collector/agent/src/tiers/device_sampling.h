// T1 on one device: periodic samples of the whole device while the program runs as it always does.
//
// CUPTI's PM sampling reads a set of counters every few microseconds; nothing is serialised, no cache is
// touched. Reading a sample back costs far more host time than its interval, so that sampling is a bounded
// window: the raw records wait in a hardware buffer until the window is over, then a thread of the agent's decodes
// them. Sampling (sampling.h) has one of these for each device that the program uses, and makes their windows one.
//
// Lifecycle of a window:
// 1. prepare() once, on the agent's own thread: what this device can sample, the metrics resolved into one
//    pass.
// 2. begin_phase() with the first step of a `sample` phase, on the program's thread: window and interval are
//    chosen, the session is enabled and configured. That takes 0.1 to 0.5 s of that thread, at the boundary of
//    two steps, and lets the device cool: the first steps of the phase run unmeasured until power and clocks
//    have settled.
// 3. begin_step() of the first measured step waits for the device and starts sampling; step_end() of the last
//    one asks for the end. The host runs ahead of the device, so that stop_if_due() stops only when that step's last
//    launch on this device is known to have ended. go_on() says when all devices had started: what the start took may
//    have used up room in the buffer.
// 4. read_if_stopped() then reads the samples, disables the session and writes the window's record.
// A step is sampled if samples came before its first kernel and until its last one. How many are missing since starting
// took long, missing_steps() says once the window is closed; further steps of the phase then begin a window that has
// room for what starting took (expect_more()).
// Counters of replay steps and sampling exclude each other on a device: end_phase() comes before a replay
// step. At process exit finish_at_exit() ends a window that is open. A window's record is written when it
// opens, as one that the program's end cut off, and again with what became of it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "call_gate.h"
#include "cupti/capture_watch.h"
#include "cupti/cupti_api.h"
#include "cupti/device_launches.h"
#include "cupti/host_waits.h"
#include "cupti/timeline.h"
#include "messages.h"
#include "ridgeline/spool/writer.h"
#include "steps/step_tracker.h"
#include "tiers/metric_sets.h"
#include "tiers/sampling_plan.h"
#include "tiers/sampling_start.h"

namespace ridgeline::agent {

class DeviceSampling {
 public:
  /// `window_ids`: the next one, shared by the devices; `first_metric_id`: of ids that are this device's own.
  DeviceSampling(const CuptiApi& api, spool::Writer& writer, Timeline& timeline, const CallGate& gate,
                 CaptureWatch& captures, HostWaits& host_waits, const DeviceLaunches& launches,
                 const SamplingLimits& limits, std::atomic<std::uint32_t>& window_ids,
                 std::uint32_t first_metric_id);

  /// Once, on the agent's thread. Errors become messages, after which windows are reported as failed.
  void prepare(std::uint32_t device_id, const std::string& chip) noexcept;
  /// Tells that prepare() will never be called, and why.
  void rule_out(spool::Topic topic, const std::string& reason, Refusal refusal = {}) noexcept;

  /// A sample phase begins with this step, on this thread. `step_ns`: length of the steps before, 0 if unknown;
  /// `devices` that share the memory; `wanted_interval_ns`: as SamplingLimits has it.
  void begin_phase(const StepTracker::Step& step, std::int64_t step_ns, std::uint32_t devices,
                   std::int64_t wanted_interval_ns) noexcept;
  /// Before begin_phase(): its steps are those that were missing.
  void expect_more(bool more) noexcept { more_ = more; }
  /// Before begin_phase() and each step: another window may follow for what this one misses. If none may, its buffer
  /// has room for a slow start, and what it has is kept in any case.
  void may_repeat(bool may) noexcept { may_repeat_ = may; }
  /// Of the steps that were to be sampled since the schedule's phase began: those that were not, since sampling had not
  /// started before them or ran out of room. 0 while a window is open, and where another window would not help.
  std::uint32_t missing_steps() const noexcept {
    return open() ? 0 : missing_.load(std::memory_order_acquire);
  }
  void forget_missing() noexcept { missing_ = 0; }
  /// The latest window was given up, or is to be, since what its start left of the buffer was too little; or steps of
  /// it are missing.
  bool missed() const noexcept { return discards_.load() || missing_steps() > 0; }
  /// Of the phase's steps so far, in words: how long starting took. Once missing_steps() is not 0.
  std::string why_missing() const noexcept;
  /// How many steps a phase has to have for missing_steps() of them to be sampled.
  std::uint32_t steps_to_repeat() const noexcept;
  /// How its windows started so far.
  const SamplingStart& start_so_far() const noexcept { return start_; }
  /// begin_phase() found the counters in use by somebody else, and opened nothing.
  bool in_use() const noexcept { return in_use_.load(); }
  /// After that, of this or another device: the phase begins again later, for which this one closes what it has; or it
  /// was refused, which is reported.
  void settle_refusal(bool again) noexcept;
  /// prepare() found the counters in use.
  bool waits_for_counters() const noexcept { return asks_again_.load(std::memory_order_relaxed); }
  /// Goes on with that. The agent's thread.
  void prepare_again() noexcept;
  /// After that, when every device is set up and the program goes on: what settles does so from here.
  void settle_from(std::int64_t now_ns) noexcept;
  /// Before begin_step(), on every device: if it starts sampling with this step, waits for the device.
  void await_device(const StepTracker::Step& step) noexcept;
  /// A step of the phase begins, its first one too. True if it is a measured one. Waits for no samples that are read.
  bool begin_step(const StepTracker::Step& step) noexcept;
  /// After that, on every device: the program goes on. False: the step is none that is measured after all, since what
  /// is left of the buffer is less than a step.
  bool go_on(std::int64_t now_ns) noexcept;
  void step_end(const StepTracker::Step& step) noexcept;

  /// Stops sampling if the window is over and the device through with it. Any thread, every few milliseconds
  /// while running().
  void stop_if_due(std::int64_t now_ns) noexcept;
  /// Reads the samples, which takes some 90 us each, once it was stopped.
  void read_if_stopped() noexcept;
  bool running() const noexcept {
    const State s = state_.load(std::memory_order_acquire);
    return s == State::sampling || s == State::draining;
  }
  /// Samples are to be read.
  bool stopped() const noexcept { return state_.load(std::memory_order_acquire) == State::stopped; }
  /// A session is open on the device.
  bool open() const noexcept { return state_.load(std::memory_order_acquire) != State::idle; }
  /// No step of the phase comes any more: ends what was not over. A window that only waits for the device goes on.
  void end_phase() noexcept;
  /// Called just before samples are taken: waits for processes that this one waits for in collectives, so that
  /// none of them is still setting up.
  void meet_by(std::function<void()> meet) { meet_ = std::move(meet); }
  /// The gate was closed: whoever waits in here goes on.
  void wake() noexcept { changed_.notify_all(); }
  /// No measured step will come any more: has stop_if_due() end the window. Does not wait.
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
  /// What may wait for the device is not called beside a stream capture (capture_watch.h): for so long it is put off.
  static constexpr std::chrono::milliseconds kCapturePatience{20};
  static constexpr char kEndedEarly[] = "the program ended while its samples were being taken or read";
  enum class State { idle, configured, sampling, draining, stopped };
  enum class Readiness { pending, ready, ruled_out };

  struct MeasuredStep {
    std::uint32_t index;
    std::int64_t began_ns;
    std::uint32_t mark;  // of the timeline: its first kernel
    std::uint32_t last_correlation_id = 0;
    bool ended = false, through = false;  // on the host; on the device, before sampling was stopped
  };
  /// A window of which steps are missing: once others were sampled in their place it means only those it has.
  struct CutWindow {
    spool::PmWindowRecord record;
    std::uint32_t first_whole, last_whole;
  };

  bool configure(std::uint32_t phase_steps, std::int64_t step_ns, std::uint32_t devices) noexcept;
  SamplingPlan plan_for(std::uint32_t phase_steps, std::int64_t step_ns) const noexcept;
  /// The window is open, and further steps of it may come.
  bool not_yet_over() const noexcept {
    const State s = state_.load(std::memory_order_acquire);
    return s == State::configured || s == State::sampling;
  }
  /// The window is no step of the program, but a stretch of time.
  bool by_time() const noexcept { return phase_first_ >= spool::kFirstStretch; }
  /// Which of the measured steps samples ran over, and how many are missing.
  void count_sampled_steps() noexcept;
  void narrow_cut_windows() noexcept;
  /// Opens a session with the hardware buffer and the interval of plan_. False if it failed, and all is closed.
  bool enable() noexcept;
  /// The counters are in use, or a stream waits for the host: true if prepare() is to ask again, which it has not done
  /// `most` times.
  bool ask_later(std::uint32_t device_id, const std::string& chip, int most) noexcept;
  std::int64_t capacity_ns() const noexcept { return agent::capacity_ns(plan_); }
  bool has_passed(std::uint32_t correlation_id) const noexcept;
  /// The same after a flush.
  bool device_passed(std::uint32_t correlation_id) const noexcept;
  bool start() noexcept;
  /// It could not be started in this step: with the next one, if the window has another.
  bool start_later(const StepTracker::Step& step) noexcept;
  /// With `lock` on mutex_: waits until it is decided whether there is something to sample. Not while a stream waits
  /// for the host, for this very thread it may be.
  bool await_readiness(std::unique_lock<std::mutex>& lock) noexcept;
  /// Steps turned out to take `step_ns` on the device. False if it failed, and all is closed.
  bool plan_anew(std::int64_t step_ns) noexcept;
  /// `early`: why before the window's end, else empty. False if it failed, and all is closed.
  bool stop(const std::string& early) noexcept;
  /// Reads once, and closes once CUPTI may be called.
  void read() noexcept;
  /// False: a capture is under way or a stream waits for the host, not now.
  bool read_samples();
  /// Values of samples 1 to `count` - 1, sample after sample; NaN where CUPTI fails.
  std::vector<double> evaluate(std::size_t count) const;
  void close() noexcept;
  /// Now, or when the capture under way, or what a stream waits for, is over.
  void close_soon() noexcept;
  void fail(const char* what, CUptiResult result) noexcept;
  /// There is no room for a window, or no longer for its samples: reports it, and closes.
  void give_up_for_memory(std::uint64_t needed_bytes, std::uint64_t available_bytes) noexcept;
  void refuse(const char* what, CUptiResult result) noexcept;
  void disable() noexcept;
  void write_window() noexcept;
  void message(Severity severity, spool::Topic topic, const std::string& text, Refusal refusal = {}) noexcept;

  const CuptiApi& api_;
  spool::Writer& writer_;
  Timeline& timeline_;
  const CallGate& gate_;
  CaptureWatch& captures_;
  HostWaits& host_waits_;
  const DeviceLaunches& launches_;
  SamplingLimits limits_;  // the interval that is wanted is each phase's own
  std::atomic<std::uint32_t>& window_ids_;
  const std::uint32_t first_metric_id_;
  std::function<void()> meet_;

  mutable std::mutex mutex_;  // serialises everything below
  std::condition_variable changed_;
  Readiness readiness_ = Readiness::pending;
  std::string ruled_out_reason_;
  std::string chip_;
  std::uint32_t device_id_ = 0;
  std::vector<std::uint8_t> availability_;
  CounterConfig config_;
  std::vector<CounterConfig> helpers_;  // the same, for the threads that help to evaluate
  std::vector<std::uint32_t> metric_ids_;

  std::atomic<bool> in_use_{false}, asks_again_{false};
  int failed_requests_ = 0;  // prepare()
  std::int64_t ask_again_ns_ = 0;
  std::atomic<State> state_{State::idle};
  std::uint32_t phase_first_ = 0;           // step index
  std::atomic<bool> phase_given_up_{true};  // the phase that began at phase_first_ will not be measured
  std::uint32_t phase_steps_ = 0;
  std::uint64_t memory_bytes_ = 0;  // that a plan may take
  bool memory_said_ = false;        // that there is none for one
  SamplingPlan plan_;
  CUpti_PmSampling_Object* session_ = nullptr;
  std::unique_ptr<std::uint8_t[], Unmap>
      image_;  // gigabytes: in huge pages, else the page faults take a second
  spool::PmWindowRecord window_{};
  std::string reason_;
  std::uint32_t last_correlation_id_ = 0;
  std::string cut_short_;
  std::uint32_t steps_ended_ = 0;  // of the measured ones
  std::vector<MeasuredStep> measured_;
  std::uint32_t asked_steps_ = 0;  // of the window
  std::atomic<std::uint32_t> missing_{0};
  SamplingStart start_;
  std::atomic<bool> may_repeat_{true};
  bool more_ = false;                  // the next phase, or this one, makes up for steps that are missing
  std::atomic<bool> discards_{false};  // what the window has is not worth reading
  bool none_came_ = false;             // samples, until sampling was stopped
  bool ran_out_ = false;               // the buffer was nearly full before the window's end
  std::int64_t step_ns_ = 0;           // on the device; 0: not known
  bool goes_on_ = false;               // the program, after the start
  std::int64_t went_on_ns_ = 0;
  std::int64_t first_sample_ns_ = 0;
  std::int64_t allowed_late_ns_ = 0;  // of a window by time, which is longer by this
  std::vector<CutWindow> cut_windows_;
  bool read_ = false;  // the samples of the window, which is still to be closed
  std::int64_t settling_since_ns_ = 0, settled_ns_ = 0;
  std::int64_t full_ns_ = 0;  // when the hardware buffer will be nearly full
  std::int64_t drain_deadline_ns_ = 0;
};

}  // namespace ridgeline::agent
