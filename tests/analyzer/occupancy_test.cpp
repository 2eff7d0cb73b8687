// What fits on an SM, by the rules of the CUDA toolkit's occupancy calculator, worked out by hand.
#include "ridgeline/analyzer/ranking/occupancy.h"

#include <gtest/gtest.h>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

store::Launch launch_with(std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes) {
  store::Launch one;
  one.block = {threads, 1, 1};
  one.registers_per_thread = registers;
  one.dynamic_smem_bytes = shared_bytes;
  return one;
}

std::int64_t fit(std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes,
                 std::string_view capability = "9.0") {
  const auto occupancy =
      accepted(theoretical_occupancy(launch_with(threads, registers, shared_bytes), capability));
  return occupancy ? occupancy->blocks : 0;
}

TEST(Occupancy, ThreadsRegistersSharedMemoryAndBlocksLimitWhatFits) {
  EXPECT_EQ(fit(32, 16, 0), 32) << "no more blocks on an SM";
  EXPECT_EQ(fit(1024, 32, 0), 2) << "2048 threads";
  EXPECT_EQ(fit(256, 32, 0), 8);
  EXPECT_EQ(fit(256, 33, 0), 6)
      << "40 registers a thread, in units of 256 a warp: 12 warps a partition, 2 a block";
  EXPECT_EQ(fit(384, 168, 0), 1);
  EXPECT_EQ(fit(128, 32, 100 * 1024), 2) << "228 KiB, of which each block takes 1 KiB more";
  EXPECT_EQ(fit(128, 32, 113 * 1024), 2);
  EXPECT_EQ(fit(128, 32, 113 * 1024 + 1), 1);
  EXPECT_EQ(fit(128, 32, 227 * 1024), 1);
  EXPECT_EQ(fit(128, 32, 228 * 1024), 0) << "fits nowhere";
}

// 64 registers are 2048 a warp: eight warps on a partition, 32 on the SM, and so ten blocks of three, whose warps share
// the partitions. Whole rows of four warps, as a block is judged before it is launched, would be eight blocks.
TEST(Occupancy, BlocksOfOddNumbersOfWarpsShareThePartitions) {
  const auto occupancy = accepted(theoretical_occupancy(launch_with(96, 64, 0), "9.0"));
  ASSERT_TRUE(occupancy);
  EXPECT_EQ(occupancy->blocks, 10);
  EXPECT_EQ(occupancy->warps, 30);
  EXPECT_DOUBLE_EQ(occupancy->ratio(), 30.0 / 64);
  EXPECT_EQ(occupancy->limiter, OccupancyLimiter::registers);
  EXPECT_EQ(fit(96, 128, 0), 5) << "sixteen warps";
  EXPECT_EQ(fit(32, 128, 0), 16);
  EXPECT_EQ(fit(288, 224, 0), 0) << "nine warps of 7168 are 64512, but as twelve they are refused";
  EXPECT_EQ(fit(256, 224, 0), 1);
}

TEST(Occupancy, SaysWhatLimits) {
  const struct {
    std::int64_t threads, registers, shared_bytes;
    const char* capability;
    std::int64_t warps;
    OccupancyLimiter limiter;
  } kCases[] = {{1024, 32, 0, "9.0", 64, OccupancyLimiter::warps},
                {256, 32, 0, "9.0", 64, OccupancyLimiter::warps},
                {32, 16, 0, "9.0", 32, OccupancyLimiter::blocks},
                {128, 168, 0, "9.0", 12, OccupancyLimiter::registers},
                {384, 168, 200 * 1024, "9.0", 12, OccupancyLimiter::registers},
                {128, 64, 100 * 1024, "9.0", 8, OccupancyLimiter::shared_memory},
                {256, 255, 0, "8.0", 8, OccupancyLimiter::registers}};
  for (const auto& c : kCases) {
    const auto occupancy =
        accepted(theoretical_occupancy(launch_with(c.threads, c.registers, c.shared_bytes), c.capability));
    ASSERT_TRUE(occupancy) << c.threads;
    EXPECT_EQ(occupancy->warps, c.warps) << c.threads << " threads, " << c.registers << " registers";
    EXPECT_EQ(occupancy->limiter, c.limiter) << c.threads << " threads, " << c.registers << " registers";
  }
}

