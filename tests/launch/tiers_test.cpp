#include "ridgeline/launch/tiers.h"

#include <gtest/gtest.h>

namespace ridgeline::launch {
namespace {

TEST(Tiers, AreReadOneByOne) {
  EXPECT_EQ(read_tiers("T0").value(), TierSet(Tier::t0));
  EXPECT_EQ(read_tiers("T2,T0").value(), TierSet(Tier::t0) | Tier::t2);
  EXPECT_EQ(read_tiers("T0,T0").value(), TierSet(Tier::t0));
  EXPECT_EQ(read_tiers(to_string(kAllTiers)).value(), kAllTiers);
}

TEST(Tiers, WrongTextsAreUsageErrorsThatNameThePart) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"", "\"\""},        {",", "\"\""},    {"T0,,T2", "\"\""},     {"T0,", "\"\""},
      {"T0,T9", "\"T9\""}, {"t0", "\"t0\""}, {"T0;T2", "\"T0;T2\""}, {"T0\nT2", "\"T0 T2\""},
  };
  for (const auto& each : cases) {
    const Result<TierSet> tiers = read_tiers(each.text);
    ASSERT_FALSE(tiers.ok()) << each.text;
    EXPECT_EQ(tiers.failure().kind, ErrorKind::usage);
    EXPECT_NE(tiers.failure().message.find(std::string(each.part) + " is no tier"), std::string::npos)
        << tiers.failure().message;
    EXPECT_EQ(tiers.failure().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline::launch
