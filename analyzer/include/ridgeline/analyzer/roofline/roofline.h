// roofline.h: where each kernel stands under the roofs of its device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/utilisation/peaks.h"

namespace ridgeline::analyzer {

/// Where a kernel's operations come from.
enum class OperationSource {
  none,      ///< neither counted nor declared: the kernel has no arithmetic intensity
  counted,   ///< operations of the tensor pipe, by counters
  declared,  ///< FLOPs that the program declares for ranges that hold this kernel alone
};
[[nodiscard]] std::string_view to_string(OperationSource source);  // "none", "counted", "declared"

/// One row of a ranking under the roofs. Every row has a point; what is not known of it is empty.
struct RooflinePoint {
  std::size_t rank_row = 0;  ///< into Ranking::rows
  std::string key;           ///< RankRow::key
  KernelClass kernel_class = KernelClass::other;
  std::int64_t time_ns = 0;  ///< of all its launches
  double step_share = 0;     ///< time ÷ step
  OperationSource operations = OperationSource::none;
  std::optional<double>
      intensity_flop_per_byte;             ///< operations ÷ DRAM bytes, over the launches that have both
  std::optional<double> flops_per_s;       ///< over the same launches
  std::optional<double> dram_bytes_per_s;  ///< over the launches with DRAM bytes
  std::optional<Quantity> quantity;  ///< the peak its operations are measured against; empty without any
};

/// The roofs of one device and what stands under them.
struct Roofline {
  store::Id device_id = 0;
  std::optional<Peak> dram;            ///< empty: not known
  std::vector<Peak> compute;           ///< of the precisions that the launches used, highest first
  std::vector<RooflinePoint> points;   ///< one for each row of the ranking, in its order
  std::int64_t without_intensity = 0;  ///< points that cannot be placed by operations
};

/// Threads: pure. `ranking` is of the same utilisation.
[[nodiscard]] Roofline make_roofline(const Model& model, const UtilisationAnalysis& utilisation,
                                     const Ranking& ranking, store::Id device_id,
                                     PeakSource compute = PeakSource::spec);

}  // namespace ridgeline::analyzer
