// Words of the analysis that people read and scripts compare.
#include <gtest/gtest.h>

#include "ridgeline/analyzer/session/session.h"

namespace ridgeline::analyzer {
namespace {

TEST(Words, OfTheStagesOfAnAnalysis) {
  EXPECT_EQ(to_string(Stage::facts), "facts");
  EXPECT_EQ(to_string(Stage::steps), "steps");
  EXPECT_EQ(to_string(Stage::launches), "launches");
  EXPECT_EQ(to_string(Stage::counters), "counters");
  EXPECT_EQ(to_string(Stage::ranges), "ranges");
  EXPECT_EQ(to_string(Stage::utilisation), "utilisation");
  EXPECT_EQ(to_string(Stage::ranking), "ranking");
  EXPECT_EQ(to_string(Stage::samples), "samples");
  EXPECT_EQ(to_string(Stage::accounting), "accounting");
}

}  // namespace
}  // namespace ridgeline::analyzer
