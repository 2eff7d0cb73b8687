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
#include "ridgeline/analyzer/values/measured_roofs.h"

namespace ridgeline::analyzer {

class Roofs {
 public:
  /// Keeps references to all.
  Roofs(const Model& model, const StepAnalysis& steps, const PeakPolicy& policy)
      : model_(model), steps_(steps), policy_(policy) {}

  /// Null: the capture has none. Of measured mixes of reads and writes the fastest.
  [[nodiscard]] const Peak* dram(store::Id device_id) {
    return at(device_id, Quantity::dram_bytes_per_s, dram_source(model_, device_id, policy_),
              policy_.dram.has_value());
  }
  /// Bytes a second that `roof`, which is dram() of the device, has for traffic with that share of reads.
  [[nodiscard]] double dram_bytes_per_s(store::Id device_id, const Peak& roof,
                                        std::optional<double> read_share);
  /// The measured one beside a measured DRAM roof, else the counters'.
  [[nodiscard]] const Peak* l2(store::Id device_id);
  [[nodiscard]] const Peak* operations(store::Id device_id, Quantity quantity) {
    return at(device_id, quantity, compute_source(policy_), policy_.compute.has_value());
  }
  /// Null unless the policy asks for measured roofs and this one was measured.
  [[nodiscard]] const Peak* measured_operations(store::Id device_id, Quantity quantity);
  [[nodiscard]] const store::Device* device(store::Id device_id) const { return model_.device(device_id); }
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
  /// Without it being `asked` for by name a stand-in is as good.
  const Peak* at(store::Id device_id, Quantity quantity, PeakSource source, bool asked);
  const MeasuredRoofs& measured(store::Id device_id);

  const Model& model_;
  const StepAnalysis& steps_;
  const PeakPolicy& policy_;
  std::map<std::pair<store::Id, Quantity>, std::optional<Peak>> known_;
  std::map<store::Id, MeasuredRoofs> measured_;
  std::map<store::Id, std::optional<double>> clocks_;
  std::vector<Peak> used_;
  Findings findings_;
};

}  // namespace ridgeline::analyzer
