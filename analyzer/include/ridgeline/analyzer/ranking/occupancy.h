// occupancy.h: how many blocks of a launch one SM can hold at once, and what keeps it from holding more.
//
// The rules are those of cuda_occupancy.h of the CUDA toolkit: registers are given to warps, in units of 256
// a warp, out of the registers of the partition that the warp is on; shared memory is given to blocks. Shared
// memory is what the SM can have at most, whatever a program asked to be left to L1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// What keeps an SM from holding more blocks of a launch.
enum class OccupancyLimiter : std::uint8_t { warps, blocks, registers, shared_memory };

struct Occupancy {
  std::int64_t blocks = 0;                             ///< that an SM holds at once
  std::int64_t warps = 0;                              ///< of these blocks
  std::int64_t max_warps = 0;                          ///< that an SM can hold
  OccupancyLimiter limiter = OccupancyLimiter::warps;  ///< of several that limit alike, the first enumerator
  std::uint8_t limiter_bits = 1;  ///< all that allow no block more, by the places of the enumerators
  /// Those, in the order of the enumerators; never empty. Who relieves one of several gains nothing.
  [[nodiscard]] std::vector<OccupancyLimiter> limiters() const;
  [[nodiscard]] double ratio() const { return static_cast<double>(warps) / static_cast<double>(max_warps); }
};

/// From block, registers and shared memory of a launch and the limits of a compute capability ("9.0"). Any values are
/// safe. Empty: the capability is not known here, or no block of this kind can be launched on it.
[[nodiscard]] std::optional<Occupancy> theoretical_occupancy(const store::Launch& launch,
                                                             std::string_view compute_capability);

}  // namespace ridgeline::analyzer

namespace ridgeline {

template <>
struct Vocabulary<analyzer::OccupancyLimiter> {
  using Limiter = analyzer::OccupancyLimiter;
  static constexpr std::string_view kName = "limiter of the occupancy";
  static constexpr Word<Limiter> kWords[] = {{Limiter::warps, "warps"},
                                             {Limiter::blocks, "blocks"},
                                             {Limiter::registers, "registers"},
                                             {Limiter::shared_memory, "shared memory"}};
};

}  // namespace ridgeline
