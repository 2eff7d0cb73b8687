// roofs.h: the peaks that launches are measured against, each looked up once, and the clocks they may depend on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/values/absence.h"
#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::analyzer {

class Roofs {
 public:
  /// Keeps references to all.
  Roofs(const Model& model, const StepAnalysis& steps, const PeakPolicy& policy)
      : model_(model), steps_(steps), policy_(policy) {}

  /// Null: the capture has none.
  [[nodiscard]] const Peak* dram(store::Id device_id) {
    return at(device_id, Quantity::dram_bytes_per_s, policy_.dram);
  }
  [[nodiscard]] const Peak* l2(store::Id device_id) {
    return at(device_id, Quantity::l2_bytes_per_s, PeakSource::counter);
  }
  [[nodiscard]] const Peak* operations(store::Id device_id, Quantity quantity) {
    return at(device_id, quantity, policy_.compute);
  }
  /// Why there is none.
  [[nodiscard]] Absence no_dram(store::Id device_id) const {
    return absence(device_id, Quantity::dram_bytes_per_s);
  }
  [[nodiscard]] Absence absence(store::Id device_id, Quantity quantity) const;

  /// Median SM clock while the timeline's steps ran.
  [[nodiscard]] std::optional<double> timeline_clock(store::Id device_id);

  /// Those that were asked for, and a finding for each that is not of the source asked for.
  [[nodiscard]] std::vector<Peak> take_used() { return std::move(used_); }
  [[nodiscard]] Findings take_findings() { return std::move(findings_); }

 private:
  const Peak* at(store::Id device_id, Quantity quantity, PeakSource source);

  const Model& model_;
  const StepAnalysis& steps_;
  const PeakPolicy& policy_;
  std::map<std::pair<store::Id, Quantity>, std::optional<Peak>> known_;
  std::map<store::Id, std::optional<double>> clocks_;
  std::vector<Peak> used_;
  Findings findings_;
};

}  // namespace ridgeline::analyzer
