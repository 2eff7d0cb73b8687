#include "cause.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/accepted_cases.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::accepted;

using analyzer::KernelBound;

KernelSite site(const std::string& kernel, double time_us, double calls = 1, const std::string& code = "c") {
  KernelSite out;
  out.path = "step / " + kernel;
  out.kernel = kernel;
  out.family = kernel + " family";
  out.kernel_class = KernelClass::elementwise;
  out.code = code;
  out.shape = LaunchConfiguration{.grid = {132, 1, 1}, .block = {256, 1, 1}};
  out.calls = calls;
  out.time_ns = time_us * 1000;
  return out;
}

KernelChange described(const std::vector<KernelSite>& a, const std::vector<KernelSite>& b,
                       MatchLevel level = MatchLevel::exact) {
  RunProfile run_a, run_b;
  run_a.sites = a;
  run_b.sites = b;
  Unit unit{{{}}, {{}}, level, 0.9};
  for (std::uint32_t i = 0; i < a.size(); ++i) unit.a.front().push_back(i);
  for (std::uint32_t j = 0; j < b.size(); ++j) unit.b.front().push_back(j);
  KernelChange change;
  describe(change, unit, run_a, run_b);
  return accepted(change);
}

TEST(Describe, OfSeveralSitesTheLongestStandsForAllAndTheRestIsAddedUp) {
  KernelSite brief = site("brief", 100, 1), longest = site("longest", 300, 2), again = site("longest", 50, 4);
  longest.shape->grid = {264, 1, 1};
  longest.bound = KernelBound::memory;
  brief.bound = KernelBound::latency;
  KernelSite other = site("other", 70, 3);
  other.kernel_class = KernelClass::gemm;
  const KernelChange change = described({brief, longest, again}, {brief, other}, MatchLevel::group);
  EXPECT_EQ(change.kernels_a, (std::vector<std::string>{"longest", "brief"})) << "each name once";
  EXPECT_EQ(change.kernels_b, (std::vector<std::string>{"brief", "other"}));
  EXPECT_DOUBLE_EQ(change.calls_a, 7);
  EXPECT_DOUBLE_EQ(change.calls_b, 4);
  EXPECT_EQ(change.path, "step / brief") << "of the side that is there now";
  EXPECT_EQ(change.family, "brief family");
  EXPECT_EQ(change.kernel_class, KernelClass::elementwise);
  EXPECT_EQ(change.bound_a, KernelBound::memory);
  EXPECT_EQ(change.bound_b, KernelBound::latency);
  EXPECT_EQ(change.shape_a->grid.x, 264);
  EXPECT_EQ(change.shape_b->grid.x, 132);
  EXPECT_TRUE(change.launch_changed);
  EXPECT_EQ(change.level, MatchLevel::group);
  EXPECT_DOUBLE_EQ(change.confidence, 0.9);
}

TEST(Describe, RatiosAreMeansByTimeAndBytesOfAllOrNone) {
  KernelSite x = site("x", 300), y = site("y", 100), z = site("z", 100);
  x.dram_ratio = 0.5;
  y.dram_ratio = 0.9;
  y.compute_ratio = 0.2;
  x.dram_bytes = 1000;
  y.dram_bytes = 500;
  const KernelChange change = described({x, y}, {x, z});
  EXPECT_DOUBLE_EQ(change.dram_a.value(), 0.6);
  EXPECT_DOUBLE_EQ(change.compute_a.value(), 0.2) << "over the sites that have it";
  EXPECT_DOUBLE_EQ(change.dram_bytes_a.value(), 1500);
  EXPECT_DOUBLE_EQ(change.dram_b.value(), 0.5);
  EXPECT_FALSE(change.compute_b.has_value());
  EXPECT_FALSE(change.dram_bytes_b.has_value()) << "z has none";
}

