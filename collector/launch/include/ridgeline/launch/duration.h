// duration.h: lengths of time as people write them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::launch {

/// "250ms", "30s", "5m", "1h30m", "1.5h": numbers with a unit (ms, s, m, h), largest unit first. Failure:
/// usage (no number, no unit, zero, more than a year).
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest way to write it: "1h30m", "250ms".
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);

}  // namespace ridgeline::launch
