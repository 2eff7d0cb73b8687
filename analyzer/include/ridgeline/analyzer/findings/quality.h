// quality.h: how far the figures of a capture can be trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::analyzer {

struct QualityOptions {
  double disagreement_ratio = 0.10;               // replay against timeline duration, of a kernel …
  std::int64_t disagreement_floor_ns = 20000;     // … whose launches last at least this on average
  double tier_difference_ratio = 0.03;            // T1 against T2 utilisation, likewise of a kernel …
  std::int64_t tier_difference_floor_ns = 20000;  // … whose launches last at least this on average
  double coverage_warning = 0.90;      // kernel time with both utilisations below this is a warning
  double clock_spread_warning = 0.05;  // (max − min) ÷ median SM clock in the timeline steps
};

/// Clock samples that fall into the timeline steps (all samples if none do).
struct ClockSummary {
  store::Id device_id = 0;
  std::int64_t samples = 0;
  std::optional<double> sm_clock_min_hz, sm_clock_median_hz, sm_clock_max_hz;
  std::optional<double> memory_clock_median_hz;
  std::optional<double> power_median_w, power_max_w;
  std::optional<int> temperature_max_c;
  std::vector<std::string> throttle_reasons;  // seen in at least one sample, in words; idle is not one
  double throttled_share = 0;                 // of samples with a reason
};

struct TierSummary {
  store::Id process_id = 0;
  Tier tier = Tier::t0;
  TierOutcome status = TierOutcome::ok;
  Reason reason;
};

struct Disagreement {
  std::string kernel;
  std::int64_t calls = 0;
  double timeline_ns = 0;  // mean of a launch, T0
  double replay_ns = 0;    // mean of a launch, T2
  double ratio = 0;        // replay ÷ timeline − 1
};

/// What a tier covers of the representative step.
struct TierShare {
  Tier tier = Tier::t1;
  double dram_coverage = 0;     // share of kernel time with a DRAM utilisation by it; T1: and with its error
  double compute_coverage = 0;  // … with a compute utilisation
  std::optional<double> dram_mean_error;  // standard error of the DRAM utilisation, weighted by time
  std::int64_t launches = 0;              // with a DRAM utilisation by it
  double concurrent_share = 0;  // T1: share of kernel time whose values are of several kernels at once
  double kind_share = 0;        // share of kernel time whose DRAM utilisation is that of launches of the kind
};

/// The two tiers' DRAM or tensor-pipe utilisation of one kernel, over the launches that have both and ran alone.
struct TierComparison {
  std::string kernel;
  std::int64_t calls = 0;
  double mean_ns = 0;    // of a launch, T0
  Measured t1, t2;       // 0..1
  Measured difference;   // T1 − T2
  bool flagged = false;  // beyond QualityOptions::tier_difference_ratio
};

struct Quality {
  ScopeKind scope = ScopeKind::step;  // what "step" means below
  std::int64_t launches_seen = 0;     // over all processes; graphs aside
  std::int64_t kernel_records = 0;
  std::int64_t graph_kernel_records = 0;
  std::int64_t dropped_records = 0;  // by the driver and the spool
  std::int64_t zero_timestamps = 0;
  bool complete = false;  // seen = records, nothing dropped, truncated or without time; false if unknown
  bool completeness_known = false;
  std::vector<TierSummary> tiers;
  double dram_coverage = 0;     // share of the step's kernel time with DRAM bytes
  double compute_coverage = 0;  // … with a pipe utilisation
  double coverage = 0;          // … with both
  double explained_share = 0;   // share of launches with both or a stated reason; 1 by construction
  std::int64_t mismatched_steps = 0;
  std::vector<Disagreement> disagreements;  // flagged ones
  std::vector<TierShare> reach;             // of the tiers that were recorded
  std::vector<TierComparison>
      comparisons;  // DRAM, of kernels at or above the floor, largest difference first
  std::vector<TierComparison> tensor_comparisons;  // the tensor pipe, likewise
  double comparison_limit = 0;                     // QualityOptions::tier_difference_ratio
  std::int64_t comparison_floor_ns = 0;            // QualityOptions::tier_difference_floor_ns
  std::vector<ClockSummary> clocks;
  /// Everything above that a reader must know, with what steps and utilisation found; errors first.
  Findings findings;
};

/// NVML's reasons for a lower clock (store::ClockSample), in words; idle and clocks set by the user are none.
[[nodiscard]] std::vector<std::string> throttle_words(std::int64_t reasons);

[[nodiscard]] Quality assess_quality(const Model& model, const StepAnalysis& steps,
                                     const UtilisationAnalysis& utilisation,
                                     const QualityOptions& options = {});

}  // namespace ridgeline::analyzer
