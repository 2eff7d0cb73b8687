// How launches fill a device of 132 SMs, and what names say of products.
#include "ridgeline/analyzer/ranking/launch_shape.h"

#include <gtest/gtest.h>

#include "fabricated_model.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::analyse;
using testing::FabricatedModel;

store::Device h200() {
  store::Device device{.id = 1, .name = "NVIDIA H200"};
  device.compute_capability = "9.0";
  device.sm_count = 132;
  return device;
}

store::Launch launch(std::int64_t blocks, std::int64_t threads, std::int64_t registers,
                     std::int64_t shared_bytes) {
  store::Launch one;
  one.grid = {blocks, 1, 1};
  one.block = {threads, 1, 1};
  one.registers_per_thread = static_cast<int>(registers);
  one.dynamic_smem_bytes = shared_bytes;
  return one;
}

TEST(LaunchShape, WavesAndWhatStaysIdleInTheLast) {
  const auto shape = [](std::int64_t blocks) { return *launch_shape(h200(), launch(blocks, 1024, 32, 0)); };
  EXPECT_DOUBLE_EQ(shape(264).waves, 1);
  EXPECT_DOUBLE_EQ(shape(264).idle_ratio, 0);
  EXPECT_DOUBLE_EQ(shape(330).waves, 1.25);
  EXPECT_DOUBLE_EQ(shape(330).idle_ratio, 1 - 1.25 / 2);
  EXPECT_DOUBLE_EQ(shape(2640).idle_ratio, 0);
  EXPECT_DOUBLE_EQ(shape(132).idle_ratio, 0) << "a block on every SM";
  // Counted block by block: 264 have a place at once.
  for (std::int64_t blocks = 265; blocks < 800; blocks += 7) {
    std::int64_t waves = 0;
    for (std::int64_t left = blocks; left > 0; left -= 264) ++waves;
    const auto places = static_cast<double>(waves * 264);
    EXPECT_DOUBLE_EQ(shape(blocks).waves, static_cast<double>(blocks) / 264);
    EXPECT_NEAR(shape(blocks).idle_ratio, (places - static_cast<double>(blocks)) / places, 1e-12) << blocks;
  }
  EXPECT_DOUBLE_EQ(shape(33).idle_ratio, 0.75);
  EXPECT_DOUBLE_EQ(shape(33).occupancy_ratio, 1);
  EXPECT_DOUBLE_EQ(accepted(launch_shape(h200(), launch(1, 384, 168, 0)))->occupancy_ratio, 12.0 / 64);
  store::Launch flat = launch(10, 16, 32, 0);
  flat.grid = {10, 20, 30};
  flat.block = {16, 4, 2};
  EXPECT_EQ(accepted(launch_shape(h200(), flat))->blocks, 6000);
  EXPECT_EQ(accepted(launch_shape(h200(), flat))->blocks_per_sm, 16);
}

TEST(LaunchShape, UnknownDevicesAndMadeUpGrids) {
  store::Device unknown = h200();
  unknown.compute_capability = "99.0";
  EXPECT_FALSE(accepted(launch_shape(unknown, launch(1, 32, 32, 0))).has_value());
  unknown = h200();
  unknown.sm_count.reset();
  EXPECT_FALSE(accepted(launch_shape(unknown, launch(1, 32, 32, 0))).has_value());
  store::Launch huge = launch(INT64_MAX, 32, 32, 0);
  huge.grid.y = huge.grid.z = INT64_MAX;
  EXPECT_GT(accepted(launch_shape(h200(), huge))->waves, 1e6);
  huge.block = {INT64_MAX, INT64_MAX, -1};
  huge.static_smem_bytes = INT64_MAX;
  EXPECT_FALSE(accepted(launch_shape(h200(), huge)).has_value());
}

