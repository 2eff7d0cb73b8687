// plan.h: how long each part of a measurement takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ceilings/core/settling.h"

namespace ridgeline::ceilings {

/// [m, k] × [k, n].
struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  [[nodiscard]] std::string text() const;  // "8192x8192x4096"
};

struct Plan {
  bool thorough = false;
  double idle_s = 0.15;     // before each burst
  double burst_ms = 4;      // of work in one
  int rounds = 5;           // bursts of a roof
  SettlingRule settling;    // of sustained loads
  double max_settle_s = 2;  // a load that still moves by then is measured all the same, and is said to
  double window_s = 1;      // sustained: what the value is of
  int sweep_per_octave = 4;
  std::vector<Shape> shapes;       // of products, tried in bursts
  std::vector<std::string> gemms;  // precisions
  int sustained_shapes = 1;        // of each precision, the best of the bursts, measured sustained
};

/// Under a minute in all.
[[nodiscard]] Plan quick_plan();
/// Minutes: pauses of a second, ten seconds and more of each sustained load.
[[nodiscard]] Plan thorough_plan();

/// Whether a roof is asked for: `only` holds names ("dram.read") or levels ("dram"); empty: all.
[[nodiscard]] bool wanted(const std::vector<std::string>& only, const std::string& level,
                          const std::string& name);

}  // namespace ridgeline::ceilings
