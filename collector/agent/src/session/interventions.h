// Delays in front of launches of the program, to see what they do to the step (`record --intervene`,
// docs/design/047).
//
// They are in steps of their own: the last phase of the schedule, of warm-up steps, which nothing else is concluded
// from. In its first step the launches are looked at and the delay kernel is loaded. From then on each target has a
// delay kernel in front of it in every step, a sham of no length but in the steps that are drawn, and of those one
// target each. Between two drawn steps is one of shams alone, in which what a delay moved comes to rest.
//
// Not delayed: launches into streams that are captured, graphs, cooperative launches and collectives between devices.
// What the driver refuses ends it, with a message, and the program goes on as it was.
//
// A power limit takes seconds to answer, and single steps do not show it. Blocks of seconds, if they are asked for,
// come after the schedule: in every step of one the first target is delayed, in every step of the next nothing is, in
// turn, the first by the seed. Shams stand everywhere as before.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "session/intervention_plan.h"
#include "session/session_state.h"
#include "tiers/delay_kernel.h"

namespace ridgeline::agent {

class Interventions {
 public:
  explicit Interventions(SessionState& parts);
  Interventions(const Interventions&) = delete;
  Interventions& operator=(const Interventions&) = delete;

  bool asked() const noexcept { return !requests_.empty(); }
  /// On the program's thread that begins or ends a step.
  void on_step_begin(const StepTracker::Step& step, std::int64_t usual_step_ns) noexcept;
  void on_step_end() noexcept { doing_.store(Doing::nothing, std::memory_order_release); }
  /// Launches are of interest. One relaxed load.
  bool wants_launch() const noexcept { return doing_.load(std::memory_order_relaxed) != Doing::nothing; }

  /// A launch of a kernel in a step, not captured: before it goes to the driver, and once it is back.
  void launch_enter(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void launch_exit(ThreadState& thread, const spool::LaunchRecord& launch, bool failed) noexcept;
  void context_destroyed(CUcontext context) noexcept;

 private:
  enum class Doing { nothing, looking, delaying };

  bool is_own_step(const StepTracker::Step& step) const noexcept;
  void look_at(const ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void make_plan(std::int64_t usual_step_ns);
  /// After the schedule: a step of a block, or none once all blocks are over.
  void begin_step_of_block() noexcept;
  bool may_delay(const ThreadState& thread, CUpti_CallbackId id, std::uint32_t kernel_id) const noexcept;
  bool prepare(CUcontext context) noexcept;
  void delay(ThreadState& thread, std::uint32_t target, CUstream stream) noexcept;
  void give_up(const std::string& why) noexcept;

  SessionState& session_;
  std::vector<InterventionRequest> requests_;
  std::uint64_t seed_ = 0;
  std::atomic<Doing> doing_{Doing::nothing};
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;  // held for a moment; for loading the kernel once
  std::vector<SeenLaunch> seen_;
  std::optional<InterventionPlan> plan_;  // made at a step's start, before launches are delayed
  InterventionPlan::Draw draw_;           // of the open step
  bool drawn_ = false;                    // it is one that is drawn
  std::uint32_t block_ = 0;               // of those after the schedule: the open one
  std::int64_t block_start_ns_ = 0;       // of it; 0: none yet
  bool block_delayed_ = false;            // it is one with delays
  DelayKernel kernel_;
  CUcontext context_ = nullptr;  // that the kernel is loaded in
};

}  // namespace ridgeline::agent
