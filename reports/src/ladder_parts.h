// ladder_parts.h: what several renderings of a ladder share.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/comparison/ladder.h"

namespace ridgeline::reports {

/// Of the time before: 0.2 where a fifth of it is saved.
[[nodiscard]] double ladder_saved_ratio(double log_ratio);
/// "faster", "no effect", "open", "same program", "not run" …
[[nodiscard]] std::string ladder_verdict_word(const comparison::LadderEstimate& estimate);
/// "+12.3 %" of the time before; more decimals for less.
[[nodiscard]] std::string ladder_percent(double ratio);
/// What the record is: name, device, where times come from, rounds, why it ended.
[[nodiscard]] std::string ladder_headline(const comparison::LadderRecord& record);

}  // namespace ridgeline::reports
