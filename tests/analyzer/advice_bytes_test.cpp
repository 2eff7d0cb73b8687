// Advice on bytes moved for nothing (accesses, the L2 cache, kernels to be folded into others), on both sides of
// every threshold, held against tests/golden/tables/advice-bytes.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_bytes(AdviceTable& table) {
  const AdviceRule narrow = AdviceRule::narrow_access, l2 = AdviceRule::l2_fit;
  const Works moved = after_good({{.name = "strided_kernel",
                                   .duration_ns = 500'000,
                                   .dram_ratio = 0.8,
                                   .declared_bytes = 200e6}});  // 400 MB are moved
  for (const AdviceRule rule : {narrow, l2})
    table.sweep<double>(rule, "declared", moved, 2, &AdviceWork::declared_bytes,
                        {0, 20e6, 27.9e6, 28.1e6, 100e6, 200e6, 300e6, 319e6, 321e6, 380e6});
  table.sweep<double>(narrow, "dram", moved, 2, &AdviceWork::dram_ratio, {0.45, 0.6, 0.7});
  Works fits = moved;
  fits[2].duration_ns = 60'000;
  for (const AdviceRule rule : {narrow, l2})
    table.sweep<double>(rule, "declared of 48 MB", fits, 2, &AdviceWork::declared_bytes,
                        {20e6, 27.9e6, 28.1e6, 37e6, 39e6});
  Works twice = fits;  // of two launches each declares its own
  twice.push_back(fits[2]);
  for (const AdviceRule rule : {narrow, l2})
    for (const double declared : {20e6, 27.9e6, 28.1e6, 37e6}) {
      twice[2].declared_bytes = twice[3].declared_bytes = declared;
      table.one(rule, fmt::format("declared of 48 MB by two {:.1f}", declared / 1e6), twice);
    }
  table.sweep<double>(l2, "dram of little", fits, 2, &AdviceWork::dram_ratio, {0.35, 0.5, 0.7});
  for (const AdviceRule rule : {narrow, l2}) {
    table.one(rule, "uncounted", moved, uncounted);
    Works none = moved;
    none[2].declared_bytes = 0;
    table.one(rule, "undeclared", none);
    none[2].dram_ratio = 0.3;
    table.one(rule, "undeclared, latency", none);
    for (const KernelClass kernel_class :
         {KernelClass::gemm, KernelClass::attention, KernelClass::communication}) {
      none[2].kernel_class = kernel_class;
      table.one(rule, "undeclared, latency, " + std::string(to_string(kernel_class)), none);
      table.one(rule, "undeclared, uncounted, " + std::string(to_string(kernel_class)), none, uncounted);
    }
  }
  Works two = moved;
  two[2].declared_bytes = 0;
  two[2].dram_ratio = 0.3;
  two.push_back(two[2]);
  two[3].name = "longer_kernel";
  two[3].duration_ns = 700'000;
  two.push_back(two[2]);
  two[4].name = "shorter_kernel";
  two[4].duration_ns = 300'000;
  table.one(narrow, "three that may be", two);
  table.one(narrow, "three that are not counted", two, uncounted);

  AdviceWork lanes{.name = "lanes_kernel", .duration_ns = 500'000, .dram_ratio = 0.3};
  const auto sectors = [&](double sectors_a_request, double requests, double l2_pct) {
    lanes.joined = {{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors_a_request * 1e6},
                    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", requests}};
    lanes.counted = {{"lts__t_bytes.sum", l2_pct * 20e6},  // of 4 TB/s
                     {"lts__t_bytes.sum.peak_sustained_elapsed.per_second", 4e12}};
    table.one(narrow, fmt::format("{} sectors, {:.0f} requests, L2 {}", sectors_a_request, requests, l2_pct),
              after_good({lanes}));
  };
  for (const double count : {4.0, 16.0, 18.3, 18.5, 24.0, 32.0}) sectors(count, 1e6, 60);
  for (const double busy : {30.0, 49.0, 51.0, 90.0}) sectors(32, 1e6, busy);
  sectors(32, 0, 60);
}

void advise_elementwise(AdviceTable& table) {
  const AdviceRule fold = AdviceRule::fold_elementwise, bias_rule = AdviceRule::bias_kernel;
  const AdviceWork first{.name = "mul_elementwise",
                         .kernel_class = KernelClass::elementwise,
                         .duration_ns = 200'000,
                         .dram_ratio = 0.8};
  AdviceWork second = first;
  second.name = "add_elementwise";
  const Works pair = after_good({first, second});
  table.sweep<std::int64_t>(fold, "time of the second", pair, 3, &AdviceWork::duration_ns,
                            {100'000, 178'000, 182'000, 200'000, 218'000, 222'000, 300'000});
  table.sweep<std::int64_t>(fold, "time of the first", pair, 2, &AdviceWork::duration_ns, {1'000, 190'000});
  table.sweep<double>(fold, "written by the second", pair, 3, &AdviceWork::written, {0.48, 0.52, 0.53});
  Works unlike = pair;
  unlike[3].name = "unrolled<StoreWithCast>";
  table.sweep<double>(fold, "written by a cast", unlike, 3, &AdviceWork::written,
                      {0.1, 0.5, 0.74, 0.76, 0.95});
  std::swap(unlike[2].name, unlike[3].name);
  table.sweep<double>(fold, "written after a cast", unlike, 3, &AdviceWork::written, {0.1, 0.74, 0.76});
  for (const std::size_t at : {2U, 3U})
    table.sweep<double>(fold, fmt::format("dram of {}", at - 1), pair, at, &AdviceWork::dram_ratio,
                        {0.3, 0.78, 0.82});
  for (const double dram : {0.39, 0.4, 0.41}) {
    Works both = pair;
    both[2].dram_ratio = both[3].dram_ratio = dram;
    table.one(fold, fmt::format("dram of both {}", dram), both);
    table.sweep<double>(fold, "fma of the second", both, 3, &AdviceWork::fma_pct, {30, 34.9, 35.1, 45});
  }
  table.sweep<double>(fold, "written by the first", pair, 2, &AdviceWork::written, {0, 0.3, 0.47, 0.6, 1});
  table.sweep<std::int64_t>(fold, "stream", pair, 3, &AdviceWork::stream, {8});
  for (const std::size_t at : {2U, 3U}) {
    table.sweep<KernelClass>(fold, fmt::format("class of {}", at - 1), pair, at, &AdviceWork::kernel_class,
                             {KernelClass::reduction, KernelClass::copy, KernelClass::other});
    table.sweep<std::string>(fold, fmt::format("name of {}", at - 1), pair, at, &AdviceWork::name,
                             {"triton_poi_fused", "reduce_rows", "softmax_x", "layer_norm", "transpose_x",
                              "permute_x", "gather_x", "scatter_x"});
  }
  table.one(fold, "uncounted", pair, uncounted);
  table.one(fold, "three in a row", after_good({first, second, first, second}));

  AdviceWork bias{.name = "add_bias_kernel",
                  .kernel_class = KernelClass::elementwise,
                  .duration_ns = 150'000,
                  .dram_ratio = 0.8};
  Works works = {table_rows(), table_gemm(), bias};
  table.sweep<std::string>(bias_rule, "name", works, 2, &AdviceWork::name,
                           {"add_bias_kernel", "bias_gradient", "bias_backward", "bias_bprop", "bias_dropout",
                            "bias_residual", "bias_norm", "bias_softmax", "plain_kernel", "CUDAFunctor_add",
                            "add_kernel", "AddFunctor", "cudnn_bias"});
  table.sweep<std::int64_t>(bias_rule, "stream", works, 2, &AdviceWork::stream, {8});
  table.sweep<KernelClass>(bias_rule, "class before", works, 1, &AdviceWork::kernel_class,
                           {KernelClass::attention, KernelClass::other});
  table.sweep<std::string>(bias_rule, "name before", works, 1, &AdviceWork::name,
                           {"cublasLt::splitKreduce_kernel", "cutlass_80_d884gemm", "dgemm_kernel"});
  works[2].name = "at::native::CUDAFunctor_add";
  table.sweep<double>(bias_rule, "written by an add", works, 2, &AdviceWork::written,
                      {0, 0.3, 0.43, 0.44, 0.5, 0.9, 1});
  table.sweep<double>(bias_rule, "dram of an add", works, 2, &AdviceWork::dram_ratio, {0.2, 0.39, 0.41});
  table.one(bias_rule, "uncounted add", works, uncounted);
  works.push_back(table_gemm());
  works.push_back(works[2]);
  works.back().duration_ns = 90'000;
  works.push_back(table_gemm());
  works.push_back(bias);
  table.one(bias_rule, "three, two kernels", works);

  const AdviceRule casts = AdviceRule::casts;
  const AdviceWork cast{.name = "unrolled_elementwise_kernel<LoadWithCast>",
                        .kernel_class = KernelClass::elementwise,
                        .duration_ns = 200'000,
                        .dram_ratio = 0.8};
  const Works fed = {table_rows(), cast, table_gemm()};
  table.sweep<std::int64_t>(casts, "time", fed, 1, &AdviceWork::duration_ns,
                            {20'000, 99'000, 100'000, 101'000, 400'000});
  table.sweep<std::string>(
      casts, "name", fed, 1, &AdviceWork::name,
      {"StoreWithCast", "bfloat16_copy", "float16_copy", "float8_copy", "cast_kernel", "convert_x", "x_cast",
       "cast_x", "to_bf16", "to_fp16", "to_fp8", "cudnn_convert_", "convert_dq", "convert_dkv", "plain"});
  table.sweep<KernelClass>(casts, "class", fed, 1, &AdviceWork::kernel_class,
                           {KernelClass::copy, KernelClass::other});
  table.sweep<std::int64_t>(casts, "stream", fed, 1, &AdviceWork::stream, {9});
  Works ahead = fed;
  for (int between = 1; between <= 4; ++between) {
    ahead.insert(ahead.begin() + 2, {.name = "between_kernel", .duration_ns = 20'000, .dram_ratio = 0.9});
    table.one(casts, fmt::format("{} kernels between", between), ahead);
  }
  AdviceWork back = cast;
  back.name = "StoreWithCast";
  back.duration_ns = 150'000;
  table.one(casts, "there and back", {table_gemm(), table_rows(), cast, back});
  table.one(casts, "twice the same", {table_gemm(), table_rows(), cast, cast});
  back.blocks = 100;
  table.one(casts, "there and back of other sizes", {table_gemm(), table_rows(), cast, back});
  table.one(casts, "two before one GEMM", {table_rows(), cast, cast, table_gemm()});
  table.one(casts, "two GEMMs", {cast, table_gemm(), back, table_gemm(), table_rows()});
}

TEST(AcceptedTable, AdviceOnBytes) {
  AdviceTable table;
  advise_bytes(table);
  advise_elementwise(table);
  ridgeline::testing::expect_accepted("advice-bytes.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
