// modes.h: kernels that run in one of two modes, anew in each run: an autotuner's choice, how memory lies,
// which SMs they get.
//
// With few runs, chance puts all of A into one mode and all of B into the other: of three pairs once in 32 kernels. One
// kernel alone does not show that. Others do: a kernel whose runs form two clusters, with runs of one side in
// both, is seen to be in two modes, and how many are seen says how many to expect that chance has sorted by
// side.
#pragma once

#include <cstdint>
#include <vector>

#include "series.h"

namespace ridgeline::comparison {

struct KernelModes {
  std::vector<bool> mixed;  ///< by kernel: two clusters, and runs of one side are in both
  std::int64_t seen = 0;    ///< how many
  double widest = 0;        ///< largest distance between the heaps of one of them, ln
  double expected = 0;      ///< kernels whose modes chance has sorted by side
};

/// `kernels`: usable, as measured; all of as many runs per side. `least`: clusters nearer than that do not matter, ln.
[[nodiscard]] KernelModes find_modes(const std::vector<const Series*>& kernels, double least);

/// Whether a difference of that size (ln) may be one of modes that chance has sorted by side.
[[nodiscard]] bool may_be_modes(const KernelModes& modes, double difference);

}  // namespace ridgeline::comparison