TEST(Describe, WhatHasNoCounterpartIsNotHeldAgainstAnything) {
  const KernelChange removed = described({site("x", 300)}, {});
  EXPECT_EQ(removed.path, "step / x");
  EXPECT_TRUE(removed.kernels_b.empty());
  EXPECT_DOUBLE_EQ(removed.calls_a, 1);
  EXPECT_DOUBLE_EQ(removed.calls_b, 0);
  EXPECT_DOUBLE_EQ(removed.confidence, 0);
  EXPECT_FALSE(removed.code_changed.has_value());
  EXPECT_FALSE(removed.launch_changed);
  EXPECT_FALSE(removed.shape_b.has_value());
  EXPECT_FALSE(removed.dram_bytes_b.has_value());
  const KernelChange added = described({}, {site("x", 300)});
  EXPECT_EQ(added.path, "step / x");
  EXPECT_DOUBLE_EQ(added.confidence, 0);
  EXPECT_FALSE(added.code_changed.has_value());
}

TEST(Describe, CodeIsJudgedByHashesOfBothSides) {
  const auto changed = [](const std::string& a, const std::string& b, MatchLevel level = MatchLevel::exact) {
    return described({site("x", 1, 1, a)}, {site("x", 1, 1, b)}, level).code_changed;
  };
  EXPECT_EQ(changed("1", "1"), false);
  EXPECT_EQ(changed("1", "2"), true);
  EXPECT_EQ(changed("", "2"), std::nullopt);
  EXPECT_EQ(changed("1", ""), std::nullopt);
  EXPECT_EQ(changed("", "", MatchLevel::normalised), true) << "another name is other code";
  EXPECT_EQ(changed("1", "1", MatchLevel::code), false);
}

std::vector<std::string> counted(const KernelSite& a, const KernelSite& b) {
  std::vector<std::string> names;
  for (const CountChange& count : described({a}, {b}).counts) names.push_back(count.name);
  return names;
}

TEST(Describe, CountsThatDifferAreToldWithBothValues) {
  KernelSite a = site("x", 1), b = site("x", 1);
  a.counts = {{"inst.sum", 100}, {"only_a.sum", 1}, {"same.sum", 5}};
  b.counts = {{"inst.sum", 101}, {"only_b.sum", 1}, {"same.sum", 5}};
  a.shape->registers_per_thread = 32;
  b.shape->registers_per_thread = 40;
  a.shape->static_smem_bytes = 1024;
  b.shape->static_smem_bytes = 2048;
  a.shape->dynamic_smem_bytes = 0;
  b.shape->dynamic_smem_bytes = 4096;
  const auto counts = described({a}, {b}).counts;
  ASSERT_EQ(counts.size(), 4U);
  const auto expect = [&](std::size_t i, const std::string& name, double of_a, double of_b) {
    EXPECT_EQ(counts[i].name, name);
    EXPECT_DOUBLE_EQ(counts[i].a, of_a) << name;
    EXPECT_DOUBLE_EQ(counts[i].b, of_b) << name;
  };
  expect(0, "registers_per_thread", 32, 40);
  expect(1, "static_smem_bytes", 1024, 2048);
  expect(2, "dynamic_smem_bytes", 0, 4096);
  expect(3, "inst.sum", 100, 101);
}

TEST(Describe, CountsOfAnotherNumberOfCallsAreNotCompared) {
  KernelSite a = site("x", 1, 2), b = site("x", 1, 3);
  a.counts = {{"inst.sum", 100}};
  b.counts = {{"inst.sum", 101}};
  EXPECT_TRUE(counted(a, b).empty());
  b.calls = 2;
  EXPECT_EQ(counted(a, b), std::vector<std::string>{"inst.sum"});
  EXPECT_TRUE(described({a, site("y", 1, 0)}, {b}).counts.empty()) << "nor those of two sites";
  a.shape.reset();
  b.shape->registers_per_thread = 255;
  EXPECT_EQ(counted(a, b), std::vector<std::string>{"inst.sum"}) << "nothing is known of A's registers";
}

TEST(Describe, BytesDifferFromHalfAPerCentOn) {
  const auto differ = [](double of_a, double of_b, bool counted_a = true, bool counted_b = true) {
    KernelSite a = site("x", 1), b = site("x", 1);
    a.dram_bytes = of_a;
    b.dram_bytes = of_b;
    a.dram_bytes_counted = counted_a;
    b.dram_bytes_counted = counted_b;
    return !counted(a, b).empty();
  };
  EXPECT_FALSE(differ(1000, 1004));
  EXPECT_FALSE(differ(1000, 996));
  EXPECT_TRUE(differ(1000, 1006));
  EXPECT_TRUE(differ(1000, 994));
  EXPECT_FALSE(differ(0, 1000)) << "a ratio to nothing is none";
  EXPECT_FALSE(differ(1000, 1500, false, true)) << "samples are not as exact";
  EXPECT_FALSE(differ(1000, 1500, true, false));
}

