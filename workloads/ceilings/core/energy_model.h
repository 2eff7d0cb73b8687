// energy_model.h: watts as those of the idle device and so many joules for each byte and operation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::ceilings {

/// One sustained load: what it drew, and what it did a second, by term ("dram_byte", "bf16_op").
struct EnergyPoint {
  double watts = 0;
  std::map<std::string, double> per_s;
};

struct EnergyTerm {
  std::string name;
  double joules = 0;  // for each; may come out below 0 where the points do not determine it: see `error`
  double error = 0;   // standard error
};

/// watts = idle_w + Σ joules × rate, by least squares.
struct EnergyModel {
  double idle_w = 0;  // of a device that is at work, without what the work itself takes
  double idle_error_w = 0;
  std::vector<EnergyTerm> terms;  // by name
  int points = 0;
  double rms_w = 0;  // of the residuals
  double max_w = 0;  // the largest of them

  [[nodiscard]] double watts(const std::map<std::string, double>& per_s) const;
};

/// Empty: as many points as unknowns or fewer, or they do not tell the terms apart.
[[nodiscard]] std::optional<EnergyModel> fit_energy(const std::vector<EnergyPoint>& points);

}  // namespace ridgeline::ceilings
