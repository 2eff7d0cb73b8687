#include "ridgeline/experiment/bisect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ridgeline::experiment {
namespace {

TEST(Bisect, FindsEveryFirstBadOfEveryLength) {
  for (std::size_t count = 1; count <= 33; ++count) {
    for (std::size_t first = 0; first < count; ++first) {
      std::set<std::size_t> tried;
      const Bisected found = bisect(count, [&](std::size_t candidate, const std::vector<std::size_t>& left) {
        EXPECT_TRUE(tried.insert(candidate).second) << "tried twice";
        EXPECT_TRUE(std::binary_search(left.begin(), left.end(), first));
        EXPECT_LT(candidate, left.back()) << "the last is known to be bad";
        return candidate >= first ? Trial::bad : Trial::good;
      });
      EXPECT_EQ(found.first_bad, first) << count;
      EXPECT_TRUE(found.untestable.empty());
      EXPECT_LE(tried.size(), 6u) << count;
    }
  }
}

TEST(Bisect, LeavesOutWhatCannotBeTried) {
  const std::set<std::size_t> broken = {2, 3, 4};
  const Bisected found = bisect(8, [&](std::size_t candidate, const std::vector<std::size_t>&) {
    if (broken.contains(candidate)) return Trial::untestable;
    return candidate >= 5 ? Trial::bad : Trial::good;
  });
  EXPECT_EQ(found.first_bad, 5u);
  EXPECT_EQ(std::set<std::size_t>(found.untestable.begin(), found.untestable.end()), broken);
}

TEST(Bisect, OfNothingButTheBadEndIsThatEnd) {
  const Bisected found =
      bisect(5, [](std::size_t, const std::vector<std::size_t>&) { return Trial::untestable; });
  EXPECT_EQ(found.first_bad, 4u);
  EXPECT_EQ(found.untestable.size(), 4u);
}

}  // namespace
}  // namespace ridgeline::experiment
