// One recording of one process: what joins CUPTI, NVTX, steps, counters and the spool.
//
// Lifecycle
// 1. create(): spool, process record. Called by the first NVTX call or by cuInit, whichever comes first.
// 2. start_cupti(): inside cuInit, before any context exists. Subscribes, enables the timeline. Whatever is refused is
//    written as a message, and the program runs on as if the agent were not there.
// 3. Callbacks, on the program's threads: launches, waits, events, graphs, memory, contexts, NVTX. They take no lock
//    for long, make no CUDA call but questions that wait for nothing (whether a stream is captured, what a new graph
//    holds), and throw nothing. A replay step's session is opened and closed here, at the boundaries of the step.
// 4. The agent's own threads: flushes, clock samples, descriptions, set-up of counters, samples, totals.
// 5. at_exit(), from an exit handler that runs before those of the libraries the agent works with
//    (exit_order.h): what was collected is read, whoever is inside CUPTI for the agent comes out
//    (call_gate.h), what CUPTI still holds is flushed, totals and the end are written.
// A Session is never destroyed: callbacks may come until the very end.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "session/alone_steps.h"
#include "session/call_switch.h"
#include "session/collective_recorder.h"
#include "session/devices.h"
#include "session/graph_recorder.h"
#include "session/interventions.h"
#include "session/launch_recorder.h"
#include "session/memory_recorder.h"
#include "session/order_recorder.h"
#include "session/period_steps.h"
#include "session/session_state.h"
#include "session/step_conductor.h"
#include "session/stream_calls.h"
#include "session/wait_recorder.h"
#include "session/window_control.h"

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

  /// CUPTI's callbacks.
  [[gnu::hot]] void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

  /// NVTX. Domains and registered strings are handles made by the caller.
  int nvtx_push(const void* domain, spool::StringId domain_name, std::string_view name,
                const NvtxAttributes& attributes) noexcept;
  /// `attributes`: of them binary payloads count, which NVTX's payload extension hands over at a range's end.
  int nvtx_pop(const void* domain, const NvtxAttributes& attributes = {}) noexcept;
  std::uint64_t nvtx_start(spool::StringId domain_name, std::string_view name,
                           const NvtxAttributes& attributes) noexcept;
  void nvtx_end(std::uint64_t range_id) noexcept;
  void nvtx_mark(spool::StringId domain_name, std::string_view name,
                 const NvtxAttributes& attributes) noexcept;
  void nvtx_name_thread(std::uint32_t thread_id, std::string_view name) noexcept;

  /// What NCCL says of its collectives; any thread.
  CollectiveRecorder& collectives() noexcept { return collectives_; }

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

  spool::Writer& writer() noexcept { return session_.writer; }
  Totals& totals() noexcept { return session_.totals; }
  /// For tests: records that CUPTI handed over are taken, as in a turn of the agent's thread.
  void take_records() noexcept { session_.timeline->drain(); }
  /// A reading of the clock that launches go by; the agent's thread, each turn.
  void keep_launch_clock() noexcept;
  bool cupti_started() const noexcept { return cupti_started_; }
  /// After start_cupti(): steps will be sampled or counted.
  bool wants_counters() const noexcept { return session_.wants_counters(); }

 private:
  Session(const Settings& settings, spool::Writer& writer, std::uint32_t generation)
      : session_(settings, writer, generation) {}
  void write_process() noexcept;
  /// Of start_cupti() (session_start.cpp).
  bool subscribe() noexcept;
  void make_tiers();
  void enable_callbacks() noexcept;
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept;
  void on_state(const CUpti_StateData& state) noexcept;
  [[gnu::cold]] void on_other_domain(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                     const void* data) noexcept;
  [[gnu::noinline]] void on_other_call(ThreadState& thread, CUpti_CallbackId id,
                                       const CUpti_CallbackData& call) noexcept;
  void on_driver_call(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& call);
  [[gnu::noinline]] void on_guarded_launch(ThreadState& thread, CUpti_CallbackId id,
                                           const CUpti_CallbackData& data) noexcept;
  void pass_gate(ThreadState& thread, const CUpti_CallbackData& call) noexcept;
  void on_load(const ThreadState& thread, CUpti_CallbackId id, const void* params) noexcept;
  void on_hold(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void on_order(OrderCall order, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// The agent's threads (session_thread.cpp).
  void run() noexcept;
  void run_sampling() noexcept;
  /// The device of the first context that launched a kernel, once it is described. False: not yet.
  bool described_device(std::uint32_t* device_id) const noexcept;
  void describe_devices(std::int64_t now_ns);
  void prepare_replay() noexcept;
  void prepare_sampling() noexcept;
  void prepare_further_devices() noexcept;
  void watch_for_hang(std::int64_t now_ns) noexcept;
  void report_losses() noexcept;
  /// At exit (session_exit.cpp).
  void read_what_is_left() noexcept;
  void stop_calls() noexcept;

  SessionState session_;
  Interventions interventions_{session_};
  AloneSteps alone_{session_};
  StepConductor conductor_{session_, alone_, [this] { wake_.notify_all(); }};
  PeriodSteps period_{session_, conductor_};
  Stretches stretches_{session_, conductor_};
  LeftOutCounts left_out_;
  OrderRecorder order_{session_, left_out_};
  GraphRecorder graphs_{session_, left_out_};
  MemoryRecorder memory_{session_, left_out_};
  LaunchRecorder launches_{session_, period_, stretches_, order_, alone_};
  WaitRecorder waits_{session_, order_};
  StreamCalls stream_calls_{session_, alone_};
  CollectiveRecorder collectives_{session_};
  CallSwitch calls_{session_};
  WindowControl window_{session_, calls_, period_, launches_, waits_, order_};
  Devices devices_{session_};

  DriverApi (*load_driver_)() noexcept = load_driver;
  void (*end_process_)(int signal) = [](int signal) { kill(getpid(), signal); };
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool cupti_started_ = false;
  std::atomic<std::uint64_t> states_reported_{0};  // a bit a kind of CUPTI's asynchronous errors

  /// The agent's thread only.
  bool replay_prepared_ = false;
  std::int64_t describing_since_ns_ = 0;  // put off since; 0: nothing is
  std::int64_t ask_again_ns_ = 0;         // what can be counted, of a GPU in use
  bool sampling_prepared_ = false;
  std::uint64_t prepared_devices_ = 0;  // a bit a device
  std::int64_t hang_since_ns_ = 0;      // a launch of a replay step hangs, the program was asked to end
  bool hang_killed_ = false;
  bool losses_reported_ = false;
  bool paths_reported_ = false;
  std::int64_t last_flush_ns_ = 0, last_clock_ns_ = 0, last_pair_ns_ = 0, last_look_ns_ = 0;

  std::mutex thread_mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::atomic<std::uint32_t> own_threads_{0};  // that have not come to their end
  std::thread thread_;
  std::thread sampling_thread_;  // joinable from before the agent's thread starts, or never
};

}  // namespace ridgeline::agent
