#include "ridgeline/analyzer/values/measured.h"

#include <gtest/gtest.h>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

TEST(Statistics, MeanCarriesItsStandardErrorFromTwoSamplesOn) {
  EXPECT_FALSE(accepted(measured_mean({}, Tier::t2)).has_value());
  const auto one = accepted(measured_mean({5}, Tier::t2));
  EXPECT_DOUBLE_EQ(one->value, 5);
  EXPECT_FALSE(one->error.has_value());
  const auto four = accepted(measured_mean({1, 3, 1, 3}, Tier::t2));  // s = sqrt(4/3), s/2
  EXPECT_DOUBLE_EQ(four->value, 2);
  EXPECT_NEAR(*four->error, 0.57735, 1e-5);
  EXPECT_EQ(four->sample_count, 4);
  EXPECT_EQ(four->tier, Tier::t2);
}

}  // namespace
}  // namespace ridgeline::analyzer
