/// units.h: numbers as people read them, everywhere: what a terminal, a page, a finding and an error say of one time
/// is the same text. Pure; nothing depends on the locale.
///
/// The rule. In a table the unit is in the column's header and the cell has a fixed number of decimals, so that a
/// column reads downwards: milliseconds 3, microseconds 1, per cent 1. In a sentence the unit comes after the
/// number and is the largest that leaves a digit before the point: "812 ns", "12.3 µs", "57.812 ms" (a microsecond is
/// still seen), "3.21 s"; bytes and rates in powers of 1000 with 2 decimals, operations a second with 1, a clock in
/// whole MHz, a ratio as "70.0 %". Times are given in nanoseconds, ratios as 0 to 1. A value that is not finite or
/// was not measured is an en dash, and nothing is ever "-0.0".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline {

/// For a cell.
[[nodiscard]] std::string milliseconds(double ns);                  ///< "12.346"
[[nodiscard]] std::string microseconds(double ns);                  ///< "12.3"
[[nodiscard]] std::string megahertz(double hz);                     ///< "1980"
[[nodiscard]] std::string percent(double ratio, int decimals = 1);  ///< 0.7 -> "70.0"
[[nodiscard]] std::string fixed(double value, int decimals);        ///< at most 20 decimals
[[nodiscard]] std::string integer(std::int64_t value);              ///< "1,234,567"

/// For a sentence: below zero with a minus sign, which a hyphen is not. What machines read is without units, above.
[[nodiscard]] std::string time_text(double ns);  ///< "812 ns", "12.3 µs", "57.812 ms", "3.21 s"
/// A saving that time_text() would call "0 ns", or none at all.
[[nodiscard]] inline bool is_no_time(double ns) {
  return ns < 0.5;
}
[[nodiscard]] std::string bytes_text(double bytes);                      ///< "1.23 GB"
[[nodiscard]] std::string bandwidth_text(double bytes_per_s);            ///< "4.80 TB/s"
[[nodiscard]] std::string operations_text(double flops_per_s);           ///< "989.4 TFLOP/s"
[[nodiscard]] std::string clock_text(double hz);                         ///< "1980 MHz"
[[nodiscard]] std::string percent_text(double ratio, int decimals = 1);  ///< "70.0 %"
/// "-3.2" as people read it, "−3.2"; any other text as it is.
[[nodiscard]] std::string with_minus_sign(std::string text);
/// "1 launch", "3,000 launches"; without `plural`, the noun and an s.
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun, std::string_view plural = {});
/// UTC, "2026-11-21 09:14:02 UTC"; for times since the Unix epoch.
[[nodiscard]] std::string utc_text(std::int64_t unix_ns);

/// Stands for a value that was not measured.
inline constexpr const char* kMissing = "–";

}  // namespace ridgeline
