#include "ridgeline/base/units.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ridgeline {
namespace {

TEST(Units, CellsHaveAFixedNumberOfDecimals) {
  EXPECT_EQ(milliseconds(57'812'345), "57.812");
  EXPECT_EQ(milliseconds(400), "0.000");
  EXPECT_EQ(microseconds(12'345), "12.3");
  EXPECT_EQ(megahertz(1'979'600'000), "1980");
  EXPECT_EQ(percent(0.7), "70.0");
  EXPECT_EQ(percent(0.12345, 2), "12.35");
}

TEST(Units, IntegersAreGroupedByThree) {
  EXPECT_EQ(integer(0), "0");
  EXPECT_EQ(integer(-100), "-100");
  EXPECT_EQ(integer(999), "999");
  EXPECT_EQ(integer(1000), "1,000");
  EXPECT_EQ(integer(-1234567), "-1,234,567");
  EXPECT_EQ(integer(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Units, NothingIsMinusZeroAndWhatIsNoNumberIsADash) {
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
  EXPECT_EQ(fixed(-0.006, 2), "-0.01");
  EXPECT_EQ(fixed(std::nan(""), 2), kMissing);
  EXPECT_EQ(fixed(std::numeric_limits<double>::infinity(), 0), kMissing);
  EXPECT_EQ(fixed(1.5, -3), "2");
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 1000).size(), 309U + 1 + 20);
}

TEST(Units, ATimeHasTheLargestUnitThatLeavesADigit) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(812), "812 ns");
  EXPECT_EQ(time_text(1'000), "1.0 µs");
  EXPECT_EQ(time_text(12'300), "12.3 µs");
  EXPECT_EQ(time_text(1'000'000), "1.000 ms");
  EXPECT_EQ(time_text(57'812'345), "57.812 ms");
  EXPECT_EQ(time_text(-57'812'345), "−57.812 ms");
  EXPECT_EQ(time_text(1'000'000'000), "1.00 s");
  EXPECT_EQ(time_text(3'214'000'000), "3.21 s");
}

TEST(Units, RatesAndAmountsArePowersOfAThousand) {
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1'000), "1.00 kB");
  EXPECT_EQ(bytes_text(1'234'000'000), "1.23 GB");
  EXPECT_EQ(bandwidth_text(4.8e12), "4.80 TB/s");
  EXPECT_EQ(operations_text(989.4e12), "989.4 TFLOP/s");
  EXPECT_EQ(operations_text(1e24), "1000000.0 EFLOP/s") << "the last prefix takes what is left";
  EXPECT_EQ(clock_text(1.98e9), "1980 MHz");
  EXPECT_EQ(percent_text(0.7), "70.0 %");
  EXPECT_EQ(percent_text(0.705, 0), "70 %");
}

TEST(Units, CountsHaveTheirNoun) {
  EXPECT_EQ(counted(1, "kernel"), "1 kernel");
  EXPECT_EQ(counted(0, "kernel"), "0 kernels");
  EXPECT_EQ(counted(2'000, "launch", "launches"), "2,000 launches");
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
}

TEST(Units, TimesOfDayAreUtc) {
  EXPECT_EQ(utc_text(1'795'222'442'000'000'000), "2026-11-21 00:54:02 UTC");
  EXPECT_EQ(utc_text(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(utc_text(-1), "1969-12-31 23:59:59 UTC");
}

}  // namespace
}  // namespace ridgeline
