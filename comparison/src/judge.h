// judge.h: how a difference becomes an outcome: the same way for the step, its parts, kernels and copies.
#pragma once

#include "ridgeline/comparison/comparison.h"
#include "series.h"

namespace ridgeline::comparison {

class Judge {
 public:
  /// What is given by reference outlives the object.
  Judge(const ComparisonOptions& options, const RunLayout& layout, bool in_blocks)
      : options_(options), layout_(layout), in_blocks_(in_blocks && !options.any_order) {}

  [[nodiscard]] const ComparisonOptions& options() const noexcept { return options_; }
  [[nodiscard]] const RunLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool enough_pairs() const {
    return static_cast<std::int64_t>(layout_.tested()) >= options_.min_pairs;
  }
  [[nodiscard]] Demand demand(double margin_ratio) const {
    return {options_.alpha, options_.equivalence_alpha, margin_ratio, 0, false};
  }
  /// `significant`: no chance; `large`: enough to matter.
  void decide(Outcome& outcome, OutcomeReason& reason, const Change& change, bool significant, bool large,
              const Series& series) const;
  /// Whether the pairs that were kept out of the test show it again; true without any.
  [[nodiscard]] bool confirmed(const Series& series) const;
  /// What a kernel or a copy must change by, ns of a step of that length.
  [[nodiscard]] double min_ns(double step_ns) const {
    return std::max(options_.kernel_ns, options_.kernel_step_share * step_ns);
  }

 private:
  const ComparisonOptions& options_;
  const RunLayout& layout_;
  bool in_blocks_;
};

/// Slower or faster.
[[nodiscard]] inline bool is_moved(Outcome outcome) {
  return outcome == Outcome::regressed || outcome == Outcome::improved;
}

}  // namespace ridgeline::comparison
