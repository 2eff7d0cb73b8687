// tier_values.h: the values that the steps of one phase hold for a launch of the representative step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "by_name.h"
#include "model/metric_names.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// What is within so many standard errors of the value, with a probability of 95 %.
inline constexpr double kStandardErrors95 = 2;

/// The launch of one step that stands at the same place, and its finite values at the tier.
struct TierRow {
  store::Launch launch;
  ByName<MetricValue> values;
  bool same_sequence = true;  // its step launches what the representative one does

  [[nodiscard]] std::optional<double> value(std::string_view name) const;
  [[nodiscard]] const MetricValue* find(std::string_view name) const;
  [[nodiscard]] bool concurrent() const;  // a value is of several kernels
  /// ns: the counter's, else the launch's own; empty without either.
  [[nodiscard]] std::optional<double> duration_ns() const;
  /// Read + written, as far as counted; empty if neither pair nor sum is there.
  [[nodiscard]] std::optional<double> dram_bytes() const;
  /// Read of read + written; empty unless both were counted.
  [[nodiscard]] std::optional<double> dram_read_share() const;
};

/// A value for each step that has one, by metric.
using ValuesByMetric = ByName<std::vector<double>>;
[[nodiscard]] std::optional<Measured> mean_of(const ValuesByMetric& values, std::string_view metric,
                                              Tier tier);
/// The metric as the entry says it is counted; empty too where it is worked out of others.
[[nodiscard]] std::optional<Measured> counted(const ValuesByMetric& values, const MetricEntry& entry);

struct TierRows {
  std::vector<TierRow> rows;  // a row for each step with values for the launch
  int mismatched = 0;         // steps with another kernel or grid at this place
  Absence mismatch;           // the first of them
};

/// The steps of one phase, joined launch by launch: at the same place where they launch what the representative does,
/// else by alignment.h.
class TierSteps {
 public:
  /// `phase` is that of the steps, `tier` that of the values. Steps not ok are left out and remembered.
  TierSteps(const Model& model, const StepAnalysis& steps, Phase phase, Tier tier);

  [[nodiscard]] const std::vector<StepIndex>& steps() const { return steps_; }
  [[nodiscard]] int seen() const { return seen_; }  // ok or not
  /// Of that cause: what the first is that is not ok, and why.
  [[nodiscard]] Absence unusable(AbsenceCause cause) const;
  [[nodiscard]] TierRows rows(const store::Launch& launch) const;
  /// The values of the launch itself, for one that is in no step.
  [[nodiscard]] TierRows own(const store::Launch& launch) const;

 private:
  [[nodiscard]] TierRow values_of(const store::Launch& launch) const;
  struct Places {
    std::unordered_map<std::int64_t, LaunchIndex> by_ordinal;  // in the representative step
    bool other_sequence = true;
    bool only_kinds =
        false;  // the steps have so little in common that no launch of one is a launch of the other
  };
  [[nodiscard]] Places places_in(const StepSummary& step, const RepresentativeStep& representative) const;

  template <typename Wanted>
  void add_steps(const StepAnalysis& steps, Wanted&& wanted);

  const Model& model_;
  Phase phase_;
  Tier tier_;
  std::vector<StepIndex> steps_;
  std::vector<Places> places_;
  std::size_t joined_ = 0;  // of them, the first ones: where they have values, the others are not asked
  int seen_ = 0;
  const StepSummary* unusable_ = nullptr;  // the first that is not ok
};

[[nodiscard]] std::unordered_map<std::int64_t, LaunchIndex> by_ordinal(
    const Model& model, const SharedVector<LaunchIndex>& launches);
[[nodiscard]] inline bool same_launch(const store::Launch& a, const store::Launch& b) {
  return a.kernel_id == b.kernel_id && a.grid == b.grid;
}

/// One step's estimate with its own error.
struct Estimate {
  double value = 0;
  std::optional<double> error;
  std::int64_t samples = 0;
  double duration_ns = 0;  // of the launch in that step
  /// Of a kind: those that have the same count as one, when it says how far one more may be.
  std::uint64_t observation = 0;
};
/// Mean over steps of estimates that carry errors. The error is the larger of what the steps' spread and what
/// their own errors say. Estimates that are all the same to nine digits, or all give the same amount (value ×
/// duration), were made once, from samples pooled over the steps: their error does not shrink with the number
/// of steps.
[[nodiscard]] std::optional<Measured> mean_of_estimates(const std::vector<Estimate>& estimates, Tier tier);

}  // namespace ridgeline::analyzer
