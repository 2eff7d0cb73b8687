// Advice on GEMMs and attention, on both sides of every threshold, held against tests/golden/tables/advice-gemms.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_gemms(AdviceTable& table) {
  const AdviceRule attention = AdviceRule::unfused_attention;
  const AdviceWork gemm{.name = "sm80_xmma_gemm_bf16bf16_batched",
                        .kernel_class = KernelClass::gemm,
                        .duration_ns = 300'000,
                        .dram_ratio = 0.7,
                        .tensor_pct = 20,
                        .tensor_ops = 5e10};
  const AdviceWork softmax{.name = "softmax_warp_forward",
                           .kernel_class = KernelClass::classifier,
                           .duration_ns = 250'000,
                           .dram_ratio = 0.8};
  const AdviceWork scale{.name = "scale_kernel",
                         .kernel_class = KernelClass::elementwise,
                         .duration_ns = 100'000,
                         .dram_ratio = 0.8};
  for (int before = 0; before <= 4; ++before) {
    for (int behind = 0; behind <= 4; behind += before == 0 ? 1 : 4) {
      Works works = after_good(
          {{.name = "apart_kernel", .kernel_class = KernelClass::reduction, .dram_ratio = 0.9}, gemm});
      works.insert(works.end(), static_cast<std::size_t>(before), scale);
      works.push_back(softmax);
      works.insert(works.end(), static_cast<std::size_t>(behind), scale);
      works.push_back(gemm);
      table.one(attention, fmt::format("{} before, {} behind", before, behind), works);
    }
  }
  const Works fused = after_good({gemm, scale, softmax, gemm});
  table.sweep<double>(attention, "operations", fused, 2, &AdviceWork::tensor_ops, {0, 1e10, 1e11, 2e11});
  table.sweep<KernelClass>(
      attention, "class between", fused, 3, &AdviceWork::kernel_class,
      {KernelClass::copy, KernelClass::other, KernelClass::reduction, KernelClass::gemm});
  table.sweep<std::int64_t>(attention, "stream between", fused, 3, &AdviceWork::stream, {9});
  table.sweep<std::string>(
      attention, "name", fused, 4, &AdviceWork::name,
      {"soft_max", "log_softmax", "logsoftmax", "softmax_loss", "softmax_entropy", "softmax_nll",
       "softmax_classifier", "flash_softmax", "fmha_softmax", "sdpa_softmax"});
  table.one(attention, "chain", {gemm, softmax, gemm, softmax, gemm, table_rows()});
  table.one(attention, "first and last", {gemm, softmax, gemm});
  table.one(attention, "uncounted", fused, uncounted);

  const AdviceRule fp32 = AdviceRule::fp32_gemm;
  const Works single = after_good({{.name = "ampere_sgemm_128x64_nn",
                                    .kernel_class = KernelClass::gemm,
                                    .duration_ns = 800'000,
                                    .dram_ratio = 0.05,
                                    .fma_pct = 85}});
  table.sweep<double>(fp32, "tensor", single, 2, &AdviceWork::tensor_pct, {1.6, 4.9, 5.1, 10, 30});
  table.sweep<double>(fp32, "fma", single, 2, &AdviceWork::fma_pct, {5, 9.9, 10.1, 20, 50, 99});
  table.sweep<double>(fp32, "fp64", single, 2, &AdviceWork::fp64_pct, {9, 9.9, 10, 11});
  table.sweep<double>(fp32, "dram", single, 2, &AdviceWork::dram_ratio, {0.3, 0.6, 0.84, 0.95});
  table.sweep<std::int64_t>(fp32, "time", single, 2, &AdviceWork::duration_ns, {1'000, 30'000});
  for (const double fma : {15.9, 16.1}) {
    Works beside = single;
    beside[2].tensor_pct = 4;
    table.sweep<double>(fp32, "tensor 4, fma", beside, 2, &AdviceWork::fma_pct, {fma});
  }
  table.sweep<std::string>(fp32, "uncounted", single, 2, &AdviceWork::name,
                           {"ampere_sgemm_128x64_nn", "sgemm_tensorop", "sgemm_tf32", "hgemm", "dgemm"},
                           uncounted);
  table.one(fp32, "unknown device", single,
            [](AdviceModel& model) { model.model.devices.front().name = "Unheard Of"; });

  const AdviceRule ugly = AdviceRule::ugly_dimension;
  const Works narrow = after_good({{.name = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align1",
                                    .kernel_class = KernelClass::gemm,
                                    .duration_ns = 600'000,
                                    .dram_ratio = 0.1,
                                    .tensor_pct = 25,
                                    .tensor_ops = 1e11}});
  table.sweep<std::string>(
      ugly, "name", narrow, 2, &AdviceWork::name,
      {"cutlass_80_tensorop_bf16_s16816gemm_bf16_nn_align2",
       "cutlass_80_tensorop_bf16_s16816gemm_bf16_nn_align4",
       "cutlass_80_tensorop_bf16_s16816gemm_bf16_nn_align8", "cutlass_80_tensorop_s1688gemm_tf32_nn_align1",
       "cutlass_80_tensorop_s1688gemm_tf32_nn_align4", "cutlass_80_tensorop_bf16_s16816gemm"});
  Works alone = narrow;
  alone[0].tensor_pct = 30;  // no other GEMM of the type is fast
  table.sweep<double>(ugly, "tensor", narrow, 2, &AdviceWork::tensor_pct, {5, 20, 50, 53, 55, 64});
  table.sweep<double>(ugly, "of the only type, tensor", alone, 2, &AdviceWork::tensor_pct,
                      {5, 20, 38, 40, 64});
  table.sweep<std::int64_t>(ugly, "time", narrow, 2, &AdviceWork::duration_ns, {1'000, 50'000});
  Works sized = narrow;
  sized[2].name = "nvjet_tst_64x64_64x4_TNT";
  sized[2].declared_bytes = 60e6;
  sized[2].m = 8192;
  sized[2].n = 50'257;
  sized[2].k = 768;
  table.sweep<std::int64_t>(ugly, "n", sized, 2, &AdviceWork::n, {50'257, 50'260, 50'264, 50'304, 7});
  sized[2].n = 1024;
  table.sweep<std::int64_t>(ugly, "m", sized, 2, &AdviceWork::m, {8191, 8184, 12, 8});
  table.sweep<std::int64_t>(ugly, "k", sized, 2, &AdviceWork::k, {767, 764, 760, 65});
  table.one(ugly, "uncounted", narrow, uncounted);

  const AdviceRule faster = AdviceRule::faster_library;
  AdviceWork slow = sized[2];
  slow.tensor_pct = 40;
  slow.m = slow.n = slow.k = 4096;
  AdviceWork quick = slow;
  quick.name = "nvjet_tst_256x128_64x4_TNT";
  quick.duration_ns = 400'000;
  const Works two = {table_rows(), slow, quick};
  table.sweep<std::int64_t>(faster, "time", two, 2, &AdviceWork::duration_ns,
                            {1'000, 200'000, 400'000, 521'000, 522'000, 560'000, 600'000, 900'000});
  table.sweep<std::string>(
      faster, "name", two, 2, &AdviceWork::name,
      {"nvjet_256_bias_TNT", "nvjet_256_gelu_TNT", "nvjet_256_relu_TNT", "nvjet_256_aux_TNT",
       "nvjet_256_splitk_TNT", "nvjet_256_NNT", "cutlass_x_TNT", "own_gemm"});
  for (const char* library :
       {"cutlass", "xmma", "sgemm", "hgemm", "s16816gemm", "s1688gemm", "cublas", "mine"}) {
    Works both = two;
    both[1].name = std::string(library) + "_slow";
    both[2].name = std::string(library) + "_quick";
    table.one(faster, library, both);
  }
  for (auto field : {&AdviceWork::m, &AdviceWork::n, &AdviceWork::k})
    table.sweep<std::int64_t>(faster, "another size", two, 2, field, {2048});
  Works thrice = two;
  thrice.push_back(quick);
  thrice.back().name = "nvjet_tst_128x128_64x4_TNT";
  thrice.back().duration_ns = 500'000;
  thrice.push_back(slow);
  thrice.back().duration_ns = 640'000;
  table.one(faster, "three kernels", thrice);
  Works brief = {table_rows(), table_rows(), slow};
  brief[2].duration_ns = 15'000;
  table.one(faster, "a little alone", brief);
  brief[2].duration_ns = 25'000;
  table.one(faster, "alone", brief);

  const AdviceRule split = AdviceRule::split_k;
  const Works sum = {
      table_rows(),
      table_gemm(),
      {.name = "cublasLt::splitKreduce_kernel", .kernel_class = KernelClass::gemm, .duration_ns = 400'000}};
  table.sweep<std::int64_t>(split, "time", sum, 2, &AdviceWork::duration_ns,
                            {50'000, 199'000, 200'000, 201'000, 800'000});
  table.sweep<std::string>(split, "name", sum, 2, &AdviceWork::name,
                           {"split_k_reduce", "splitk_reduce", "reduce"});
  table.sweep<std::int64_t>(split, "stream", sum, 2, &AdviceWork::stream, {9});
  Works sums = sum;
  sums.push_back(table_gemm());
  sums.back().name = "cutlass_gemm";
  sums.push_back(sum[2]);
  sums.back().duration_ns = 300'000;
  table.one(split, "of two kernels", sums);
}

TEST(AcceptedTable, AdviceOnGemms) {
  AdviceTable table;
  advise_gemms(table);
  ridgeline::testing::expect_accepted("advice-gemms.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
