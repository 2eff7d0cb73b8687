/// power_blocks.h: what a delay in every step of blocks of seconds did (`record --intervene-blocks`), beside single
/// steps. A power limit takes seconds to answer: single steps show what the step's structure makes of a delay, blocks
/// what is left of it once the clock has followed. Method and limits: docs/metrics.md, "Interventions".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/whatif/interventions.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// Blocks with the delay, or those without.
struct BlockSide {
  std::int64_t blocks = 0;
  std::int64_t steps = 0;                   ///< of them, once they had settled
  double step_ns = 0;                       ///< mean over the blocks of their mean step
  std::optional<double> clock_hz, power_w;  ///< mean over their blocks of the median sample
  std::optional<double> limited_ratio;      ///< of the samples, those in which the power limit holds
};

enum class BlockVerdict : std::uint8_t {
  known,
  too_few_blocks,  ///< fewer than kMinBlocks with the delay, or without
  too_uncertain,   ///< the interval of what is left is wider than kMaxLeftInterval
  no_slope,        ///< single steps do not say what the delay does to the step, or it has slack
};
inline constexpr std::int64_t kMinBlocks = 3;
inline constexpr double kMaxLeftInterval = 1.0;
/// Of single steps. A launch below this is not on the critical path, and a quotient of its slope says nothing.
inline constexpr double kMinSingleSlope = 0.3;

struct PowerBlocks {
  store::Id process_id = 0;
  std::int64_t target = 0;
  store::Id kernel_id = 0;
  std::int64_t ordinal = 0;   ///< in the step
  std::int64_t level_ns = 0;  ///< asked for
  double delay_ns = 0;        ///< mean of the settled steps with the delay, less a sham
  double block_ns = 0;        ///< median length of a block
  double settling_ns = 0;     ///< at the start of each, that is left out
  BlockSide delayed, alone;
  std::optional<InterventionEstimate> slope;  ///< of the step against the delay, over the blocks
  std::optional<InterventionEstimate> left;   ///< that, of the slope of single steps
  BlockVerdict verdict = BlockVerdict::too_few_blocks;

  /// Of the samples in the blocks, those in which the power limit holds: the mean of both sides; empty: not known.
  [[nodiscard]] std::optional<double> limited_ratio() const;
};

/// Of the first process that has blocks. `singles`: what analyse_interventions() makes of the same recording; `clocks`
/// by time. Empty: no blocks were recorded.
[[nodiscard]] std::optional<PowerBlocks> analyse_power_blocks(const std::vector<store::Intervention>& delays,
                                                              const std::vector<store::Step>& steps,
                                                              const std::vector<store::ClockSample>& clocks,
                                                              const InterventionAnalysis& singles);

}  // namespace ridgeline::analyzer
