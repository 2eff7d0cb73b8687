// text.h: figures as a finding's sentence shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::analyzer {

/// "12.3 %" of a ratio.
[[nodiscard]] std::string percent(double ratio, int decimals = 1);
/// ns in the unit that reads best: "850 ns", "12.4 µs", "57.31 ms", "3.20 s".
[[nodiscard]] std::string time_text(double ns);
[[nodiscard]] std::string number(double value, int decimals);
/// "1 launch", "3 launches".
[[nodiscard]] std::string count(std::int64_t n, std::string_view singular, std::string_view plural);
/// A kernel name without return type and parameters, of at most `width` characters: its middle is left out.
[[nodiscard]] std::string short_name(std::string_view name, std::size_t width = 60);

}  // namespace ridgeline::analyzer
