// Processes that wait for each other in collectives begin their schedules at the same step of the program.
//
// A process that counts kernels or sets its sampling up is late, and its peers, wherever they are, stand in their next
// collective until it comes: a step that was to be timed takes ten times as long. So none may be in another phase than
// its peers. What all of them know without talking is how many collectives they have launched: at the same place of
// the program the number is the same. A process whose schedule is to begin says so in the control file; when all that
// launch collectives have said it, or after kPatienceNs, one names a number some steps ahead, and each begins with its
// first step from there on, those included whose schedule had begun already. Nobody blocks meanwhile: steps go by as
// warm-up. A process that launches no collectives waits for nobody. Where the processes launch different numbers of
// them (stages of a pipeline), the number says nothing, and each begins with its next step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "ridgeline/spool/control.h"

namespace ridgeline::agent {

class Agreement {
 public:
  static constexpr std::int64_t kPatienceNs = 3'000'000'000;

  /// `control` may be null: everybody is alone then. Must outlive the process. `counts_all`: collectives are counted
  /// from the beginning of the program, and not from when a window opens, which is another moment in each process.
  Agreement(spool::Control* control, bool counts_all) noexcept : control_(control), counts_all_(counts_all) {}
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  /// A collective is launched. Any thread.
  void count_collective() noexcept;
  /// The schedule is to begin with the next step, or as soon as the others' do. Any thread.
  void ask() noexcept { asked_.store(true, std::memory_order_release); }
  /// For the step that begins now: as scheduled; the schedule begins with it; or it comes before the schedule.
  enum class Turn { as_scheduled, begin, wait };
  /// One thread at a time.
  Turn on_step_begin(std::int64_t now_ns) noexcept;
  /// This process launches collectives.
  bool takes_part() const noexcept { return place_.load(std::memory_order_acquire) != nullptr; }
  /// How many processes took part when the schedule began; 0 if it was not agreed on.
  std::uint32_t taking_part() const noexcept { return taking_part_; }
  /// Waits until every process that took part is here as often as this one, which it is at the same steps; not longer
  /// than kMeetingPatienceNs, and not once `over` says so. At once where the schedule was not agreed on. True: all are.
  bool meet(const std::function<bool()>& over) noexcept;
  static constexpr std::int64_t kMeetingPatienceNs = 3'000'000'000;
  /// The process ends.
  void leave() noexcept;

 private:
  spool::Peer* join() noexcept;
  /// False if there is nobody to agree with.
  bool propose(std::uint64_t agreed, std::int64_t now_ns) noexcept;

  spool::Control* const control_;
  const bool counts_all_;
  std::atomic<spool::Peer*> place_{nullptr};
  std::atomic<std::uint32_t> collectives_{0};
  std::atomic<bool> joining_{false};
  std::atomic<bool> asked_{false};
  /// One thread at a time:
  std::uint32_t followed_ = 0;  // agreements
  std::uint32_t at_last_step_ = 0;
  std::int64_t asked_since_ns_ = 0;
  std::uint32_t taking_part_ = 0;
  std::atomic<bool> begun_{false};
  int young_steps_ = 0;  // left in which a schedule that began without peers is given up for one with them
};

}  // namespace ridgeline::agent
