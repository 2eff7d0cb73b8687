// format.h: numbers as people read them. The unit is in the column's header, not in the cell, except in
// the *_text functions, which are for sentences. Nothing here depends on the locale. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ridgeline::reports {

[[nodiscard]] std::string milliseconds(double ns);                  // "12.346" (3 decimals)
[[nodiscard]] std::string microseconds(double ns);                  // "12.3" (1 decimal)
[[nodiscard]] std::string percent(double ratio, int decimals = 1);  // 0.7 -> "70.0"
[[nodiscard]] std::string fixed(double value, int decimals);  // never "-0.0"; NaN and infinities -> "–"
[[nodiscard]] std::string integer(std::int64_t value);        // "1,234,567"

[[nodiscard]] std::string time_text(double ns);                 // "812 ns", "12.3 µs", "57.812 ms", "3.21 s"
[[nodiscard]] std::string bytes_text(double bytes);             // "1.23 GB" (powers of 1000)
[[nodiscard]] std::string bandwidth_text(double bytes_per_s);   // "4.80 TB/s"
[[nodiscard]] std::string operations_text(double flops_per_s);  // "989.4 TFLOP/s"
[[nodiscard]] std::string clock_text(double hz);                // "1980 MHz"
[[nodiscard]] std::string percent_text(double ratio, int decimals = 1);  // "70.0 %"
/// UTC, "2026-11-21 09:14:02 UTC"; for times since the Unix epoch.
[[nodiscard]] std::string utc_text(std::int64_t unix_ns);

/// Cell for a value that was not measured.
inline constexpr const char* kMissing = "–";

}  // namespace ridgeline::reports
