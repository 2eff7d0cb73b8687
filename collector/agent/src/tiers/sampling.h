// T1 on every device that the program uses: one window over all of them, begun and ended with the same steps.
//
// What a device does on its own is in device_sampling.h. Of several devices all are stopped before the samples of any
// are read: reading takes a second, in which the buffer of another would run full.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "messages.h"
#include "tiers/device_sampling.h"

namespace ridgeline::agent {

class Sampling {
 public:
  Sampling(const CuptiApi& api, spool::Writer& writer, Timeline& timeline, const CallGate& gate,
           CaptureWatch& captures, HostWaits& host_waits, const DeviceLaunches& launches,
           const SamplingLimits& limits);

  /// Prepares a device, once each, on the agent's thread. Until the first one is ready, a sample phase waits for
  /// it; further ones take part from the next phase on. Devices beyond kMaxDevices are not sampled, and that is
  /// said.
  void prepare(std::uint32_t device_id, const std::string& chip) noexcept;
  /// prepare() was called. The agent's thread.
  bool prepared() const noexcept { return prepared_ > 0; }
  /// Tells that prepare() will never be called, and why.
  void rule_out(spool::Topic topic, const std::string& reason, Refusal refusal = {}) noexcept;

  /// A step of a sample phase begins on this thread. True if it is a measured one, on one device at least.
  /// `step_ns`: length of the steps before, 0 if unknown. `another`: there may be further windows for what is missed.
  /// `wanted_interval_ns`: as SamplingLimits has it.
  bool begin_step(const StepTracker::Step& step, std::int64_t step_ns, bool another,
                  std::int64_t wanted_interval_ns = 0) noexcept;
  void step_end(const StepTracker::Step& step) noexcept;
  /// Steps that the phase is to have once more, beside the schedule, so that those are sampled that were not: sampling
  /// had not started in time, or its buffer had no room left for them. 0: none, no window is over, or they were tried
  /// kMaxWindows times, which is then said. Each is to begin with kStepSamplesAgain.
  std::uint32_t steps_to_repeat() noexcept;
  /// There is something to repeat, and `why` not; said once a phase.
  void give_up_repeating(const char* why) noexcept;
  /// Nothing is to be repeated: the schedule begins anew.
  void forget_missing() noexcept;
  static constexpr std::uint32_t kMaxWindows = 3;
  /// The latest window has none of its steps whole, or will not: starting it took too long.
  bool missed() const noexcept;
  /// By how much longer a window by time has to be for samples that come late.
  std::int64_t allowance_ns() const noexcept;
  /// The step is of a phase whose window was set up already.
  bool phase_goes_on(const StepTracker::Step& step) const noexcept {
    return phase_known_ && phase_first_ == step.phase_first;
  }
  /// After begin_step(): another process or profiler has the counters, and no window was opened. The same step of the
  /// schedule may begin again later.
  bool in_use_elsewhere() const noexcept;
  /// What becomes of that: it begins `again`, or was refused.
  void settle_refusal(bool again) noexcept;
  /// What can be sampled could not be asked yet, since another process or profiler has the counters, or a stream
  /// waited for the host.
  bool waits_for_counters() const noexcept;
  /// Asks again, if so. The agent's thread.
  void prepare_again() noexcept {
    each([](DeviceSampling& device) { device.prepare_again(); });
  }

  /// Looks whether windows are over and their devices through with them, and if so reads the samples. Call it
  /// every few milliseconds while busy().
  void tick(std::int64_t now_ns) noexcept;
  /// Samples are being taken or are to be read.
  bool busy() const noexcept;
  /// A session is open on a device.
  bool open() const noexcept;
  /// No further step is sampled in windows that are open: tick() reads and closes them. Does not wait for that.
  void end_windows() noexcept;
  /// Ends sessions that are open, doing what tick() does until they are closed. False if one is still open after
  /// a minute, a tenth of a second in which the program captures, or when a stream waits for the host.
  bool close_now() noexcept;
  /// Called twice a phase, just before samples are taken and when they are: waits for processes that this one waits for
  /// in collectives, so that none of them is still setting up, or starting. Its argument: whether it waits or only
  /// lets the others know; what it returns: all came.
  void meet_by(std::function<bool(bool)> meet) { meet_ = std::move(meet); }
  /// The gate was closed: whoever waits in here goes on.
  void wake() noexcept;
  /// No measured step will come any more: has tick() end the windows. Does not wait.
  void cut_short(const char* why) noexcept;
  /// As DeviceSampling has it, for all devices by the same deadline.
  void finish_at_exit(std::int64_t deadline_ns) noexcept;
  void abandon() noexcept;

 private:
  static constexpr std::uint32_t kMaxDevices = 16;

  DeviceSampling& make(std::uint32_t number);
  void may_repeat(bool another) noexcept;
  template <typename Action>
  void each(Action&& action) const noexcept {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) action(*devices_[i]);
  }

  const CuptiApi& api_;
  spool::Writer& writer_;
  Timeline& timeline_;
  const CallGate& gate_;
  CaptureWatch& captures_;
  HostWaits& host_waits_;
  const DeviceLaunches& launches_;
  const SamplingLimits limits_;
  std::function<bool(bool)> meet_;
  std::atomic<std::uint32_t> window_ids_{1};

  /// The first one is there from the start, for phases that begin before it is prepared.
  std::array<std::unique_ptr<DeviceSampling>, kMaxDevices> devices_;
  std::atomic<std::uint32_t> count_{0};
  std::uint32_t prepared_ = 0;      // the agent's thread only
  bool too_many_reported_ = false;  // likewise

  /// Of the thread on which steps begin.
  bool phase_known_ = false;
  std::uint32_t phase_first_ = 0;
  std::uint32_t taking_part_ = 0;
  bool met_ = false, all_met_ = false;
  std::uint32_t windows_of_phase_ = 0;  // with those that made up for what was missing
  bool given_up_ = false;               // said
};

}  // namespace ridgeline::agent
