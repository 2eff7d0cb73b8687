// ranking.h: the kernels of one step, worst weighted impact first.
//
// Impact at target X: over the measured launches, Σ t · (1 − u / X) where u < X. Launch-bound, roofless and
// unmeasured launches add nothing to it; their time is reported in columns of its own. This is kernel time; what of it
// makes the step shorter is simulated (reach.h), and where that is known it sets the order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/execution/exposure.h"
#include "ridgeline/analyzer/ranking/power.h"
#include "ridgeline/analyzer/ranking/ranking_keys.h"
#include "ridgeline/analyzer/ranking/reach.h"
#include "ridgeline/analyzer/utilisation/bound.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/values/scope_kind.h"
#include "ridgeline/analyzer/work/declared_work.h"

namespace ridgeline::analyzer {

struct RankingOptions {
  RankingKeys key = RankingKey::kernel;
  double target = 0.70;
  double stretch = 0.85;
  BoundOptions bounds;
  PeakPolicy peaks;  // rate_source() of it is what operations a second are held against
};

struct RankingRow {
  std::string key;  // what RankingOptions::key groups by, for people: "name", "name #1a2b3c4d [132,1,1]"
  std::vector<std::string> keys;  // one of each of RankingOptions::key
  std::string kernel;             // demangled name; of the longest launch if the row mixes kernels
  std::string normalised_name;    // likewise
  KernelClass kernel_class = KernelClass::other;  // likewise
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;         // plain sum of T0 durations
  double step_share = 0;            // time_ns ÷ step time
  std::optional<Measured> dram;     // time-weighted mean over launches that have it
  std::optional<Measured> compute;  // likewise
  /// What the tiers say, each over the launches that have its value; `dram` and `compute` are the shown ones.
  std::optional<Measured> dram_t1, dram_t2;
  std::optional<Measured> compute_t1, compute_t2;
  std::optional<Measured> dram_difference;  // T1 − T2, over the launches that have both
  std::optional<Measured> tensor_t1, tensor_t2;
  std::optional<Measured> tensor_difference;   // likewise
  MetricValues metrics;                        // all others, added up as their entries say
  std::optional<Measured> cold_dram;           // with cold caches (T3), over the time it took then
  std::optional<double> cold_time_ns;          // of the launches measured cold
  std::optional<double> cold_in_situ_time_ns;  // T0 of the same launches
  std::optional<double> cold_dram_bytes;
  std::optional<double> cold_in_situ_dram_bytes;  // of the same launches, as shown
  std::optional<double>
      nearest_roof_ratio;            // time-weighted mean of nearest_roof_ratio over measured launches
  std::optional<Roof> nearest;       // of the larger share of that time: DRAM, or the busiest pipe
  std::optional<Roof> busiest_pipe;  // of the larger share of the time
  KernelBound bound = KernelBound::unmeasured;  // of the largest share of the time
  std::optional<Roof> bound_roof;  // that bounds most of that time; empty unless memory or compute
  RoofRatios roofs;                // time-weighted means over the launches that have one
  std::vector<Roof>
      near_roofs;  // beside the nearest: within BoundOptions::tie_ratio of it or above, nearest first
  double saved_target_ns = 0;  // impact at RankingOptions::target
  double saved_stretch_ns = 0;
  /// Of these, savings of latency-bound launches: potential ones, for no roof says what holds them.
  double saved_target_latency_ns = 0;
  double saved_stretch_latency_ns = 0;
  /// The savings with each launch counted by its share of the time it ran in: what is exposed.
  double saved_target_exposed_ns = 0;
  double saved_stretch_exposed_ns = 0;
  double saved_target_share = 0;  // ÷ step time
  double saved_stretch_share = 0;
  std::optional<double> saved_target_error_ns;  // from the errors of the utilisations; empty: unknown
  /// What the step is shorter by if this row alone reached its goal; empty: not simulated. Rows add up to less or to
  /// more than all of them do: StepReach::target_ns.
  std::optional<double> reached_target_ns;
  std::optional<double> reached_stretch_ns;
  std::optional<double> dram_bytes;  // of all calls with a value
  std::optional<double> tensor_ops;
  std::optional<Quantity> tensor_quantity;  // the peak of the type most of them are of; empty without any
  /// Over the launches that have a count; in a row without one over those whose rate samples give (sampled_ops_rate()).
  std::optional<double> tensor_ops_per_s;
  TierSet tensor_ops_tier;                  // which of the two: T2, T1
  std::optional<double> tensor_spec_ratio;  // that ÷ the peak of its type (RankingOptions::rate)
  std::optional<double> sm_clock_hz;        // while they ran, by T1; without samples in replay, by T2
  TierSet clock_tier;                       // which of the two
  std::optional<double> replay_clock_hz;    // T2
  std::string clock_limit;      // what held the clock below the device's highest; analyze() fills it in
  std::int64_t t1_time_ns = 0;  // T0 time of the launches with a DRAM utilisation by T1
  std::int64_t t2_time_ns = 0;  // … by T2
  std::int64_t t1_concurrent_time_ns = 0;  // of t1_time_ns: its values are of several kernels at once
  std::int64_t measured_time_ns = 0;       // these four add up to time_ns
  std::int64_t too_short_time_ns = 0;
  std::int64_t no_roof_time_ns = 0;
  std::int64_t unmeasured_time_ns = 0;
  std::int64_t measured_calls = 0;  // these four add up to calls
  std::int64_t too_short_calls = 0;
  std::int64_t no_roof_calls = 0;
  std::int64_t unmeasured_calls = 0;
  MissingReason missing = MissingReason::none;  // of the unmeasured launches: that of the most time
  std::vector<Absence> why;                     // likewise
  std::optional<double> replay_disagreement;  // Σ T2 duration ÷ Σ T0 duration − 1, over replayed launches
  TierSet tier;                               // behind the utilisations; T0: there is only time
  SharedVector<std::uint32_t> launches;       // into UtilisationAnalysis::launches
  /// From the launches' configurations, means weighted by time; describe_shapes() fills in all of these.
  std::optional<double> waves;  // blocks ÷ what fits on the device at once
  std::optional<double>
      wave_waste_ratio;  // of the last wave, places without a block; below one wave: idle SMs
  std::optional<double> theoretical_occupancy_ratio;
  /// Of a product's kernel, if the row is of one: what its name says, and what its tiles compute beyond the result.
  std::string tile;                           // "128x256x64"; "" unknown
  Precision name_precision = Precision::any;  // any: unknown
  std::optional<double> tile_waste_ratio;
  std::optional<std::int64_t> alignment;  // elements that a load takes, 1 to 16; empty: the name does not say
  /// Clock and power; add_power() fills them in. What the clock below the highest costs, by what bounds the launches
  /// and by how their time followed the clock; how far below it was; joules, the device's own watts included.
  std::optional<double> clock_cost_ns, clock_loss_ratio, energy_j;
  /// The declaring ranges that the launches are in, all of their launches included; analyze() fills it in.
  std::optional<WorkSum> work;
  /// Of saved_target_latency_ns, that of launches whose pipes were sampled and not counted: samples have few of them.
  double saved_target_sampled_ns = 0;
};

struct RankingTotals {
  std::int64_t step_ns = 0;
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;  // Σ rows; with overlapping streams above the busy time
  double saved_target_ns = 0;
  double saved_stretch_ns = 0;
  double saved_target_latency_ns = 0;  // of latency-bound launches: potential
  double saved_stretch_latency_ns = 0;
  double saved_target_share = 0;  // "up to N % of the step"; at most 1
  double saved_stretch_share = 0;
  /// The same with each launch counted only by its share of the time it ran in (1/n beside n−1 others): what
  /// is left when streams overlap. Equal to the above without overlap.
  double saved_target_exposed_ns = 0;
  double saved_stretch_exposed_ns = 0;
  std::int64_t measured_time_ns = 0;
  std::int64_t too_short_time_ns = 0;
  std::int64_t no_roof_time_ns = 0;
  std::int64_t unmeasured_time_ns = 0;
  std::int64_t measured_calls = 0;
  std::int64_t too_short_calls = 0;
  std::int64_t no_roof_calls = 0;
  std::int64_t unmeasured_calls = 0;
  BoundSplit bounds;                // time_ns by what bounds the launches
  double time_share_at_target = 0;  // share of kernel time in measured launches with u ≥ target
  double time_share_at_stretch = 0;
  std::optional<WorkSum> work;         // of all declaring ranges; analyze() fills it in
  double saved_target_sampled_ns = 0;  // of saved_target_latency_ns: RankingRow::saved_target_sampled_ns
};

struct Ranking {
  RankingOptions options;
  ScopeKind scope = ScopeKind::step;  ///< what the shares and savings are of
  /// By reached_target_ns in steps of ReachOptions::resolution_ns, then saved_target_ns, then time_ns, descending, then
  /// key; without a simulation from saved_target_ns on.
  std::vector<RankingRow> rows;
  RankingTotals totals;
  std::optional<StepReach> reach;  // a session fills it in
  StepPower power;                 // likewise
};

/// `exposure` is of the time that the utilisation's launches are looked at in.
[[nodiscard]] Ranking rank_kernels(const Model& model, const StepAnalysis& steps,
                                   const UtilisationAnalysis& utilisation, const Exposure& exposure,
                                   const RankingOptions& options = {});

/// Rows by time_ns, descending; of the same time in the ranking's order.
[[nodiscard]] std::vector<std::size_t> rows_by_time(const Ranking& ranking);

}  // namespace ridgeline::analyzer
