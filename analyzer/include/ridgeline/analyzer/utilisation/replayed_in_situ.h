// replayed_in_situ.h: what the launches that were replayed for their counters did in the replay, beside what they did
// in the run: a replay is serialised, and whoever replays may hold clocks and flush caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// Launches of one kernel with one grid and block. Sums and means are over those that were replayed, and of each pair
/// over those of which both are known.
struct ReplayedKernel {
  store::Id kernel_id = 0;
  std::string kernel;  ///< demangled
  store::Dim3 grid, block;
  std::int64_t launches = 0;  ///< of the step
  std::int64_t replayed = 0;  ///< of those
  std::int64_t in_situ_ns = 0;
  double replayed_ns = 0;
  std::optional<double> sampled_dram_bytes;                   ///< T1
  std::optional<double> replayed_dram_bytes;                  ///< T2, of the launches that were sampled too
  std::optional<double> counted_dram_bytes;                   ///< T2, of all that were replayed
  std::optional<double> in_situ_clock_hz, replayed_clock_hz;  ///< of the SMs, mean over launches

  /// Time in the replay ÷ in the run − 1; empty without time in the run.
  [[nodiscard]] std::optional<double> time_difference() const;
  [[nodiscard]] std::optional<double> dram_difference() const;  ///< likewise of bytes
};

struct ReplayedInSitu {
  std::vector<ReplayedKernel> kernels;  ///< most time in the run first
  std::int64_t in_situ_ns = 0;
  double replayed_ns = 0;
  std::int64_t launches = 0;  ///< that were replayed
  std::int64_t step_launches = 0;
};

/// Of the launches with values of their own; those known by others of their kind are not compared.
[[nodiscard]] ReplayedInSitu replayed_in_situ(const Model& model, const UtilisationAnalysis& utilisation);

}  // namespace ridgeline::analyzer