// A change of which nothing else is known to have changed, in time by a tenth.
KernelChange slower_change() {
  KernelChange change = described({site("x", 10)}, {site("x", 11)});
  change.time.ratio = 0.1;
  return change;
}

TEST(Cause, WhatChangesTheWorkComesBeforeWhatChangesItsSpeed) {
  constexpr double kMargin = 0.02;
  KernelChange change = slower_change();
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::neighbours);
  change.cycles = Change{.ratio = 0.001};
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::clock);
  change.counts = {{"inst.sum", 100, 102}};
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::data);
  change.shape_b->grid.x = 264;
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::shapes);
  change.shape_b->block.x = 512;
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::launch);
  change.calls_b = 2;
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::calls);
  change.code_changed = true;
  EXPECT_EQ(accepted(cause_of(change, kMargin)), ChangeCause::code);
}

TEST(Cause, ALaunchIsItsBlockClusterAndDynamicSharedMemory) {
  KernelChange change = slower_change();
  change.shape_b->cluster = store::Dim3{2, 1, 1};
  EXPECT_EQ(accepted(cause_of(change, 0.02)), ChangeCause::launch);
  change = slower_change();
  change.shape_b->dynamic_smem_bytes += 1024;
  EXPECT_EQ(accepted(cause_of(change, 0.02)), ChangeCause::launch);
  change = slower_change();
  change.shape_a.reset();
  EXPECT_EQ(accepted(cause_of(change, 0.02)), ChangeCause::shapes)
      << "several grids on one side, one on the other";
  change.shape_b.reset();
  EXPECT_EQ(accepted(cause_of(change, 0.02)), ChangeCause::neighbours);
}

TEST(Cause, WithoutHashesItIsUnknown) {
  KernelChange change = slower_change();
  change.code_changed.reset();
  EXPECT_EQ(accepted(cause_of(change, 0.02)), ChangeCause::unknown);
}

TEST(Cause, OnlySumsThatMovedByMoreThanHalfAPerCentAreOtherWork) {
  KernelChange change = slower_change();
  const auto cause = [&](const CountChange& count) {
    change.counts = {count};
    return accepted(cause_of(change, 0.02));
  };
  EXPECT_EQ(cause({"inst.sum", 1000, 1006}), ChangeCause::data);
  EXPECT_EQ(cause({"inst.sum", 1000, 994}), ChangeCause::data);
  EXPECT_EQ(cause({"inst.sum", 1000, 1004}), ChangeCause::neighbours);
  EXPECT_EQ(cause({"inst.sum", 0, 1000}), ChangeCause::neighbours);
  EXPECT_EQ(cause({"dram_bytes", 1000, 2000}), ChangeCause::neighbours) << "caches decide on bytes";
}

// The clock explains a change of time whose cycles hardly changed: by less than the margin and half of the time's.
TEST(Cause, TheClockIsItWhereCyclesStayed) {
  KernelChange change = slower_change();
  const auto cause = [&](double time, double cycles, double margin) {
    change.time.ratio = time;
    change.cycles = Change{.ratio = cycles};
    return accepted(cause_of(change, margin));
  };
  EXPECT_EQ(cause(0.1, 0.015, 0.02), ChangeCause::clock);
  EXPECT_EQ(cause(0.1, -0.015, 0.02), ChangeCause::clock);
  EXPECT_EQ(cause(0.1, 0.025, 0.02), ChangeCause::neighbours);
  EXPECT_EQ(cause(-0.1, 0.015, 0.02), ChangeCause::clock);
  EXPECT_EQ(cause(0.02, 0.009, 0.02), ChangeCause::clock);
  EXPECT_EQ(cause(0.02, 0.011, 0.02), ChangeCause::neighbours);
  EXPECT_EQ(cause(-0.02, -0.011, 0.02), ChangeCause::neighbours);
}

}  // namespace
}  // namespace ridgeline::comparison
