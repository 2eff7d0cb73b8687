// why_text.h: why a kernel is as slow as it is, in one sentence.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/ranking/kernel_hold.h"
#include "ridgeline/analyzer/ranking/ranking.h"

namespace ridgeline::reports {

/// What bounds the kernel, with every limit that holds it, ties included: of the roofs, and of a latency-bound kernel
/// of the warps that an SM has room for. What was not measured is said to be so. `hold` is of `row`, which is of
/// `ranking`.
[[nodiscard]] std::string why_sentence(const analyzer::Ranking& ranking, const analyzer::RankingRow& row,
                                       const analyzer::KernelHold& hold);

/// All that limits the occupancy: "registers", "block slots, registers and shared memory alike".
[[nodiscard]] std::string limiters_words(const analyzer::Occupancy& occupancy);

/// "a", "a and b", "a, b and c".
[[nodiscard]] std::string listed_words(const std::vector<std::string>& words);

}  // namespace ridgeline::reports
