// How sampling started on this device so far, and the plan of a window that makes room for it.
//
// Starting takes 3 to 10 ms on a quiet host and 107 ms were seen on a busy one, and nobody knows whether the buffer
// fills meanwhile; the first sample may come later still. Neither can be known before the first window, so that
// windows that may not be followed by another have spare room in their buffer, and those that follow have what the
// ones before took.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tiers/sampling_plan.h"

namespace ridgeline::agent {

class SamplingStart {
 public:
  /// Of a window's buffer, by its plan.
  static constexpr std::int64_t kSpareNs = 120'000'000;

  /// A start took `ns`, until the program went on. The thread on which steps begin.
  void took(std::int64_t ns) noexcept;
  /// The first sample came `ns` after that, and after the start of what was to be sampled.
  void was_late_by(std::int64_t ns) noexcept;
  /// The most so far, in ns.
  std::int64_t late_ns() const noexcept { return late_ns_.load(std::memory_order_relaxed); }
  /// By how much longer a window by time is, and how much later its samples may begin.
  std::int64_t allowance_ns() const noexcept { return late_ns() + late_ns() / 4; }

  /// `spare`: no other window may follow. `step_ns` <= 0: not known.
  SamplingPlan plan(std::uint32_t phase_steps, std::int64_t step_ns, std::uint64_t memory_bytes,
                    const SamplingLimits& limits, bool spare) const noexcept;
  /// Its buffer holds a step after what starting takes.
  bool has_room(const SamplingPlan& plan, std::int64_t step_ns) const noexcept;
  /// How many steps a phase has to have for `sampled` of them to be sampled.
  std::uint32_t phase_for(std::uint32_t sampled, std::int64_t step_ns) const noexcept;
  /// What starting took at most, in words.
  std::string words() const;

 private:
  std::uint32_t lead_steps(std::int64_t step_ns) const noexcept;

  std::atomic<std::int64_t> longest_ns_{0}, late_ns_{0};
};

}  // namespace ridgeline::agent
