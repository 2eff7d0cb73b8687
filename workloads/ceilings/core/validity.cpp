#include "ceilings/core/validity.h"

#include <fmt/format.h>

#include <algorithm>

#include "ceilings/core/statistics.h"

namespace ridgeline::ceilings {

std::optional<Void> above_cycles(double rate, double per_cycle_sm, int sm_count,
                                 std::optional<double> sm_clock_hz) {
  if (per_cycle_sm <= 0 || sm_count <= 0 || !sm_clock_hz) return std::nullopt;
  const double most = per_cycle_sm * sm_count * *sm_clock_hz;
  if (rate <= most * kMaxAbovePossible) return std::nullopt;
  return Void{VoidRule::above_possible,
              fmt::format("{:.4g} a second, but {:g} a cycle x {} SMs x {:.0f} MHz are {:.4g}", rate,
                          per_cycle_sm, sm_count, *sm_clock_hz / 1e6, most)};
}

std::optional<Void> above_limit(double rate, double limit) {
  if (limit <= 0 || rate <= limit * kMaxAbovePossible) return std::nullopt;
  return Void{VoidRule::above_possible,
              fmt::format("{:.4g} bytes a second, but the bus carries {:.4g}", rate, limit)};
}

std::optional<Void> rounds_disagree(const std::vector<double>& rounds, double max_apart) {
  const double apart = disagreement(rounds);
  if (apart <= max_apart) return std::nullopt;
  const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end());
  return Void{VoidRule::rounds_disagree, fmt::format("{} rounds of {:.4g} to {:.4g} are {:.1f} % apart",
                                                     rounds.size(), *least, *most, apart * 100)};
}

std::optional<Void> clock_down(std::optional<double> sm_clock_hz, double max_sm_clock_hz) {
  if (!sm_clock_hz || max_sm_clock_hz <= 0 || *sm_clock_hz >= kMinBurstClock * max_sm_clock_hz)
    return std::nullopt;
  return Void{VoidRule::no_burst, fmt::format("the SMs ran at {:.0f} MHz, {:.1f} % of the highest clock",
                                              *sm_clock_hz / 1e6, *sm_clock_hz / max_sm_clock_hz * 100)};
}

std::optional<Void> no_burst(std::optional<double> burst_clock_hz, std::optional<double> sustained_clock_hz,
                             double max_sm_clock_hz) {
  std::optional<Void> down = clock_down(burst_clock_hz, max_sm_clock_hz);
  if (!down || !sustained_clock_hz) return down;
  if (*burst_clock_hz >= kMinAboveSustained * *sustained_clock_hz) return std::nullopt;
  down->detail += fmt::format(", and at {:.0f} MHz sustained", *sustained_clock_hz / 1e6);
  return down;
}

std::optional<Void> foreign_process(const Neighbours& seen) {
  if (seen.processes_before > 0)
    return Void{VoidRule::foreign_process,
                fmt::format("{} other process{} held the GPU before the measurement", seen.processes_before,
                            seen.processes_before == 1 ? "" : "es")};
  if (seen.utilisation_percent > 0)
    return Void{VoidRule::foreign_process,
                fmt::format("the GPU was busy for {} % before the measurement", seen.utilisation_percent)};
  if (seen.processes_now > 1)
    return Void{VoidRule::foreign_process,
                fmt::format("{} processes held the GPU during the measurement", seen.processes_now)};
  if (seen.not_running_share > kMaxForeignShare)
    return Void{VoidRule::foreign_process,
                fmt::format("the GPU did other work for {:.1f} % of the time that a kernel watched",
                            seen.not_running_share * 100)};
  return std::nullopt;
}

}  // namespace ridgeline::ceilings
