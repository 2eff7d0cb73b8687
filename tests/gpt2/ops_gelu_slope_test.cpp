// The byte that stands for GELU', and the order of the bytes of a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_slope.h"

namespace ridgeline::gpt2 {
namespace {

// As the kernels round.
double byte_of(double slope) {
  return std::nearbyint(slope * kGeluSlopeSteps + kGeluSlopeZero);
}

TEST(GeluSlope, EverySlopeOfGeluHasAByteWithinHalfAStep) {
  double lowest = 255;
  double highest = 0;
  for (double x = -8.0; x <= 8.0; x += 1.0 / 1024) {
    const double one = 1.0;
    double slope = 0.0;
    gelu_backward_cpu(&slope, &x, &one, 1);
    const double byte = byte_of(slope);
    lowest = std::min(lowest, byte);
    highest = std::max(highest, byte);
    ASSERT_TRUE(byte >= 0 && byte <= 255) << x;
    ASSERT_NEAR(gelu_slope_of(static_cast<std::uint8_t>(byte)), slope, 0.5 / kGeluSlopeSteps + 0x1p-16) << x;
  }
  EXPECT_EQ(lowest, 0);
  EXPECT_EQ(highest, 254);
}

TEST(GeluSlope, ZeroAndOneAreAmongThem) {
  EXPECT_NEAR(gelu_slope_of(26), 0.0, 0x1p-16);
  EXPECT_NEAR(gelu_slope_of(228), 1.0, 0x1p-16);
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_NEAR(gelu_slope_of(static_cast<std::uint8_t>(byte)), (byte - 26) / 202.0, 0x1p-16) << byte;
  }
}

TEST(GeluSlope, ColumnsOfASixteenHaveAPlaceEach) {
  std::set<std::int64_t> places;
  for (std::int64_t column = 0; column < 48; ++column) {
    const std::int64_t place = gelu_slope_place(column);
    EXPECT_EQ(place / 16, column / 16);
    places.insert(place);
  }
  EXPECT_EQ(places.size(), 48U);
  // The four columns of the first thread of a GEMM's result.
  EXPECT_EQ((std::vector<std::int64_t>{gelu_slope_place(0), gelu_slope_place(1), gelu_slope_place(8),
                                       gelu_slope_place(9)}),
            (std::vector<std::int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace ridgeline::gpt2
