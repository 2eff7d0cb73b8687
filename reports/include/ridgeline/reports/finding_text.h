// finding_text.h: findings in words.
#pragma once

#include <string>

#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::reports {

/// One line: what, how often, how much in the worst case, what follows or helps. Names and messages of the
/// capture are in it as they are: escape it for where it goes.
[[nodiscard]] std::string finding_text(const analyzer::Finding& finding);

/// Of FindingCode::gpu_idle its share alone: "41.0 % of the step (32.6 % without what recording adds)".
[[nodiscard]] std::string idle_share_text(const analyzer::Finding& finding);

/// finding_text() of FindingCode::gpu_idle where the gaps themselves are at hand: what is known of the longest,
/// "65.961 ms, 67.6 % of the step: CPU code in thread main", is said in the place of its length alone. "": as
/// finding_text().
[[nodiscard]] std::string idle_finding_text(const analyzer::Finding& finding, const std::string& longest_gap);

}  // namespace ridgeline::reports
