// One recording of one process: what joins CUPTI, NVTX, steps, counters and the spool.
//
// Lifecycle
// 1. create(): spool, process record. Called by the first NVTX call or by cuInit, whichever comes first.
// 2. start_cupti(): inside cuInit, before any context exists. Subscribes, enables the timeline. Whatever is refused is
//    written as a message, and the program runs on as if the agent were not there.
// 3. Callbacks, on the program's threads: launches, contexts, NVTX. They take no lock for long, make no CUDA call and
//    throw nothing. A replay step's session is opened and closed here, at the borders of the step.
// 4. The agent's own threads: flushes, clock samples, descriptions, set-up of counters, samples, totals.
// 5. at_exit(), from an exit handler that runs before those of the libraries the agent works with (exit_order.h): what was
//    collected is read, whoever is inside CUPTI for the agent comes out (call_gate.h), what CUPTI still holds is flushed,
//    totals and the end are written.
// A Session is never destroyed: callbacks may come until the very end.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "call_gate.h"
#include "concurrency.h"
#include "cupti_api.h"
#include "device_info.h"
#include "driver_api.h"
#include "exclusions.h"
#include "kernel_table.h"
#include "nvtx_tracker.h"
#include "pc_sampling.h"
#include "replay.h"
#include "sampling.h"
#include "settings.h"
#include "step_period.h"
#include "step_tracker.h"
#include "timeline.h"
#include "totals.h"
#include "window.h"

namespace ridgeline::agent {

class Session {
 public:
  /// Null if the spool cannot be made (there is nowhere to say so but the standard error, which is the
  /// program's: the launcher notices the missing spool).
  static Session* create(const Settings& settings, std::uint32_t generation) noexcept;

  /// `api` must outlive the process. False if CUPTI refuses to be subscribed; the reason is in the spool.
  bool start_cupti(const CuptiApi& api, const std::string& library_path) noexcept;
  /// CUPTI could not be loaded.
  void without_cupti(const std::string& reason) noexcept;
  /// Starts the agent's thread (tests drive tick() themselves).
  void start_thread() noexcept;

  // CUPTI's callbacks.
  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

  // NVTX. Domains and registered strings are handles made by the caller.
  int nvtx_push(const void* domain, spool::StringId domain_name, std::string_view name,
                const NvtxAttributes& attributes) noexcept;
  int nvtx_pop(const void* domain) noexcept;
  std::uint64_t nvtx_start(spool::StringId domain_name, std::string_view name,
                           const NvtxAttributes& attributes) noexcept;
  void nvtx_end(std::uint64_t range_id) noexcept;
  void nvtx_mark(spool::StringId domain_name, std::string_view name,
                 const NvtxAttributes& attributes) noexcept;
  void nvtx_name_thread(std::uint32_t thread_id, std::string_view name) noexcept;

  /// For tests: another driver, and another way to end the process than by this signal.
  void replace_driver(DriverApi (*load)() noexcept, void (*end_process)(int signal)) noexcept {
    load_driver_ = load;
    end_process_ = end_process;
  }

  /// One turn of the agent's thread.
  void tick(std::int64_t now_ns) noexcept;
  void at_exit(spool::EndReason reason) noexcept;
  /// In a forked child: drop everything from now on.
  void detach() noexcept;

  spool::Writer& writer() noexcept { return writer_; }
  Totals& totals() noexcept { return totals_; }
  bool cupti_started() const noexcept { return cupti_started_; }
  /// After start_cupti(): steps will be sampled or counted.
  bool wants_counters() const noexcept {
    return (replay_ && settings_.replay_allowed) || (sampling_ && settings_.sampling_allowed);
  }

