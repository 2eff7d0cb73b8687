// machine_file.h: what a run found, as the JSON that `ridgeline` reads .
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/core/energy_model.h"
#include "ceilings/core/roof.h"
#include "ceilings/core/statistics.h"

namespace ridgeline::ceilings {

/// What the figures hold for: another device or another power limit has others.
struct DeviceFacts {
  std::string name;
  std::string uuid;  // "GPU-01234567-…"
  std::string compute_capability;
  int sm_count = 0;
  double max_sm_clock_hz = 0;
  double application_sm_clock_hz = 0;  // 0: the driver does not say
  double max_memory_clock_hz = 0;
  int memory_bus_bits = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  double power_limit_w = 0;  // 0: the driver does not say
  std::optional<bool> ecc;
  std::string driver;

  /// What the memory bus carries, both edges of the clock; 0: not known.
  [[nodiscard]] double bus_bytes_per_s() const { return max_memory_clock_hz * memory_bus_bits / 8 * 2; }
};

struct Sweep {
  Level level = Level::l2;
  std::vector<SweepPoint> points;
  std::optional<Plateau> plateau;
};

struct ShapeRate {
  std::string precision;
  std::string shape;
  double burst_ops_per_s = 0;
  std::optional<double> sustained_ops_per_s;
};

struct Findings {
  DeviceFacts device;
  std::string mode;      // "quick" or "thorough"
  std::string measured;  // when, UTC: "2026-11-25T14:00:00Z"
  double seconds = 0;
  std::vector<std::string> left_out;  // "compute.fp8 sustained": its turn had not come when the time was over
  std::vector<Roof> roofs;
  std::vector<Sweep> sweeps;
  std::vector<ShapeRate> shapes;
  std::optional<EnergyModel> energy;
};

[[nodiscard]] std::string machine_file_text(const Findings& findings);

/// What a sustained reading says to the energy model; empty: it is no roof, or its power is not known.
[[nodiscard]] std::optional<EnergyPoint> energy_point(const RoofName& name, const Reading& reading);
/// Of all that are one.
[[nodiscard]] std::vector<EnergyPoint> energy_points(const std::vector<Roof>& roofs);

}  // namespace ridgeline::ceilings
