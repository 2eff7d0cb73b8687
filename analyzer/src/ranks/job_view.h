/// job_view.h: the rows of a job by rank and step, and the times of its calls.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ridgeline/store/job.h"

namespace ridgeline::analyzer::ranks {

/// Rows from begin up to, but without, end.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Refers to the job, which must outlive it. Ranks are counted by their place in Job::ranks.
class JobView {
 public:
  explicit JobView(const store::Job& job);

  [[nodiscard]] const store::Job& job() const { return job_; }
  [[nodiscard]] std::size_t ranks() const { return job_.ranks.size(); }
  /// Steps that every rank has, in order.
  [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
  /// The row of a step that every rank has; `step`: its place in steps().
  [[nodiscard]] const store::JobStep& step(std::size_t rank, std::size_t step) const {
    return job_.steps[step_rows_[rank * steps_.size() + step]];
  }
  [[nodiscard]] const RowRange& kernels(std::size_t rank, std::size_t step) const {
    return kernel_rows_[rank * steps_.size() + step];
  }
  [[nodiscard]] std::size_t place_of(std::int64_t rank) const { return places_.at(rank); }
  /// On the rank's own clock. `call`: its place in Job::calls.
  [[nodiscard]] std::int64_t start_ns(std::size_t call) const { return starts_[call]; }
  [[nodiscard]] std::int64_t end_ns(std::size_t call) const {
    return starts_[call] + job_.calls[call].duration_ns;
  }

 private:
  const store::Job& job_;
  std::unordered_map<std::int64_t, std::size_t> places_;
  std::vector<std::int64_t> steps_;
  std::vector<std::size_t> step_rows_;
  std::vector<RowRange> kernel_rows_;
  std::vector<std::int64_t> starts_;
};

}  // namespace ridgeline::analyzer::ranks
