// busy_time.h: what the step's times alone say of a change, without any simulation: a bound, and a plain sum.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

class BusyTime {
 public:
  BusyTime(const Model& model, const RepresentativeStep& step);

  /// Amdahl's: the time in which any of the changed launches ran, times the share of their time that goes; of launches
  /// that are removed also the pauses beside them, in which nothing ran; of a graph the time in which nothing ran; of
  /// hidden copies the time in which nothing else did. `ratios`: as ReplayedStep's.
  [[nodiscard]] double bound_ns(const std::vector<double>& ratios, const StepChange& change) const;
  /// Of copies and pauses; launches are the caller's.
  [[nodiscard]] double naive_ns(const StepChange& change, std::int64_t graph_pause_ns) const;

 private:
  using Intervals = std::vector<TimeWindow>;

  [[nodiscard]] std::int64_t pauses_beside_ns(const std::vector<double>& ratios) const;

  TimeWindow step_;
  Intervals launches_;                   // by position; empty without a timestamp
  Intervals host_copies_, others_;       // what ran: copies between host and device, and all else
  Intervals all_;                        // both
  Intervals idle_;                       // in which nothing ran, by time
  std::vector<std::int64_t> pauses_ns_;  // of streams, between one piece of work and the next
};

/// Time covered by any of them; sorts.
[[nodiscard]] std::int64_t covered_ns(std::vector<TimeWindow> intervals);

}  // namespace ridgeline::analyzer
