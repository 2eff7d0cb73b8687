// counter_series.h: counters of devices over time as other profilers write them, one row a metric and an instant.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/foreign_process.h"

namespace ridgeline::import {

class CounterSeries {
 public:
  explicit CounterSeries(std::size_t max_values) : max_values_(max_values) {}

  struct Value {
    std::int64_t time_ns = 0;  ///< end of the time that it is of
    std::uint32_t device = 0;
    std::string_view metric;  ///< verbatim
    double value = 0;
  };
  /// In any order. False: there are too many, and this one is left out.
  bool add(const Value& value);

  /// For each device its samples in order of time. Each goes from the one before it, so the first is none; so is one
  /// after a pause. Empties what was added.
  [[nodiscard]] std::vector<ForeignSamples> samples();

 private:
  struct Row {
    std::int64_t time_ns;
    std::uint32_t metric;
    double value;
  };
  struct Device {
    std::map<std::string, std::uint32_t, std::less<>> metrics;
    std::vector<Row> rows;
  };
  static ForeignSamples samples_of(std::uint32_t number, Device& device);

  std::map<std::uint32_t, Device> devices_;
  std::size_t max_values_;  // 24 bytes each
  std::size_t values_ = 0;
};

}  // namespace ridgeline::import
