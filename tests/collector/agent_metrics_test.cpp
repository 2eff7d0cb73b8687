// The built-in metric sets, resolved with the real CUPTI's host interface: no GPU and no driver needed.
#include <gtest/gtest.h>

#include <set>

#include "metric_sets.h"

namespace ridgeline::agent {
namespace {

class MetricSets : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string library, error;
    if (!load_cupti(RIDGELINE_TEST_CUPTI, &api_, &library, &error)) GTEST_SKIP() << error;
    if (!api_.has_range_profiler) GTEST_SKIP() << library << " has no range profiler";
  }
  CuptiApi api_;
};

TEST_F(MetricSets, EachIsOnePassOnGH100WithNothingLeftOut) {
  const std::string chip = "GH100";
  for (const MetricSet& set : built_in_metric_sets()) {
    const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, set);
    EXPECT_EQ(r.config.passes(), 1u) << set.name;
    EXPECT_EQ(r.config.metrics().size(), set.metrics.size()) << set.name;
    EXPECT_TRUE(r.left_out.empty()) << set.name << ": " << r.left_out[0];
  }
}

TEST_F(MetricSets, EachHoldsDurationAndDramBytes) {
  for (const MetricSet& set : built_in_metric_sets()) {
    const std::set<std::string> names(set.metrics.begin(), set.metrics.end());
    EXPECT_EQ(names.size(), set.metrics.size()) << set.name << " names a metric twice";
    for (const char* needed : {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"})
      EXPECT_TRUE(names.count(needed)) << set.name << " lacks " << needed;
  }
}

TEST_F(MetricSets, CarryUnitsAndDescriptions) {
  const std::string chip = "GH100";
  const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, built_in_metric_sets()[0]);
  for (const auto& m : r.config.metrics()) EXPECT_FALSE(m.unit.empty()) << m.name;
  EXPECT_EQ(r.config.metrics()[1].unit, "byte");
}

TEST_F(MetricSets, LeaveOutWhatAChipLacks) {
  const std::string chip = "GA100";  // no FP8
  const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, built_in_metric_sets()[0]);
  EXPECT_EQ(r.config.passes(), 1u);
  EXPECT_GE(r.config.metrics().size(), 4u);
  ASSERT_FALSE(r.left_out.empty());
  EXPECT_NE(r.left_out[0].find("fp8"), std::string::npos) << r.left_out[0];
}

TEST_F(MetricSets, DegradeToOnePass) {
  const std::string chip = "GH100";
  const ResolvedSet r =
      resolve_metric_set(api_, chip, nullptr,
                         {"X",
                          {"gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                           "dram__bytes_read.sum", "no_such_metric.sum"}});
  EXPECT_EQ(r.config.passes(), 1u);
  EXPECT_EQ(r.config.metrics().size(), 2u);
  EXPECT_EQ(r.left_out.size(), 2u);
}

TEST_F(MetricSets, SayThatAChipIsUnknown) {
  const std::string chip = "ZX81";
  const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, built_in_metric_sets()[0]);
  EXPECT_TRUE(r.config.metrics().empty());
  ASSERT_EQ(r.left_out.size(), 1u);
  EXPECT_NE(r.left_out[0].find("ZX81"), std::string::npos);
}

TEST_F(MetricSets, SamplesAreOnePassOnGH100WithNothingLeftOut) {
  const std::string chip = "GH100";
  const MetricSet set = sampled_metric_set();
  const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, set, CUPTI_PROFILER_TYPE_PM_SAMPLING);
  EXPECT_EQ(r.config.passes(), 1u);
  EXPECT_EQ(r.config.metrics().size(), set.metrics.size());
  EXPECT_TRUE(r.left_out.empty()) << r.left_out[0];
  for (const auto& m : r.config.metrics()) EXPECT_FALSE(m.unit.empty()) << m.name;
}

// Names and what fits together differ from chip to chip; the bytes, named first, are kept wherever there are
// any.
TEST_F(MetricSets, SamplesDegradeOnOtherChips) {
  for (const std::string chip : {"GA100", "AD102", "GB100", "GB202"}) {
    const ResolvedSet r =
        resolve_metric_set(api_, chip, nullptr, sampled_metric_set(), CUPTI_PROFILER_TYPE_PM_SAMPLING);
    if (r.config.metrics().empty()) {
      EXPECT_FALSE(r.left_out.empty()) << chip << " must say why";
      continue;
    }
    EXPECT_EQ(r.config.passes(), 1u) << chip;
    EXPECT_EQ(r.config.metrics().size() + r.left_out.size(), sampled_metric_set().metrics.size()) << chip;
    // GB202 cannot sample DRAM reads.
    EXPECT_EQ(r.config.metrics()[0].name == "dram__bytes_read.sum", chip != "GB202") << chip;
  }
}

// In a process of its own, or a copy loaded by the tests above would be taken.
[[noreturn]] void load_from_nowhere() {
  CuptiApi api;
  std::string library, error;
  const bool loaded = load_cupti("/nonexistent/libcupti.so.13", &api, &library, &error);
  const bool says_where = error.find("/nonexistent/libcupti.so.13") != std::string::npos;
  std::exit(!loaded && library.empty() && says_where ? 0 : 1);
}

TEST(CuptiLoaderDeathTest, SaysWhatIsWrongWithThePath) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(load_from_nowhere(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ridgeline::agent
