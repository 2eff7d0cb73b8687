// roofline.h: where each kernel is under the roofs of its device, and the step as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/roofline/roof_times.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::analyzer {

/// Where a kernel's operations come from, best first after none.
enum class OperationSource {
  none,     ///< not known: the kernel has no arithmetic intensity
  counted,  ///< operations of the tensor pipe by counters, with those of instructions where they were counted
  instructions,  ///< floating-point instructions that were counted, and no tensor operation
  declared,      ///< FLOPs that the program declares for ranges that hold this kernel alone
  formula,       ///< 2·m·n·k of a product whose size the program declares
};
/// "none", "counted", "instructions", "declared", "formula".
[[nodiscard]] std::string_view to_string(OperationSource source);

/// Operations of the same launches by one source.
struct SourcedOperations {
  OperationSource source = OperationSource::none;
  double operations = 0;
};

/// One row of a ranking under the roofs, or the step. Every row has a point; what is not known of it is empty.
struct RooflinePoint {
  std::size_t ranking_row = 0;  ///< into Ranking::rows
  std::string key;              ///< RankingRow::key
  KernelClass kernel_class = KernelClass::other;
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;  ///< of all its launches
  double step_share = 0;     ///< time ÷ step
  OperationSource operations = OperationSource::none;
  std::optional<double>
      intensity_flop_per_byte;             ///< operations ÷ DRAM bytes, over the launches that have both
  std::optional<double> l2_intensity;      ///< likewise of the traffic between L1 and L2
  std::optional<double> l1_intensity;      ///< likewise of the L1 caches'
  std::optional<double> flops_per_s;       ///< over the same launches
  std::optional<double> dram_bytes_per_s;  ///< over the launches with DRAM bytes
  std::optional<double> read_share;  ///< DRAM bytes read of those moved, over the launches that count both
  std::optional<Quantity> quantity;  ///< the peak its operations are measured against; empty without any
  std::vector<SourcedOperations> known_operations;  ///< by every source that tells, of the launches above

  /// The time view, over the launches whose bytes and pipes were measured; empty without any.
  std::optional<double> sol_ns;     ///< Σ of the longest of each launch's times at its roofs: speed of light
  double covered_ns = 0;            ///< those launches' time
  double headroom_ns = 0;           ///< Σ of what they take above it
  std::optional<double> filled_ns;  ///< likewise where small grids use as many SMs as they have blocks
  std::optional<Roof> bound;        ///< that most of sol_ns is of
  std::vector<RoofTime> roofs;      ///< Σ at each roof; in the order of Roof
};

/// The roofs of one device and what is under them.
struct Roofline {
  store::Id device_id = 0;
  PeakSource source = PeakSource::spec;  ///< what roofs are by default
  std::optional<Peak> dram;              ///< empty: not known
  std::optional<Peak> l2;
  std::vector<Peak> compute;           ///< of the precisions that the launches used, highest first
  std::vector<RooflinePoint> points;   ///< one for each row of the ranking, in its order
  RooflinePoint step;                  ///< all rows: Σ work ÷ Σ time
  std::int64_t step_ns = 0;            ///< of the scope
  std::int64_t without_intensity = 0;  ///< points that cannot be placed by operations
  double launch_floor_ns = 0;
  Findings findings;  ///< sources of operations that differ, kernels above a roof
};

/// Threads: pure. `ranking` is of the same utilisation. Roofs are those of rate_source() and dram_source().
[[nodiscard]] Roofline make_roofline(const Model& model, const UtilisationAnalysis& utilisation,
                                     const Ranking& ranking, store::Id device_id,
                                     const PeakPolicy& policy = {});

}  // namespace ridgeline::analyzer
