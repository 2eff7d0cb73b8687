// The built-in metric sets, resolved with the real CUPTI's host interface: no GPU and no driver needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ridgeline/store/metric_catalog.h"
#include "tiers/metric_sets.h"

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

std::set<std::string> all_names(const std::vector<ResolvedSet>& sets) {
  std::set<std::string> names;
  for (const ResolvedSet& set : sets)
    for (const auto& metric : set.config.metrics()) names.insert(metric.name);
  return names;
}

TEST_F(MetricSets, HoldWhatARooflineNeedsOnGH100) {
  const std::string chip = "GH100";
  const auto names = all_names(resolve_metric_sets(api_, chip, nullptr, built_in_metric_sets()));
  for (const char* needed : {"dram__bytes_read.sum",
                             "lts__t_bytes.sum",
                             "l1tex__t_bytes.sum",
                             "l1tex__t_sectors_lookup_hit.sum",
                             "l1tex__t_sectors_lookup_miss.sum",
                             "lts__t_sectors_lookup_hit.sum",
                             "lts__t_sectors_lookup_miss.sum",
                             "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
                             "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
                             "sm__ops_path_tensor_src_fp8.sum",
                             "sm__ops_path_tensor_src_fp64.sum",
                             "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
                             "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum",
                             "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum",
                             "sm__ops_path_tensor_op_igmma_src_int8.sum",
                             "sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum",
                             "sm__thread_inst_executed_pipe_fma_pred_on.sum",
                             "sm__thread_inst_executed_pipe_fma_type_fp16_pred_on.sum",
                             "sm__thread_inst_executed_pipe_fp64_pred_on.sum",
                             "sm__warps_active.avg.pct_of_peak_sustained_active",
                             "smsp__issue_active.avg.pct_of_peak_sustained_active"})
    EXPECT_TRUE(names.count(needed)) << needed;
}

TEST_F(MetricSets, StayOnePassOnOtherChips) {
  for (const std::string chip : {"GA100", "AD102", "GB100", "GB202"}) {
    const auto sets = resolve_metric_sets(api_, chip, nullptr, built_in_metric_sets());
    ASSERT_EQ(sets.size(), built_in_metric_sets().size()) << chip;
    for (const ResolvedSet& set : sets) {
      EXPECT_EQ(set.config.passes(), 1u) << chip << " " << set.config.name();
      EXPECT_GE(set.config.metrics().size(), 3u) << chip << " " << set.config.name();
    }
    const auto names = all_names(sets);
    EXPECT_TRUE(names.count("sm__ops_path_tensor_src_bf16_dst_fp32.sum")) << chip;
    EXPECT_TRUE(names.count("sm__ops_path_tensor_src_fp16_dst_fp32.sum")) << chip << ": by its other name";
    EXPECT_TRUE(names.count("lts__t_bytes.sum")) << chip;
  }
}

TEST_F(MetricSets, CarryOnWhatTakesASecondPass) {
  const std::string chip = "GH100";
  const auto sets =
      resolve_metric_sets(api_, chip, nullptr,
                          {{"X", {"lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"}, true},
                           {"own", {"gpu__time_duration.sum"}, false},
                           {"Y", {"gpu__time_duration.sum", "lts__t_sector_hit_rate.pct"}, true}});
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0].config.metrics().size(), 1u);
  EXPECT_EQ(sets[1].config.metrics().size(), 1u) << "takes nothing from others";
  ASSERT_EQ(sets[2].config.metrics().size(), 2u);
  EXPECT_EQ(sets[2].config.metrics()[1].name, "lts__t_sectors_lookup_miss.sum");
  ASSERT_EQ(sets[2].left_out.size(), 1u) << "fits nowhere";
  EXPECT_NE(sets[2].left_out[0].find("lts__t_sector_hit_rate.pct"), std::string::npos);
}

TEST_F(MetricSets, JoinIntoOnePassEach) {
  for (const std::string chip : {"GH100", "GB100", "AD102"}) {
    const auto sets = resolve_metric_sets(api_, chip, nullptr, built_in_metric_sets());
    std::vector<const CounterConfig*> configs;
    for (const ResolvedSet& set : sets) configs.push_back(&set.config);
    configs.push_back(&sets[0].config);  // nothing new in it, and yet a pass of its own
    const CounterConfig joined = join_in_passes(api_, chip, nullptr, configs);
    EXPECT_EQ(joined.passes(), configs.size()) << chip;
    EXPECT_FALSE(joined.image().empty());
  }
}

TEST_F(MetricSets, TakeTheOtherNameWhereAChipLacksTheFirst) {
  const std::string chip = "GH100";
  const ResolvedSet r = resolve_metric_set(api_, chip, nullptr,
                                           {"X",
                                            {"no_such.sum|dram__bytes_read.sum", "neither.sum|",
                                             "no.sum|nor.sum", "dram__bytes_write.sum|no.sum"}});
  ASSERT_EQ(r.config.metrics().size(), 2u);
  EXPECT_EQ(r.config.metrics()[0].name, "dram__bytes_read.sum");
  EXPECT_EQ(r.config.metrics()[1].name, "dram__bytes_write.sum");
  ASSERT_EQ(r.left_out.size(), 1u) << "what may be missing is not complained about";
  EXPECT_NE(r.left_out[0].find("no.sum|nor.sum"), std::string::npos);
}

// What is stored is described: the catalog is what docs/metrics.md is held to.
TEST(MetricCatalogue, DescribesEveryBuiltInMetric) {
  std::vector<MetricSet> sets = built_in_metric_sets();
  sets.push_back(sampled_metric_set());
  for (const MetricSet& set : sets) {
    for (const std::string& wanted : set.metrics) {
      for (std::size_t from = 0; from <= wanted.size();) {  // alternatives, the first a chip knows
        const std::size_t end = std::min(wanted.find('|', from), wanted.size());
        const std::string name = wanted.substr(from, end - from);
        from = end + 1;
        if (name.empty()) continue;
        EXPECT_TRUE(store::describe_metric(name)) << set.name << ": " << name;
      }
    }
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

TEST_F(MetricSets, FloatingPointInstructionsAreOnePassAndInstrumented) {
  for (const std::string chip : {"GH100", "GA100", "AD102"}) {
    for (const MetricSet& set : built_in_flop_sets()) {
      const ResolvedSet r = resolve_metric_set(api_, chip, nullptr, set);
      EXPECT_EQ(r.config.passes(), 1u) << chip;
      EXPECT_EQ(r.config.metrics().size(), 9u) << chip;
      EXPECT_TRUE(r.left_out.empty()) << chip << ": " << r.left_out[0];
      EXPECT_TRUE(r.config.instrumented()) << chip;
    }
  }
  const std::string chip = "GH100";
  for (const MetricSet& set : built_in_metric_sets())
    EXPECT_FALSE(resolve_metric_set(api_, chip, nullptr, set).config.instrumented()) << set.name;
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
    const std::vector<std::string> wanted = sampled_metric_set().metrics;
    const auto needed = static_cast<std::size_t>(std::count_if(
        wanted.begin(), wanted.end(), [](const std::string& name) { return name.back() != '|'; }));
    EXPECT_EQ(needed, 11u);
    EXPECT_GE(r.config.metrics().size() + r.left_out.size(), needed) << chip;
    EXPECT_LE(r.config.metrics().size() + r.left_out.size(), wanted.size()) << chip;
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
