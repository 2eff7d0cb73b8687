// T3 on request: samples of the program counter over the steps of the phase `stalls`. The kernels are neither
// serialised nor replayed; each SM notes now and then what one of its warps executes and what it waits for.
//
// Lifecycle
// 1. arm() when a step of the phase begins.
// 2. launch_enter() at its first launch, inside the driver call, where the context is current: enables and
//    configures at the first step, starts at each.
// 3. step_end() stops, which waits for the GPU to finish the step, and writes its samples; after the phase's
//    last step it disables, writes the source lines and the window's record.
// 4. Nothing of CUPTI at process exit: abandon() says how far the window got.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cupti/capture_watch.h"
#include "cupti/cupti_api.h"
#include "cupti/host_waits.h"
#include "cupti/kernel_table.h"
#include "ridgeline/spool/writer.h"
#include "steps/step_tracker.h"
#include "tiers/launch_gate.h"
#include "tiers/source_lines.h"

namespace ridgeline::agent {

/// Exponent of the sampling period in SM cycles, so that a window takes about kPcSamplesWanted samples;
/// 0 (CUPTI's own choice) if one of the arguments is unknown (0).
inline constexpr double kPcSamplesWanted = 4e6;
std::uint32_t pc_sampling_period_log2(std::uint32_t sm_count, std::int64_t sm_hz,
                                      std::int64_t window_ns) noexcept;

/// Starts, stops and ends a session only while nothing is being captured, no stream waits for the host (host_waits.h)
/// and no other thread is inside a launch (launch_gate.h): later, where it may not.
class PcSampling {
 public:
  PcSampling(const CuptiApi& api, spool::Writer& writer, KernelTable& kernels, CaptureWatch& captures,
             HostWaits& host_waits, LaunchGate& gate);

  /// Steps of the phase are not sampled, and why, which is said the first time.
  void rule_out(const std::string& reason) noexcept;
  /// Called where another process or profiler has the counters: true if the same step of the schedule comes again
  /// later, false if it was tried for long enough.
  void put_off_by(std::function<bool()> put_off) { put_off_ = std::move(put_off); }
  /// What the period is chosen by. From the agent's thread, once CUPTI's profiler is initialised and the device has its
  /// turns.
  void set_device(std::uint32_t sm_count, std::int64_t sm_hz) noexcept {
    sm_count_.store(sm_count, std::memory_order_relaxed);
    sm_hz_.store(sm_hz, std::memory_order_relaxed);
    described_.store(true, std::memory_order_release);
  }
  /// Until set_device() it cannot be asked whether the counters are in use, nor taken turns with other processes.
  bool waits_for_device() const noexcept { return !described_.load(std::memory_order_acquire); }
  /// Every step's start, so that the length of a step is known; before arm(). Ends a window that the schedule
  /// left in the middle.
  void note_step(const StepTracker::Step& step, std::int64_t now_ns) noexcept;
  /// A module with machine code was loaded; keeps a copy if it has source lines.
  void module_loaded(const void* cubin, std::size_t size) noexcept { lines_.take_module(cubin, size); }

  /// `steps_left`: of the phase, this one included.
  void arm(const StepTracker::Step& step, std::uint64_t steps_left) noexcept;
  /// True if launch_enter() has something to do. One relaxed load.
  bool wants_launch() const noexcept { return state_.load(std::memory_order_relaxed) == State::armed; }
  /// A window is open, or about to be.
  bool in_use() const noexcept { return state_.load(std::memory_order_acquire) != State::idle; }
  void launch_enter(CUcontext context) noexcept;
  void step_end() noexcept;
  void context_destroyed(CUcontext context) noexcept;
  void abandon() noexcept;

 private:
  enum class State {
    idle,
    armed,     // a step of the phase has begun and launched nothing yet
    sampling,  // started
    paused,    // between two steps of the phase
  };
  struct PcBuffer {
    PcBuffer(std::size_t pcs, std::size_t reasons);
    CUpti_PCSamplingData data{};

   private:
    std::vector<CUpti_PCSamplingPCData> pcs_;
    std::vector<CUpti_PCSamplingStallReason> reasons_;
  };

  void begin_window(CUcontext context) noexcept;
  bool put_off_for_others(CUcontext context);
  bool open(CUcontext context, std::string* why);
  bool read_reasons(std::string* why);
  bool configure(std::string* why);
  bool start(std::string* why);
  void read_samples();
  void take(const CUpti_PCSamplingData& data);
  void leave_buffers() noexcept;
  void close() noexcept;
  void finish_window() noexcept;
  void write_window(WindowStatus status, const std::string& reason) noexcept;
  void fail(const std::string& why) noexcept;

  const CuptiApi& api_;
  spool::Writer& writer_;
  KernelTable& kernels_;
  CaptureWatch& captures_;
  HostWaits& host_waits_;
  LaunchGate& gate_;  // closed, and QuietHold given, wherever CUPTI is called
  SourceLines lines_;
  std::function<bool()> put_off_;

  std::atomic<std::uint32_t> sm_count_{0};
  std::atomic<std::int64_t> sm_hz_{0};
  std::atomic<bool> described_{false};

  std::mutex mutex_;  // guards everything below; never held while a launch of the program runs
  std::int64_t last_start_ns_ = 0, timeline_ns_ = 0;
  std::uint32_t timeline_steps_ = 0;
  bool last_was_timeline_ = false;

  std::atomic<State> state_{State::idle};
  bool ruled_out_ = false;
  bool enabled_ = false;
  /// Starting or stopping failed, as it does while another process has the counters. CUPTI (13.0) then loses records
  /// and corrupts its heap, and finalises itself inside the callback where it is asked to disable.
  bool stuck_ = false;
  CUcontext context_ = nullptr;
  std::uint64_t steps_left_ = 0;
  std::uint32_t step_ = 0;
  std::vector<std::uint32_t> reason_indices_;
  struct Reason {
    spool::StringId name;
    bool part_of_another;
  };
  std::map<std::uint32_t, Reason> reasons_;      // by CUPTI's index; without the two that only count
  std::unique_ptr<PcBuffer> buffer_, leftover_;  // CUPTI writes to the second when disabled
  spool::StallWindowRecord window_{};
  bool overflow_ = false;
  std::unordered_map<const char*, std::uint32_t> kernel_ids_;  // CUPTI shares the names among its records
};

}  // namespace ridgeline::agent
