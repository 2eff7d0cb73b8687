// rates.h: operations a second of a row's launches, and the clock they ran at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// Operations of one data type, by the peak of that type.
struct TypedRate {
  Quantity quantity = Quantity::bf16_flops_per_s;
  double ops_per_s = 0;
};

/// What the tensor pipe did in a launch, by samples (T1): busy share of its cycles × operations a cycle of its type ×
/// SMs × SM clock. Empty unless the launch is a GEMM or attention that ran alone while it was sampled and whose
/// kernel's name says the type and that its instructions are the device's own: those of an older architecture do
/// fewer operations in a busy cycle.
[[nodiscard]] std::optional<TypedRate> sampled_ops_rate(const store::Device& device, std::string_view kernel,
                                                        KernelClass kernel_class, const LaunchValues& values,
                                                        std::int64_t time_ns);

class RateSums {
 public:
  explicit RateSums(const Model& model) : model_(model) {}

  /// Launches of one site that took `time_ns` together.
  void add(const LaunchValues& values, std::int64_t time_ns, const store::Launch& site);
  void finish(const UtilisationAnalysis& utilisation, const PeakPolicy& policy, RankingRow& row) const;

 private:
  struct Operations {
    double count = 0;
    double time_ns = 0;
    std::map<std::pair<store::Id, Quantity>, double> types;  // by device
    void add(store::Id device_id, Quantity quantity, double operations, double in_ns);
  };

  const Model& model_;
  std::pair<double, double> in_situ_, replay_;  // Σ time × Hz, Σ time
  Operations counted_, sampled_;
};

}  // namespace ridgeline::analyzer