 private:
  Session(const Settings& settings, spool::Writer& writer, std::uint32_t generation);
  void write_process() noexcept;
  void write_version(spool::Component component, std::string_view text, std::int64_t number) noexcept;
  void message(spool::Severity severity, spool::Topic topic, const std::string& text) noexcept;
  /// A step begins on this thread, unless one is open; its index. `flags` of StepBeginRecord.
  bool begin_step(ThreadState& thread, std::uint16_t flags, std::uint32_t* step_index) noexcept;
  void end_step(ThreadState& thread, std::int64_t now) noexcept;
  // Steps by period (session_steps.cpp).
  /// At a launch's entry, before anything else is done with it.
  void note_launch(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                   std::int64_t now) noexcept;
  void period_border(ThreadState& thread, const char* kernel_name) noexcept;
  void end_period_step(ThreadState& thread) noexcept;
  /// A range marks steps: no more steps by period.
  void steps_are_marked(ThreadState& thread) noexcept;
  void look_for_period(std::int64_t now) noexcept;
  /// At exit: the last step by period has no border behind it, but may be whole.
  void end_last_period_step(std::int64_t now) noexcept;
  // Recording windows (session_window.cpp); the agent's thread.
  void start_window() noexcept;
  void tend_window(std::int64_t now) noexcept;
  void open_window(spool::WindowCause cause, std::int64_t now) noexcept;
  void close_window(spool::WindowCause cause) noexcept;
  void write_window(spool::WindowEdge edge, spool::WindowCause cause, std::int64_t now) noexcept;
  void enable_launch_callbacks(bool on) noexcept;
  void on_launch(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void look_up_kernel(ThreadState& thread, const char* name) noexcept;
  LaunchCall call_of(const ThreadState& thread, CUpti_CallbackId id,
                     const CUpti_CallbackData& data) const noexcept;
  void launch_exit(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void write_untraced(const SequenceEntry& entry, const CUpti_CallbackData& data) noexcept;
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept;
  void describe_devices() noexcept;
  void prepare_replay() noexcept;
  void look_for_waiting_kernels(bool may_flush) noexcept;
  void watch_for_hang(std::int64_t now_ns) noexcept;
  void prepare_sampling() noexcept;
  std::int64_t usual_step_ns() const noexcept;
  void sample_clocks(std::int64_t now_ns) noexcept;
  void report_losses() noexcept;
  // At exit (session_exit.cpp).
  void read_what_is_left() noexcept;
  void stop_calls() noexcept;
  void run() noexcept;
  void run_sampling() noexcept;
  std::int64_t now_ns() const noexcept { return api_ != nullptr ? api_->now_ns() : realtime_ns(); }

  const Settings settings_;
  spool::Writer& writer_;
  const std::uint32_t generation_;
  Totals totals_;
  KernelTable kernels_;
  Exclusions exclusions_;
  CallGate gate_;
  ConcurrencyWatch concurrency_;
  bool concurrency_looked_at_ = false;
  DriverApi driver_;
  NvtxTracker nvtx_;
  StepTracker steps_;
  StepPeriod period_;
  std::atomic<bool> watches_period_{true};  // until a range marks a step
  std::atomic_flag border_lock_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> period_step_{spool::kNoStep};  // the open step by period
  std::atomic<std::uint32_t> period_context_{0};            // the context whose launches are looked at
  std::atomic<std::uint64_t> foreign_launches_{0};          // of other contexts since one of that
  std::atomic<bool> describe_border_{false};  // the next border's kernel is wanted for the message
  StepPeriod::Found period_found_{};
  StepPeriod::Found period_candidate_{};  // the agent's thread, until it gets the lock
  bool period_news_ = false;
  WindowPlan window_plan_;
  enum class WindowState { kDormant, kOpen, kLastStep, kDraining };
  std::atomic<WindowState> window_state_{WindowState::kDormant};
  std::atomic<bool> recording_{false};  // launches are noted
  bool collecting_ = true;              // CUPTI's callbacks and records are on
  spool::WindowCause window_cause_{};   // of the close that is under way
  std::int64_t window_opened_ns_ = 0, window_closed_ns_ = 0, window_deadline_ns_ = 0;
  std::int64_t window_quiet_since_ns_ = 0;
  std::uint64_t window_records_ = 0;
  const CuptiApi* api_ = nullptr;
  DriverApi (*load_driver_)() noexcept = load_driver;
  void (*end_process_)(int signal) = [](int signal) { kill(getpid(), signal); };
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<Sampling> sampling_;
  std::unique_ptr<PcSampling> stalls_;  // null: the schedule has no such phase
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool cupti_started_ = false;
  std::atomic<bool> closed_{false};
  // Begin of the latest steps, by index; written at a step's begin only, one step at a time.
  static constexpr std::uint32_t kStepHistory = 16;
  std::int64_t step_begin_ns_[kStepHistory] = {};
  std::atomic<std::uint32_t> last_correlation_id_{0};
  std::atomic<std::uint32_t> module_generation_{1};
  std::atomic<CUcontext> first_context_{nullptr};      // that launched a kernel
  std::timed_mutex context_mutex_;                     // held while the agent's thread uses it
  std::atomic<std::uint64_t> devices_to_describe_{0};  // bit by device id

  // The agent's thread only.
  static constexpr std::uint32_t kMaxDevices = 64;
  Nvml nvml_;
  bool nvml_tried_ = false;
  bool versions_written_ = false;
  bool replay_prepared_ = false;
  std::int64_t hang_since_ns_ = 0;  // a launch of a replay step hangs, the program was asked to end
  bool hang_killed_ = false;
  bool sampling_prepared_ = false;
  bool profiler_initialized_ = false;
  std::string chips_[kMaxDevices];
  void* nvml_devices_[kMaxDevices] = {};
  std::atomic<std::uint64_t> states_reported_{0};  // a bit a kind of CUPTI's asynchronous errors
  bool losses_reported_ = false;
  std::int64_t last_flush_ns_ = 0, last_clock_ns_ = 0, last_pair_ns_ = 0;

  std::mutex thread_mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::atomic<std::uint32_t> own_threads_{0};  // that have not come to their end
  std::thread thread_;
  std::thread sampling_thread_;  // joinable from before the agent's thread starts, or never
};

}  // namespace ridgeline::agent
