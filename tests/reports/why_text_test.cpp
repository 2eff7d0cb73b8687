// Why a kernel is as slow as it is: one sentence with every limit that holds it.
#include "ridgeline/reports/why_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ridgeline::reports {
namespace {

using analyzer::KernelBound;
using analyzer::KernelHold;
using analyzer::KernelLimit;
using analyzer::LaunchConfiguration;
using analyzer::Occupancy;
using analyzer::OccupancyLimiter;
using analyzer::Ranking;
using analyzer::RankingRow;
using analyzer::Roof;

KernelLimit limit_at(Roof roof, double ratio) {
  KernelLimit limit{.roof = roof, .use = {}};
  limit.use.value = ratio;
  return limit;
}

RankingRow row_with(KernelBound bound) {
  RankingRow row;
  row.bound = bound;
  row.measured_calls = 1;
  return row;
}

LaunchConfiguration room_for(std::int64_t warps, const std::vector<OccupancyLimiter>& limiters) {
  LaunchConfiguration of;
  of.calls = 12;
  of.time_ns = 4'886'000;
  of.waves = 1.0;
  of.idle_ratio = 0.0;
  of.occupancy =
      Occupancy{.blocks = 1, .warps = warps, .max_warps = 64, .limiter = limiters.front(), .limiter_bits = 0};
  for (const OccupancyLimiter limiter : limiters)
    of.occupancy->limiter_bits |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(limiter));
  return of;
}

void expect_one_sentence(const std::string& text) {
  EXPECT_TRUE(text.ends_with('.')) << text;
  EXPECT_EQ(text.find(". "), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(WhyText, OfALatencyBoundKernelNamesWhatLimitsItsWarps) {
  RankingRow row = row_with(KernelBound::latency);
  KernelHold hold;
  hold.limits = {limit_at(Roof::kTensor, 0.442), limit_at(Roof::kL2, 0.315)};
  hold.limits[0].nearest = true;
  hold.configurations = {room_for(16, {OccupancyLimiter::registers})};
  EXPECT_EQ(why_sentence(Ranking{}, row, hold),
            "Latency-bound: no roof is used to 60 % or more, the nearest is tensor (44.2 %); what holds it "
            "is waiting, "
            "and an SM has room for 16 of its 64 warps to hide that, limited by registers.");
  row.metrics.set("occupancy_ratio", analyzer::Measured{.value = 0.247});
  hold.configurations = {
      room_for(16, {OccupancyLimiter::blocks, OccupancyLimiter::registers, OccupancyLimiter::shared_memory})};
  const std::string tied = why_sentence(Ranking{}, row, hold);
  EXPECT_NE(
      tied.find(
          "hide that (24.7 % were resident), limited by block slots, registers and shared memory alike."),
      std::string::npos)
      << tied;
  expect_one_sentence(tied);
}

TEST(WhyText, OfALatencyBoundKernelSaysWhatIsNotItsWarps) {
  const RankingRow row = row_with(KernelBound::latency);
  KernelHold hold;
  EXPECT_EQ(why_sentence(Ranking{}, row, hold),
            "Latency-bound: no roof is used to 60 % or more; dependences, too few warps or waits hold it.");
  hold.configurations = {room_for(64, {OccupancyLimiter::warps})};
  std::string text = why_sentence(Ranking{}, row, hold);
  EXPECT_TRUE(text.ends_with("an SM has room for all of its 64 warps to hide that.")) << text;
  hold.configurations[0].waves = 0.5;
  hold.configurations[0].idle_ratio = 0.5;
  text = why_sentence(Ranking{}, row, hold);
  EXPECT_TRUE(text.ends_with("; its grid leaves 50.0 % of the SMs without a block.")) << text;
  for (const double idle : {0.0, 0.01, 0.049, 0.05, 0.07, 0.2}) {
    hold.configurations[0].idle_ratio = idle;
    EXPECT_EQ(why_sentence(Ranking{}, row, hold).find("its grid") != std::string::npos, idle >= 0.05) << idle;
  }
  hold.configurations[0].idle_ratio = 0.01;
  hold.configurations.push_back(room_for(32, {OccupancyLimiter::registers}));
  text = why_sentence(Ranking{}, row, hold);
  EXPECT_NE(text.find("and where most of its time goes an SM has room for all"), std::string::npos) << text;
  expect_one_sentence(text);
}

TEST(WhyText, RoofsThatAreAsNearAreNamed) {
  RankingRow row = row_with(KernelBound::memory);
  row.bound_roof = Roof::kDram;
  KernelHold hold;
  hold.limits = {limit_at(Roof::kDram, 0.882), limit_at(Roof::kL2, 0.3)};
  hold.limits[0].nearest = hold.limits[0].bounds = true;
  EXPECT_EQ(why_sentence(Ranking{}, row, hold), "Memory-bound: DRAM is used to 88.2 %.");
  hold.limits[1] = limit_at(Roof::kL2, 0.87);
  hold.limits[1].as_near = true;
  EXPECT_EQ(
      why_sentence(Ranking{}, row, hold),
      "Memory-bound: DRAM is used to 88.2 %; L2 (87.0 %) is as near, so that to relieve one of them alone "
      "gains nothing.");
  row.bound = KernelBound::compute;
  row.bound_roof = Roof::kIssue;
  hold.limits = {limit_at(Roof::kTensor, 0.71), limit_at(Roof::kIssue, 0.705), limit_at(Roof::kDram, 0.7)};
  hold.limits[0].nearest = true;
  hold.limits[1].bounds = hold.limits[1].as_near = hold.limits[2].as_near = true;
  EXPECT_EQ(why_sentence(Ranking{}, row, hold),
            "Compute-bound: issue (70.5 %) holds most of its time; the nearest roof is tensor (71.0 %); "
            "issue (70.5 %) "
            "and DRAM (70.0 %) are as near, so that to relieve one of them alone gains nothing.");
}

TEST(WhyText, OfALatencyBoundKernelNamesTiesOfRoofs) {
  KernelHold hold;
  hold.limits = {limit_at(Roof::kTensor, 0.44), limit_at(Roof::kL2, 0.43)};
  hold.limits[0].nearest = hold.limits[1].as_near = true;
  const std::string text = why_sentence(Ranking{}, row_with(KernelBound::latency), hold);
  EXPECT_NE(text.find("the nearest are tensor (44.0 %) and L2 (43.0 %);"), std::string::npos) << text;
}

TEST(WhyText, EveryBoundHasOneSentence) {
  for (const KernelBound bound : {KernelBound::memory, KernelBound::compute, KernelBound::latency,
                                  KernelBound::too_short, KernelBound::no_roof, KernelBound::unmeasured}) {
    const std::string text = why_sentence(Ranking{}, row_with(bound), KernelHold{});
    EXPECT_GT(text.size(), 20U);
    if (bound != KernelBound::too_short) expect_one_sentence(text);
  }
}

TEST(WhyText, WordsAreListedAsPeopleDo) {
  EXPECT_EQ(listed_words({}), "");
  EXPECT_EQ(listed_words({"a"}), "a");
  EXPECT_EQ(listed_words({"a", "b"}), "a and b");
  EXPECT_EQ(listed_words({"a", "b", "c"}), "a, b and c");
}

}  // namespace
}  // namespace ridgeline::reports
