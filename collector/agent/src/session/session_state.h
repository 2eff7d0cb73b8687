// What the concerns of a session share. Session makes it, hands it to each of them, and outlives them all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "call_gate.h"
#include "cupti/capture_watch.h"
#include "cupti/cupti_api.h"
#include "cupti/device_launches.h"
#include "cupti/driver_api.h"
#include "cupti/host_waits.h"
#include "cupti/kernel_table.h"
#include "cupti/stream_table.h"
#include "cupti/timeline.h"
#include "launch_clock.h"
#include "messages.h"
#include "nvtx/nvtx_tracker.h"
#include "process_info.h"
#include "session/thread_names.h"
#include "settings.h"
#include "steps/agreement.h"
#include "steps/step_tracker.h"
#include "steps/window.h"
#include "thread_state.h"
#include "tiers/concurrency.h"
#include "tiers/counter_turns.h"
#include "tiers/exclusions.h"
#include "tiers/launch_gate.h"
#include "tiers/other_processes.h"
#include "tiers/pc_sampling.h"
#include "tiers/replay.h"
#include "tiers/sampling.h"
#include "tiers/shared_budget.h"
#include "totals.h"

namespace ridgeline::agent {

class Interventions;

/// Of the stretches of a program without steps (stretches.h): none is to come, one begins at the next launch, or one is
/// open.
enum class StretchState : std::uint8_t { idle, due, open };

struct SessionState {
  SessionState(const Settings& its_settings, spool::Writer& its_writer, std::uint32_t its_generation)
      : settings(its_settings),
        writer(its_writer),
        totals(its_writer),
        kernels(its_writer),
        exclusions(its_writer, its_settings.replay_exclude),
        nvtx(its_writer, totals),
        thread_names(its_writer, executable_path()),
        steps(its_writer, its_settings.schedule, its_settings.step_range),
        control(map_control(its_settings.spool_directory)),
        agreement(control, !its_settings.wait && its_settings.after_ms == 0),
        turns(its_writer, its_settings.lock_directory),
        budget(control),
        others(its_writer),
        launch_gate(its_generation),
        generation(its_generation) {}
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  /// From start_cupti() on: steps will be sampled, counted or looked into.
  bool wants_counters() const noexcept {
    return (replay && settings.replay_allowed) || (sampling && settings.sampling_allowed) ||
           (stalls && settings.third_tier_allowed);
  }
  /// Something of this process has the GPU's counters, or is about to.
  bool counters_in_use() const noexcept {
    return (sampling && sampling->open()) || (replay && replay->holds_counters()) ||
           (stalls && stalls->in_use());
  }
  /// Launches of kernels that were noted and succeeded.
  std::uint64_t launches_seen() const noexcept { return launches_of_threads(generation); }
  /// Brings to the spool's totals what is counted elsewhere. Launches whose records it has are known without.
  void refresh_totals(std::int64_t time_ns) noexcept {
    totals.set(&Count::launches_seen, launches_seen());
    totals.refresh(time_ns);
  }
  std::int64_t now_ns() const noexcept { return api != nullptr ? api->now_ns() : realtime_ns(); }
  void message(Severity severity, spool::Topic topic, const std::string& text) const noexcept {
    put_message(writer, now_ns(), severity, topic, text);
  }

  void write_version(spool::Component component, std::string_view text, std::int64_t number) const noexcept {
    spool::VersionRecord record{};
    record.component = component;
    record.text = writer.intern_reserved(text);
    record.number = number;
    writer.put_reserved(record);
  }

  const Settings settings;
  spool::Writer& writer;
  Totals totals;
  KernelTable kernels;
  Exclusions exclusions;
  CallGate gate;
  LaunchClock launch_clock;  // the agent's thread keeps it right
  ConcurrencyWatch concurrency;
  ConcurrencyWatch without_steps;  // of programs that have none, or whose steps vary: whatever they launch
  counting::ProgramTimes times;
  counting::LaunchTimes sampled_kinds;  // launches that samples were taken of, by kernel and size
  NvtxTracker nvtx;
  ThreadNames thread_names;
  StepTracker steps;
  spool::Control* const control;  // null: there is none
  Agreement agreement;
  CounterTurns turns;
  SharedBudget budget;
  OtherProcesses others;
  LaunchGate launch_gate;

  /// From start_cupti() on.
  const CuptiApi* api = nullptr;
  DriverApi driver;
  std::unique_ptr<Timeline> timeline;
  std::unique_ptr<Sampling> sampling;  // where the schedule asks for it
  HostWaits host_waits;

  /// What each callback reads, on one line of the cache, whose last is the count of captures.
  alignas(64) const std::uint32_t generation;       // of the process: a forked child has another
  std::atomic<std::uint32_t> module_generation{1};  // of what threads remember of kernels
  std::atomic<bool> closed{false};                  // nothing is recorded any more
  std::atomic<bool> graphs_seen{false};             // the program made a node of a CUDA graph
  std::atomic<bool> looks_for_period{true};         // PeriodSteps': launches are to be noted
  std::atomic<StretchState> stretch{StretchState::idle};
  std::atomic<CUcontext> first_context{nullptr};  // that launched a kernel, and is there
  SeenLaunches* seen = nullptr;                   // the timeline's, once it is there
  /// From start_cupti() on, where the schedule asks for them.
  std::unique_ptr<Replay> replay;
  std::unique_ptr<PcSampling> stalls;
  Interventions* interventions = nullptr;  // null: no launch is to be delayed
  CaptureWatch captures;

  DeviceLaunches device_launches;
  StreamTable streams;
  std::timed_mutex context_mutex;  // held while the agent's thread uses first_context
};

}  // namespace ridgeline::agent
