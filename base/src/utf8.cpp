#include "ridgeline/base/utf8.h"

namespace ridgeline {

char32_t next_code_point(std::string_view text, std::size_t& position) {
  constexpr char32_t kReplacement = 0xfffd;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(position);
  std::size_t length = 1;
  char32_t value = lead;
  char32_t smallest = 0;
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  if (lead >= 0xc2 && lead < 0xe0) {
    length = 2, value = lead & 0x1fu, smallest = 0x80;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    length = 3, value = lead & 0x0fu, smallest = 0x800;
  } else if (lead >= 0xf0 && lead < 0xf5) {
    length = 4, value = lead & 0x07u, smallest = 0x10000;
  } else {
    ++position;
    return kReplacement;
  }
  if (position + length > text.size()) {
    ++position;
    return kReplacement;
  }
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = byte(position + i);
    if ((next & 0xc0u) != 0x80u) {
      ++position;
      return kReplacement;
    }
    value = (value << 6) | (next & 0x3fu);
  }
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
    ++position;
    return kReplacement;
  }
  position += length;
  return value;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)),
        put(0x80 | (c & 0x3f));
  }
}

int code_point_width(char32_t c) {
  if ((c >= 0x0300 && c <= 0x036f) || (c >= 0x1ab0 && c <= 0x1aff) || (c >= 0x20d0 && c <= 0x20ff) ||
      (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xfe20 && c <= 0xfe2f)) {
    return 0;
  }
  if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
      (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
      (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd)) {
    return 2;
  }
  return 1;
}

}  // namespace ridgeline
