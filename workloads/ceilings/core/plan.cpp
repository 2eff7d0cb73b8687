#include "ceilings/core/plan.h"

#include <algorithm>

namespace ridgeline::ceilings {

std::string Shape::text() const {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

Plan quick_plan() {
  Plan plan;
  plan.settling = {.min_s = 0.4, .look_s = 0.4, .max_change = 0.01};
  plan.shapes = {{4096, 4096, 4096}, {8192, 8192, 4096}, {8192, 8192, 8192}};
  plan.gemms = {"bf16", "fp16", "tf32", "fp8", "int8"};
  return plan;
}

Plan thorough_plan() {
  Plan plan;
  plan.thorough = true;
  plan.idle_s = 1;
  plan.rounds = 9;
  // For about three seconds after the power limit sets in the clock goes up and down.
  plan.settling = {.min_s = 4, .look_s = 3, .max_change = 0.01};
  plan.max_settle_s = 15;
  plan.window_s = 6;
  plan.sweep_per_octave = 8;
  plan.shapes = {{1024, 1024, 1024},    {2048, 2048, 2048},  {4096, 4096, 4096},  {8192, 8192, 8192},
                 {16384, 16384, 16384}, {16384, 2048, 4096}, {2048, 16384, 4096}, {8192, 8192, 1024},
                 {8192, 8192, 2048},    {8192, 8192, 4096},  {8192, 8192, 16384}, {16384, 8192, 4096}};
  plan.gemms = {"bf16", "fp16", "tf32", "fp8", "int8", "fp64_tensor"};
  plan.sustained_shapes = 3;
  return plan;
}

bool wanted(const std::vector<std::string>& only, const std::string& level, const std::string& name) {
  return only.empty() || std::any_of(only.begin(), only.end(),
                                     [&](const std::string& each) { return each == level || each == name; });
}

}  // namespace ridgeline::ceilings
