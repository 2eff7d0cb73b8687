// sampled_power.h: what clock samples in a stretch of time say of clock, power and the power limit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

struct SampledPower {
  std::vector<double> hz, watts;
  std::int64_t known = 0;    ///< samples with what holds the clock down
  std::int64_t limited = 0;  ///< of these, those in which the power limit does

  void add(const store::ClockSample& sample) {
    if (sample.sm_clock_hz) hz.push_back(static_cast<double>(*sample.sm_clock_hz));
    if (sample.power_mw) watts.push_back(static_cast<double>(*sample.power_mw) / 1e3);
    if (!sample.throttle_reasons) return;
    ++known;
    if ((*sample.throttle_reasons & kPowerCapReason) != 0) ++limited;
  }

  [[nodiscard]] std::optional<double> limited_ratio() const {
    if (known == 0) return std::nullopt;
    return static_cast<double>(limited) / static_cast<double>(known);
  }
};

}  // namespace ridgeline::analyzer
