// When this process may use the counters of its GPUs: in turn with the other recorded processes (device_turn.h), and
// not while anybody else, a profiler that knows nothing of turns, has them.
//
// A turn is taken at the boundary of a step that is to be sampled or counted and ends when nothing is open any more. A
// process that does not get it goes on with its timeline and asks again at a later step. Who has waited for
// kPatienceNs goes ahead all the same: if the counters are in use CUPTI refuses, and that is stored as the reason.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cupti/device_launches.h"
#include "ridgeline/spool/writer.h"
#include "tiers/device_turn.h"

namespace ridgeline::agent {

class CounterTurns {
 public:
  static constexpr std::int64_t kPatienceNs = 60'000'000'000;
  /// A turn over several steps is given up after this, if others wait.
  static constexpr std::int64_t kTurnNs = 1'000'000'000;

  CounterTurns(spool::Writer& writer, std::string directory);

  /// What the GPU is called in all processes; its ordinal in this one says nothing. The agent's own thread.
  void name_device(std::uint32_t device_id, const std::uint8_t (&uuid)[16]) noexcept;

  enum class Turn {
    ours,  ///< until end()
    wait,  ///< ask again at a later step
    none,  ///< waited in vain: go ahead, and be refused if somebody has them
  };
  /// For all of these devices (a bit a device) or none. `step_ns`: when it will be asked again, about; 0: not known.
  /// What was taken is not given back by end_if_unused() until begun().
  Turn take(std::uint64_t devices, std::int64_t now_ns, std::int64_t step_ns) noexcept;
  /// What the turn was taken for is set up, and shows that counters are in use.
  void begun() noexcept;
  /// Others wait, and this turn has lasted long enough.
  bool to_hand_over(std::int64_t now_ns) noexcept;
  /// Ends the turn unless `in_use` says that counters are still open.
  template <typename InUse>
  void end_if_unused(std::int64_t now_ns, InUse&& in_use) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (taken_ns_ != 0 && begun_ && !in_use()) end(now_ns);
  }
  /// CUPTI says that the counters are in use, in spite of the turn. True: this process is to ask again later; the turn
  /// is over. False: it has done so for long enough.
  bool refused(std::int64_t now_ns) noexcept;
  /// The program ends: if this process still waits for its turn, that is why it has nothing, and is said.
  void program_ends(std::int64_t now_ns) noexcept;
  bool held() const noexcept;
  /// For how long this process has had its turn; 0: it has none.
  std::int64_t held_ns(std::int64_t now_ns) const noexcept;
  /// Another recorded process has a turn, or waits for one, as far as this process has asked for turns.
  bool others() noexcept;

 private:
  static constexpr std::int64_t kFirstPauseNs = 100'000'000, kLongestPauseNs = 2'000'000'000;

  DeviceTurn* turn_of(std::uint32_t device_id) noexcept;
  Turn waits(std::int64_t now_ns, pid_t holder) noexcept;
  void tell_waited(std::int64_t now_ns, const char* then);
  void end(std::int64_t now_ns) noexcept;

  spool::Writer& writer_;
  const std::string directory_;
  mutable std::mutex mutex_;
  std::array<std::unique_ptr<DeviceTurn>, kMaxDevices> turns_;
  std::int64_t taken_ns_ = 0;                                  // of the turn; 0: none
  bool begun_ = false;                                         // what it was taken for
  std::int64_t waiting_since_ns_ = 0;                          // 0: does not wait
  std::int64_t waited_ns_ = 0;                                 // before this turn
  std::int64_t not_before_ns_ = 0, pause_ns_ = kFirstPauseNs;  // after CUPTI's refusal
  pid_t holder_ = 0;                                           // that was waited for last
  bool shared_ = false;                                        // others were seen: turns are reported
  bool gave_up_ = false;                                       // reported
};

}  // namespace ridgeline::agent
