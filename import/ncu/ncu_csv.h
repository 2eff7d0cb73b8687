// ncu_csv.h: results of Nsight Compute as CSV (ncu --csv), of the pages "raw" and "details".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ncu/ncu_numbers.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/records.h"

namespace ridgeline::import {

/// A value of a launch in the unit that captures keep.
struct NcuValue {
  std::uint32_t metric = 0;  ///< index into NcuResults::metrics
  double value = 0;
};

struct NcuMetric {
  std::string name;  ///< verbatim
  std::string unit;
};

/// A launch that was profiled.
struct NcuLaunch {
  std::int64_t id = 0;   ///< in the order in which they were launched
  std::int64_t pid = 0;  ///< 0: not said
  std::string kernel;    ///< as printed
  store::Dim3 grid, block;
  std::vector<NcuValue> values;
};

struct NcuResults {
  std::vector<NcuMetric> metrics;
  std::vector<NcuLaunch> launches;      ///< by process, id
  std::vector<std::string> unreadable;  ///< metrics with a unit or a value that is not understood
};

/// Reads a file. `mark`: that of its decimals; empty: decided from its values. What stands round the table, the
/// messages of ncu and the output of the program, is left out.
/// Failures: io, not_a_capture (no such table: the message says what is there instead), corrupt (cut, a column is
/// missing, a field is of another type, or the locale cannot be told).
[[nodiscard]] Result<NcuResults> read_ncu_csv(const std::string& path, std::optional<DecimalMark> mark);

}  // namespace ridgeline::import
