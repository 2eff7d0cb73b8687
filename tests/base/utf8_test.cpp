#include "ridgeline/base/utf8.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridgeline {
namespace {

std::vector<char32_t> points_of(std::string_view text) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) points.push_back(next_code_point(text, at));
  return points;
}

TEST(Utf8, EachLengthIsDecodedAndEncoded) {
  const std::vector<char32_t> points = {0x24,   0x7f,   0x80,   0x7ff,   0x800,
                                        0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
  std::string text;
  for (const char32_t point : points) append_utf8(text, point);
  EXPECT_EQ(text.size(), 2u + 2 * 2 + 4 * 3 + 2 * 4);
  EXPECT_EQ(points_of(text), points);
}

TEST(Utf8, WhatIsMalformedIsReplacedByteByByte) {
  using Points = std::vector<char32_t>;
  EXPECT_EQ(points_of("\xff"), Points{0xfffd});
  EXPECT_EQ(points_of("\xc0\xaf"), (Points{0xfffd, 0xfffd})) << "overlong";
  EXPECT_EQ(points_of("\xe0\x80\xaf"), (Points{0xfffd, 0xfffd, 0xfffd})) << "overlong";
  EXPECT_EQ(points_of("\xed\xa0\x80"), (Points{0xfffd, 0xfffd, 0xfffd})) << "surrogate";
  EXPECT_EQ(points_of("\xf4\x90\x80\x80"), (Points{0xfffd, 0xfffd, 0xfffd, 0xfffd})) << "beyond the last";
  EXPECT_EQ(points_of("\xe2\x82"), (Points{0xfffd, 0xfffd})) << "cut off";
  EXPECT_EQ(points_of("\xe2(a"), (Points{0xfffd, '(', 'a'}));
}

TEST(Utf8, WidthsAreThoseOfATerminal) {
  EXPECT_EQ(code_point_width('a'), 1);
  EXPECT_EQ(code_point_width(0x301), 0) << "combining acute";
  EXPECT_EQ(code_point_width(0x6f22), 2);
  EXPECT_EQ(code_point_width(0x1f600), 2);
}

}  // namespace
}  // namespace ridgeline
