#include "ridgeline/analyzer/utilisation/launch_utilisations.h"

#include <gtest/gtest.h>

#include <limits>

#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

LaunchVerdict verdict(store::Id kernel_id, LaunchStatus status) {
  LaunchVerdict made;
  made.kernel_id = kernel_id;
  made.status = status;
  return made;
}

TEST(LaunchUtilisations, LaunchesOfAGroupHaveItsVerdictAndTheirOwnTime) {
  LaunchUtilisations all;
  const auto unmeasured = all.add_group(verdict(4, LaunchStatus::unmeasured));
  all.add({.duration_ns = 30, .ordinal = 0, .deviation_ns = kUnknown, .launch = 12, .group = unmeasured});
  LaunchVerdict known = verdict(5, LaunchStatus::measured);
  known.nearest_roof_ratio = 0.5;
  known.nearest = Roof::kTensor;
  const auto measured = all.add_group(known);
  all.add({.duration_ns = 70, .ordinal = 1, .deviation_ns = 2.5, .launch = 13, .group = measured});
  all.add({.duration_ns = 40, .ordinal = 2, .deviation_ns = kUnknown, .launch = 14, .group = unmeasured});

  ASSERT_EQ(all.size(), 3U);
  const LaunchUtilisation second = all[1];
  EXPECT_EQ(second.launch, 13U);
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.duration_ns, 70);
  EXPECT_EQ(second.duration_deviation_ns, 2.5);
  EXPECT_EQ(second.kernel_id, 5);
  EXPECT_EQ(second.nearest_roof_ratio, 0.5);
  EXPECT_EQ(second.nearest, Roof::kTensor);
  EXPECT_EQ(all[2].kernel_id, 4);
  EXPECT_EQ(all[2].launch, 14U);
  EXPECT_FALSE(all[2].duration_deviation_ns.has_value());
  EXPECT_EQ(&all.group_of(2), &all.groups()[0]);
}

TEST(LaunchUtilisations, AGroupAddsUpAndNamesTheFirstOfItsLongest) {
  LaunchUtilisations all;
  const auto group = all.add_group(verdict(4, LaunchStatus::unmeasured));
  for (const std::int64_t duration_ns : {30, 50, 20, 50})
    all.add({.duration_ns = duration_ns, .deviation_ns = kUnknown, .group = group});
  ASSERT_EQ(all.groups().size(), 1U);
  EXPECT_EQ(all.groups()[0].calls, 4);
  EXPECT_EQ(all.groups()[0].time_ns, 150);
  EXPECT_EQ(all.groups()[0].longest_ns, 50);
  EXPECT_EQ(all.groups()[0].longest, 1U);
}

TEST(LaunchUtilisations, ALaunchWithoutATimeIsTheLongestOfItsGroupIfThereIsNoOther) {
  LaunchUtilisations all;
  const auto group = all.add_group(verdict(4, LaunchStatus::unmeasured));
  all.add({.duration_ns = 0, .deviation_ns = kUnknown, .group = group});
  EXPECT_EQ(all.groups()[0].longest_ns, 0);
  EXPECT_EQ(all.groups()[0].longest, 0U);
}

TEST(LaunchUtilisations, OneThatIsAddedAsAWholeIsAGroupAndACopyStaysAsItWas) {
  LaunchUtilisations all;
  LaunchUtilisation launch;
  launch.duration_ns = 9;
  launch.duration_deviation_ns = 0.0;
  launch.status = LaunchStatus::no_roof;
  all.push_back(launch);
  const LaunchUtilisations copy = all;
  all.push_back(launch);
  EXPECT_EQ(copy.size(), 1U);
  EXPECT_EQ(copy.groups().size(), 1U);
  EXPECT_EQ(all.groups().size(), 2U);
  EXPECT_EQ(all.front().duration_deviation_ns, 0.0);
  int seen = 0;
  for (const LaunchUtilisation& each : all) seen += each.status == LaunchStatus::no_roof ? 1 : 0;
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace ridgeline::analyzer
