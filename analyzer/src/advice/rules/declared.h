// declared.h: kernels that move more than the program declares.
#pragma once

#include <optional>

#include "advice/rule.h"

namespace ridgeline::analyzer {

inline constexpr double kMinExcess = 1.25;  // measured ÷ declared bytes
inline constexpr double kFitsL2 = 0.7;      // of the L2 up to which sets are served by it
inline constexpr double kL2Knee = 0.8;      // of its size

struct Excess {
  double ratio = 1;           ///< measured ÷ declared DRAM bytes
  double declared_bytes = 0;  ///< of a range
  double excess_bytes = 0;    ///< of all
  bool fits_l2 = false;
  bool bound_by_memory = false;
};

/// Of a row whose launches have their ranges to themselves; empty: not declared, or shared with other kernels.
[[nodiscard]] std::optional<Excess> excess_of(const RuleInput& in, const RankingRow& row);
/// The row's launches take as much less as they move too much.
[[nodiscard]] Proposal excess_proposal(const RuleInput& in, const RankingRow& row, const Excess& excess);

}  // namespace ridgeline::analyzer
