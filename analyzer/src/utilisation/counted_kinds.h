// counted_kinds.h: values of launches that were not counted, from those of their kind that were (T2).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "launch_kinds.h"
#include "replay_values.h"

namespace ridgeline::analyzer {

class CountedKinds {
 public:
  /// Keeps references. `counted`: the steps in which launches were counted.
  CountedKinds(const Model& model, const StepAnalysis& analysis, const std::vector<StepIndex>& counted)
      : model_(model), analysis_(analysis), counted_(counted) {}

  /// Adds to what the launch's own counters say what those of its kind do, metric by metric from the nearest likeness
  /// in which it was counted. Nothing if the kind was not counted.
  void complete(LaunchIndex launch, const store::Device* device, ReplayValues& values);

 private:
  struct OfKind {
    LaunchKinds::Alike alike;
    std::optional<ReplayValues> values;  // once asked for; in a time: as if each took kUnitNs
  };
  void find_values(const store::Device* device, OfKind& of_kind) const;
  [[nodiscard]] TierRow row_of(LaunchIndex launch, bool in_a_time) const;

  const Model& model_;
  const StepAnalysis& analysis_;
  const std::vector<StepIndex>& counted_;
  std::optional<LaunchKinds> kinds_;  // once a launch needs them
  std::unordered_map<std::uint64_t, std::vector<OfKind>> found_;
};

}  // namespace ridgeline::analyzer
