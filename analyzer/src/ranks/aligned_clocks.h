/// aligned_clocks.h: times of ranks on one clock, where their hosts' clocks could be aligned.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ranks/job_view.h"

namespace ridgeline::analyzer::ranks {

/// Refers to the view's job.
class AlignedClocks {
 public:
  explicit AlignedClocks(const JobView& view);

  /// Of a rank's host, by the rank's place; nullptr: the job has none.
  [[nodiscard]] const store::JobClock* clock(std::size_t rank) const { return clock_of_[rank]; }
  /// How far a time of the rank may be off; empty: its clock is not aligned.
  [[nodiscard]] std::optional<double> error_ns(std::size_t rank) const { return error_ns_[rank]; }
  /// On the reference's clock, from some instant that is the same for all ranks. Needs an error_ns().
  [[nodiscard]] double aligned_ns(std::size_t rank, std::int64_t own_ns) const;

 private:
  std::int64_t origin_ns_;
  std::vector<const store::JobClock*> clock_of_;
  std::vector<std::optional<double>> error_ns_;
};

}  // namespace ridgeline::analyzer::ranks