TEST(LaunchShape, TilesAsNamesWriteThem) {
  const auto tile = [](std::string_view name) {
    const auto found = accepted(tile_in_name(name));
    return found ? std::vector<std::int64_t>{found->m, found->n, found->k} : std::vector<std::int64_t>{};
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(tile("nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_NNT"), (Sizes{128, 256, 64}));
  EXPECT_EQ(
      tile("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x3_nn_align8>"),
      (Sizes{128, 64, 32}));
  EXPECT_EQ(tile("ampere_sgemm_128x64_tn"), (Sizes{128, 64, 0}));
  EXPECT_EQ(tile("ampere_sgemm_128x64"), (Sizes{128, 64, 0})) << "at the end of the name";
  EXPECT_EQ(tile("ampere_sgemm_128x64x"), Sizes{});
  EXPECT_EQ(tile("ampere_sgemm_128x64x32x2"), Sizes{}) << "of four numbers none is known to be the tile";
  EXPECT_EQ(tile("ampere_sgemm_4096x64"), (Sizes{4096, 64, 0}));
  EXPECT_EQ(tile("ampere_sgemm_4097x64"), Sizes{});
  EXPECT_EQ(tile("ampere_sgemm_0x64"), Sizes{});
  EXPECT_EQ(tile("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x32_warpgroupsize1x1x1_bias"),
            (Sizes{64, 128, 32}));
  EXPECT_EQ(tile("triton_mm_kernel_0d1d2d"), Sizes{});
  EXPECT_EQ(tile("kernel_128xfast"), Sizes{});
  EXPECT_EQ(tile("k_tilesize"), Sizes{});
  EXPECT_EQ(tile("gemm_99999999999x64"), Sizes{});
}

TEST(LaunchShape, AlignmentsAsNamesWriteThem) {
  EXPECT_EQ(accepted(alignment_in_name("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1")), 1);
  EXPECT_EQ(accepted(alignment_in_name(
                "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_256x128_32x3_nt_align8>")),
            8);
  EXPECT_EQ(accepted(alignment_in_name("ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn")), 8);
  EXPECT_EQ(accepted(alignment_in_name("nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_NNT")), std::nullopt);
  EXPECT_EQ(accepted(alignment_in_name("k_align")), std::nullopt);
  EXPECT_EQ(accepted(alignment_in_name("k_align0")), std::nullopt);
  EXPECT_EQ(accepted(alignment_in_name("k_align128")), std::nullopt) << "no load takes as many";
}

TEST(LaunchShape, ATileBeyondTheEdgeIsWaste) {
  EXPECT_DOUBLE_EQ(accepted(tile_waste({1024, 512, 64}, {128, 256, 64})), 0);
  EXPECT_DOUBLE_EQ(accepted(tile_waste({1000, 512, 64}, {128, 256, 64})), 1 - 1000.0 / 1024);
  EXPECT_DOUBLE_EQ(accepted(tile_waste({256, 128, 64}, {128, 256, 64})), 0) << "either way round";
  EXPECT_NEAR(accepted(tile_waste({INT64_MAX, INT64_MAX, 1}, {128, 256, 0})), 0, 1e-9);
}

TEST(LaunchShape, TypesAsNamesSayThem) {
  EXPECT_EQ(accepted(precision_in_name("nvjet_sm90_tst_128x256_64x4")), Precision::bf16);
  EXPECT_EQ(accepted(precision_in_name("nvjet_hsh_128x256_64x4")), Precision::fp16);
  EXPECT_EQ(accepted(precision_in_name("nvjet_sm90_qqtst_128x128_128x6")), Precision::fp8);
  EXPECT_EQ(accepted(precision_in_name("nvjet_")), Precision::any);
  EXPECT_EQ(accepted(precision_in_name("nvjet_sm")), Precision::any);
  EXPECT_EQ(accepted(precision_in_name("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64")),
            Precision::bf16);
  EXPECT_EQ(accepted(precision_in_name("cutlass_80_tensorop_s1688gemm_256x128")), Precision::tf32);
  EXPECT_EQ(accepted(precision_in_name("ampere_sgemm_128x64_tn")), Precision::fp32);
  EXPECT_EQ(accepted(precision_in_name("sm90_xmma_gemm_e4m3bf16_e4m3f32")), Precision::fp8);
  EXPECT_EQ(accepted(precision_in_name("my_kernel")), Precision::any);
}

TEST(LaunchShape, RowsHaveTheMeanByTimeAndWhatTheirOneKernelSays) {
  FabricatedModel f;
  f.model.devices[0] = h200();
  f.step(Phase::timeline);
  const auto add = [&](const char* name, std::int64_t at, std::int64_t duration_ns, std::int64_t blocks) {
    store::Launch& one = f.launch(name, at, at + duration_ns);
    one.grid = {blocks, 1, 1};
    one.block = {1024, 1, 1};
    one.registers_per_thread = 32;
  };
  const char* kProduct = "nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_NNT";
  f.kernel(kProduct, KernelClass::gemm);
  add(kProduct, 1'000'000, 30'000, 264);
  add(kProduct, 1'100'000, 10'000, 528);
  add("copy_8x8_kernel", 1'200'000, 10'000, 66);
  AnalysisOptions options;
  const Analysis by_kernel = analyse(f.done(), options).value();
  for (const RankingRow& row : by_kernel.ranking.rows) {
    const bool product = row.kernel == kProduct;
    EXPECT_DOUBLE_EQ(row.waves.value(), product ? 1.25 : 0.25);
    EXPECT_DOUBLE_EQ(row.wave_waste_ratio.value(), product ? 0 : 0.5);
    EXPECT_DOUBLE_EQ(row.theoretical_occupancy_ratio.value(), 1);
    EXPECT_EQ(row.tile, product ? "128x256x64" : "") << "a copy has no tile whatever its name";
    EXPECT_EQ(row.name_precision, product ? Precision::bf16 : Precision::any);
    EXPECT_FALSE(row.tile_waste_ratio.has_value()) << "no product is declared";
  }
  options.ranking.key = RankingKey::nvtx_path;  // one row of both
  const RankingRow mixed = analyse(f.model, options).value().ranking.rows.at(0);
  EXPECT_EQ(mixed.tile, "");
  EXPECT_DOUBLE_EQ(mixed.waves.value(), (1.25 * 40 + 0.25 * 10) / 50);
}

// The CUDA programming guide's table of compute capabilities: blocks, warps and KiB of shared memory of an SM.
TEST(LaunchShape, EveryArchitectureHasItsLimits) {
  struct Limits {
    const char* capability;
    std::int64_t blocks, warps, shared_kib;
  };
  for (const Limits& sm :
       {Limits{"7.0", 32, 64, 96}, Limits{"7.5", 16, 32, 64}, Limits{"8.0", 32, 64, 164},
        Limits{"8.6", 16, 48, 100}, Limits{"8.7", 16, 48, 164}, Limits{"8.9", 24, 48, 100},
        Limits{"9.0", 32, 64, 228}, Limits{"10.0", 32, 64, 228}, Limits{"12.0", 24, 48, 100}}) {
    SCOPED_TRACE(sm.capability);
    store::Device device = h200();
    device.compute_capability = sm.capability;
    const auto fit = [&](std::int64_t threads, std::int64_t shared_bytes) {
      const auto shape = accepted(launch_shape(device, launch(1, threads, 16, shared_bytes)));
      return shape ? shape->blocks_per_sm : 0;
    };
    EXPECT_EQ(fit(32, 0), sm.blocks);
    EXPECT_EQ(fit(512, 0), sm.warps / 16);
    // From 8.0 on each block takes 1 KiB more than it asks for.
    const std::int64_t most = (sm.shared_kib - (sm.capability[0] == '7' ? 0 : 1)) * 1024;
    EXPECT_EQ(fit(32, most), 1);
    EXPECT_EQ(fit(32, most + 1), 0);
    EXPECT_EQ(fit(32, most - 127), 1) << "in pieces of 128 bytes";
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
