// replay_values.h: what the replay steps (T2) say about one launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tier_values.h"

namespace ridgeline::analyzer {

/// What the replay steps say about one launch: a value a step.
struct ReplayValues {
  ValuesByMetric values;
  /// Pipe metrics × that step's duration: ns of the pipe at its full rate.
  ValuesByMetric pipe_ns;
  std::vector<double> dram_bytes;
  std::vector<double> duration_ns;
  std::vector<double> clock_hz;
  int mismatched = 0;
  std::string mismatch;  // the first

  bool replayed = false;

  explicit ReplayValues(const TierRows& rows);

 private:
  void add(const TierRow& row);
};

[[nodiscard]] std::optional<Measured> value_of(const ReplayValues& values, std::string_view metric);

struct Operations {
  std::string_view peak_quantity;
  Measured count;
  bool by_instruction = false;
};

/// Operations of the tensor pipe, by data type as far as counted; none twice.
[[nodiscard]] std::vector<Operations> operations_of(const ReplayValues& values);

}  // namespace ridgeline::analyzer
