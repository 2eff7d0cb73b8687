// validity.h: the rules by which a reading is no roof. Each returns what is wrong, or nothing.
#pragma once

#include <optional>
#include <vector>

#include "ceilings/core/roof.h"

namespace ridgeline::ceilings {

inline constexpr double kMaxAbovePossible = 1.005;    // of what is possible
inline constexpr double kMaxDisagreement = 0.02;      // of rounds
inline constexpr double kMaxHostDisagreement = 0.05;  // of rounds that the CPU or its memory takes part in
inline constexpr double kMinBurstClock = 0.98;        // of the highest
inline constexpr double kMinAboveSustained = 1.05;    // of a burst's clock that power holds below the highest
inline constexpr double kMaxForeignShare =
    0.001;  // of the time that a kernel watched, for which it did not run

/// `per_cycle_sm` × SMs × clock bounds what the SMs do; nothing if either is not known.
[[nodiscard]] std::optional<Void> above_cycles(double rate, double per_cycle_sm, int sm_count,
                                               std::optional<double> sm_clock_hz);
/// `limit`: what a bus carries at most; 0: not known.
[[nodiscard]] std::optional<Void> above_limit(double rate, double limit);
[[nodiscard]] std::optional<Void> rounds_disagree(const std::vector<double>& rounds,
                                                  double max_apart = kMaxDisagreement);
[[nodiscard]] std::optional<Void> clock_down(std::optional<double> sm_clock_hz, double max_sm_clock_hz);
/// The clock of a burst is below the highest and not above that of the same load sustained by kMinAboveSustained, so
/// that it was none. `sustained_clock_hz` absent: it was not measured, and below the highest is enough.
[[nodiscard]] std::optional<Void> no_burst(std::optional<double> burst_clock_hz,
                                           std::optional<double> sustained_clock_hz, double max_sm_clock_hz);

/// What was seen of others on the GPU.
struct Neighbours {
  int processes_before = 0;      // that held it before this one came; those that the driver shows
  int utilisation_percent = 0;   // before this one came
  int processes_now = 0;         // this one among them, if the driver shows any
  double not_running_share = 0;  // of the time that a kernel watched the clock and was not on its SM
};
[[nodiscard]] std::optional<Void> foreign_process(const Neighbours& seen);

}  // namespace ridgeline::ceilings
