// utf8.h: UTF-8 decoding that survives any bytes.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

/// The code point at `position`, which is advanced past it by at least one byte. Malformed, overlong and
/// surrogate sequences give U+FFFD for one byte.
[[nodiscard]] char32_t next_code_point(std::string_view text, std::size_t& position);

void append_utf8(std::string& out, char32_t code_point);

/// Columns that a terminal uses for it: 0 (combining), 1 or 2 (East Asian wide, emoji).
[[nodiscard]] int code_point_width(char32_t code_point);

}  // namespace ridgeline
