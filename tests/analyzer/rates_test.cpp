#include "ranking/rates.h"

#include <gtest/gtest.h>

#include "ridgeline/store/device_peaks.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

constexpr const char* kNvjet = "nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_NNT";

store::Device device(const char* compute_capability = "9.0") {
  store::Device made;
  made.id = 1;
  made.name = "NVIDIA H200";
  made.compute_capability = compute_capability;
  made.sm_count = 132;
  return made;
}

LaunchValues sampled(double busy = 0.5, double clock_hz = 1.5e9) {
  LaunchValues values;
  values.t1.tensor_utilisation = Measured{.value = busy, .tier = Tier::t1};
  values.t1.clock_hz = clock_hz;
  return values;
}

std::optional<double> rate(const LaunchValues& values, const char* kernel = kNvjet,
                           KernelClass kernel_class = KernelClass::gemm, const char* capability = "9.0") {
  const auto found = accepted(sampled_ops_rate(device(capability), kernel, kernel_class, values, 100'000));
  return found ? std::optional(found->ops_per_s) : std::nullopt;
}

TEST(SampledOpsRate, IsThePipeTimesWhatTheSmsDoInACycle) {
  // 132 SMs, 4096 dense BF16 operations each in a cycle of the tensor pipe, half of the cycles, 1.5 GHz.
  EXPECT_DOUBLE_EQ(rate(sampled()).value(), 132 * 4096 * 0.5 * 1.5e9);
  EXPECT_DOUBLE_EQ(rate(sampled(0.25, 1e9)).value(), 132 * 4096 * 0.25 * 1e9);
  EXPECT_EQ(accepted(sampled_ops_rate(device(), kNvjet, KernelClass::gemm, sampled(), 1))->quantity,
            Quantity::bf16_flops_per_s);
  // FP8 does twice as many.
  EXPECT_DOUBLE_EQ(rate(sampled(), "nvjet_sm90_qqtst_128x128_128x6").value(), 132 * 8192 * 0.5 * 1.5e9);
}

TEST(SampledOpsRate, IsUnknownWhereNothingSaysTheType) {
  EXPECT_EQ(rate(sampled(), "sm90_my_matmul"), std::nullopt);
  EXPECT_EQ(rate(sampled(), kNvjet, KernelClass::elementwise), std::nullopt)
      << "a BF16 sum is no tensor operation";
  EXPECT_EQ(rate(sampled(), "ampere_sgemm_128x64_tn", KernelClass::gemm, "8.0"), std::nullopt)
      << "FP32 is the FMA pipe's";
}

TEST(SampledOpsRate, IsOfKernelsWithTheDevicesOwnInstructions) {
  const char* kAmpere = "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nt_align8";
  EXPECT_TRUE(rate(sampled(), kAmpere, KernelClass::gemm, "8.0").has_value());
  EXPECT_EQ(rate(sampled(), kAmpere, KernelClass::gemm, "9.0"), std::nullopt)
      << "a busy cycle of an older instruction does fewer operations";
  EXPECT_TRUE(rate(sampled(), "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x32").has_value());
  EXPECT_TRUE(rate(sampled(), "flash_fprop_wgmma_bf16", KernelClass::attention).has_value());
}

TEST(SampledOpsRate, IsUnknownWhereSamplesSayNothingOfTheLaunch) {
  EXPECT_EQ(rate({}), std::nullopt);
  EXPECT_EQ(rate(sampled(0)), std::nullopt);
  LaunchValues beside = sampled();
  beside.t1.concurrent = true;
  EXPECT_EQ(rate(beside), std::nullopt) << "the pipe worked for other kernels too";
  LaunchValues unclocked = sampled();
  unclocked.t1.clock_hz.reset();
  EXPECT_EQ(rate(unclocked), std::nullopt);
  EXPECT_EQ(rate(sampled(), kNvjet, KernelClass::gemm, ""), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::analyzer