// Who relieves one of several limits gains nothing, so all of them are named.
TEST(Occupancy, NamesEveryLimitThatAllowsNoBlockMore) {
  using Limiters = std::vector<OccupancyLimiter>;
  const auto limiters = [](std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes) {
    const auto occupancy =
        accepted(theoretical_occupancy(launch_with(threads, registers, shared_bytes), "9.0"));
    return occupancy ? occupancy->limiters() : Limiters{};
  };
  EXPECT_EQ(limiters(128, 168, 0), Limiters{OccupancyLimiter::registers});
  EXPECT_EQ(limiters(384, 168, 200 * 1024),
            (Limiters{OccupancyLimiter::registers, OccupancyLimiter::shared_memory}))
      << "one block by either";
  EXPECT_EQ(limiters(32, 64, 6272), (Limiters{OccupancyLimiter::blocks, OccupancyLimiter::registers,
                                              OccupancyLimiter::shared_memory}))
      << "32 blocks by each";
  EXPECT_EQ(limiters(32, 64, 6016), (Limiters{OccupancyLimiter::blocks, OccupancyLimiter::registers}));
  EXPECT_EQ(limiters(1024, 32, 0), (Limiters{OccupancyLimiter::warps, OccupancyLimiter::registers}));
}

// Blocks of a thread, of a warp row of 1024 threads, and of 20 KiB.
TEST(Occupancy, KnowsTheCapabilities) {
  const struct {
    const char* capability;
    std::int64_t max_warps, small, large, shared;
  } kCases[] = {{"6.1", 64, 32, 2, 4},   {"7.0", 64, 32, 2, 4},  {"7.5", 32, 16, 1, 3},
                {"8.0", 64, 32, 2, 7},   {"8.6", 48, 16, 1, 4},  {"8.7", 48, 16, 1, 7},
                {"8.9", 48, 24, 1, 4},   {"9.0", 64, 32, 2, 10}, {"10.0", 64, 32, 2, 10},
                {"10.3", 64, 32, 2, 10}, {"12.0", 48, 24, 1, 4}, {"12.1", 48, 24, 1, 4}};
  for (const auto& c : kCases) {
    EXPECT_EQ(accepted(theoretical_occupancy(launch_with(1, 32, 0), c.capability))->max_warps, c.max_warps)
        << c.capability;
    EXPECT_EQ(fit(1, 32, 0, c.capability), c.small) << c.capability;
    EXPECT_EQ(fit(1024, 32, 0, c.capability), c.large) << c.capability;
    EXPECT_EQ(fit(32, 32, 20 * 1024, c.capability), c.shared) << c.capability;
  }
  for (const char* unknown : {"", "9", "9.00", "99.0", "90"})
    EXPECT_FALSE(accepted(theoretical_occupancy({}, unknown))) << unknown;
}

TEST(Occupancy, AnyValuesAreSafe) {
  EXPECT_EQ(fit(96, 0, 0), 21) << "registers are not known";
  EXPECT_EQ(fit(96, -5, -5), 21);
  for (const std::int64_t wild :
       {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1025}, INT64_MAX})
    EXPECT_EQ(fit(wild, 32, 0), 0) << wild;
  EXPECT_EQ(fit(32, INT64_MAX, 0), 0);
  EXPECT_EQ(fit(32, 257, 0), 0);
  EXPECT_EQ(fit(32, 32, INT64_MAX), 0);
  store::Launch wild = launch_with(32, 32, INT64_MAX);
  wild.static_smem_bytes = INT64_MAX;
  EXPECT_FALSE(accepted(theoretical_occupancy(wild, "9.0")));
  wild = {};
  wild.block = {1024, 1024, 1024};
  EXPECT_FALSE(accepted(theoretical_occupancy(wild, "9.0")));
  wild.block = {INT64_MAX, INT64_MAX, -1};
  EXPECT_FALSE(accepted(theoretical_occupancy(wild, "9.0")));
  wild.block = {8, 16, 8};
  EXPECT_EQ(accepted(theoretical_occupancy(wild, "9.0"))->warps, 64);
}

}  // namespace
}  // namespace ridgeline::analyzer
