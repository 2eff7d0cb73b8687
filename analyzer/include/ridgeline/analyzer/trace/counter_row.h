// counter_row.h: samples of one counter over time, summed up in as many bins as there are pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/analyzer/trace/event_row.h"

namespace ridgeline::analyzer {

struct CounterBin {
  float mean = 0;
  float peak = 0;
  bool known = false;  ///< false: nothing was sampled there
};

/// Each sample holds from the one before it to its own time. Values are as they are shown (a share is 0 to 1).
class CounterRow {
 public:
  /// By time. A sample that comes more than `longest_gap_ns` after the one before it holds for that long only.
  void add(std::int64_t end_ns, float value);
  void finish(std::int64_t longest_gap_ns);

  [[nodiscard]] std::size_t size() const { return times_.size(); }
  [[nodiscard]] bool empty() const { return times_.empty(); }
  [[nodiscard]] float max() const { return max_; }
  [[nodiscard]] TimeWindow extent() const;
  void bins(const TimeWindow& window, std::span<CounterBin> out) const;
  /// Mean over the sampled part of a stretch; known: some of it was sampled.
  [[nodiscard]] CounterBin over(const TimeWindow& window) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] std::int64_t start_of(std::size_t i) const;
  [[nodiscard]] CounterBin over(std::size_t first, const TimeWindow& window) const;

  static constexpr std::size_t kBlock = 64;
  std::vector<std::int64_t> times_;
  std::vector<float> values_;
  std::vector<double> sums_;  // of value × time of all samples before a block
  std::vector<double> held_;  // of time, likewise
  std::vector<float> peaks_;  // of a block
  std::int64_t longest_gap_ns_ = 0;
  float max_ = 0;
};

}  // namespace ridgeline::analyzer
