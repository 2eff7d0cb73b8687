// Each rule of advice over a range of what it looks at, on both sides of every threshold: the case with its gains and
// figures, what came nearest, or what is lacking, held against tests/golden/tables/advice.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "advice_model.h"
#include "ridgeline/analyzer/advice/advice.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

using ridgeline::to_string;
using ridgeline::testing::expect_accepted;
using Works = std::vector<AdviceWork>;
using Change = std::function<void(AdviceModel&)>;

std::string text_of(const std::vector<Evidence>& evidence) {
  std::string text;
  for (const Evidence& one : evidence) text += fmt::format(" {}={:.7g}", one.name, one.value);
  return text;
}

std::string text_of(const AdviceGain& gain) {
  return fmt::format("{:.0f}/{:.0f}/{:.0f}", gain.low_ns, gain.mid_ns, gain.high_ns);
}

std::string text_of(const Advice& advice, const char* what) {
  return fmt::format("{} {} [{}] alone {} net {} claimed {:.0f} launches {}{}", what, to_string(advice.basis),
                     advice.subject, text_of(advice.alone), text_of(advice.net), advice.claimed_ns,
                     advice.launch_count, text_of(advice.evidence));
}

// All that the report says of one rule.
std::string verdict_text(const AdviceReport& report, AdviceRule rule) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  for (const Advice& advice : report.advice) {
    if (advice.rule == rule) add(text_of(advice, "case"));
  }
  for (const Advice& advice : report.small) {
    if (advice.rule == rule) add(text_of(advice, "small"));
  }
  for (const AdviceUnknown& one : report.unknown) {
    if (one.rule != rule) continue;
    add(fmt::format("lacks {} [{}] {:.0f}", to_string(one.need), one.subject, one.max_ns.value_or(-1)));
  }
  for (const AdviceHealthy& one : report.healthy) {
    if (one.rule == rule) add("healthy" + text_of(one.evidence));
  }
  return text.empty() ? "nothing" : text;
}

class Table {
 public:
  void one(AdviceRule rule, const std::string& what, const Works& works, const Change& before = {},
           const Change& after = {}) {
    AdviceModel model;
    if (before) before(model);
    model.program(works);
    if (after) after(model);
    text_ += fmt::format("{} {}: {}\n", to_string(rule), what, verdict_text(model.advised(), rule));
  }

  /// One field of the work at `at` over some values.
  template <typename Field>
  void sweep(AdviceRule rule, const std::string& what, const Works& works, std::size_t at,
             Field AdviceWork::*field, std::initializer_list<Field> values, const Change& before = {},
             const Change& after = {}) {
    for (const Field& value : values) {
      Works changed = works;
      changed[at].*field = value;
      one(rule, fmt::format("{} {}", what, shown(value)), changed, before, after);
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string shown(double value) { return fmt::format("{:.7g}", value); }
  static std::string shown(std::int64_t value) { return std::to_string(value); }
  static std::string shown(const std::string& value) { return value; }
  static std::string shown(KernelClass value) { return std::string(to_string(value)); }
  static std::string shown(SynchronisationCall value) { return std::string(to_string(value)); }
  template <typename T>
  static std::string shown(const std::optional<T>& value) {
    return value ? shown(*value) : "none";
  }

  std::string text_;
};

AdviceWork table_gemm() {
  return {.name = "nvjet_tst_256x128_64x4_TNT",
          .kernel_class = KernelClass::gemm,
          .duration_ns = 1'000'000,
          .blocks = 132,
          .threads = 384,
          .registers = 168,
          .dram_ratio = 0.3,
          .tensor_pct = 90,
          .tensor_ops = 6e11};
}

AdviceWork table_rows() {
  return {.name = "rows_kernel", .duration_ns = 1'000'000, .dram_ratio = 0.9};
}

Works after_good(Works more) {
  Works all = {table_gemm(), table_rows()};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void uncounted(AdviceModel& model) {
  model.with_counters = model.with_samples = false;
}

void shapes(Table& table) {
  const AdviceRule tail = AdviceRule::tail_wave, few = AdviceRule::too_few_blocks;
  // 264 blocks fit.
  const AdviceWork work{
      .name = "tail_kernel", .duration_ns = 400'000, .blocks = 330, .threads = 1024, .sm_active_pct = 60};
  const Works works = after_good({work});
  table.sweep<std::int64_t>(tail, "blocks", works, 2, &AdviceWork::blocks,
                            {264, 265, 500, 510, 528, 529, 1399, 1583, 1584, 1663});
  table.sweep<double>(tail, "SMs active", works, 2, &AdviceWork::sm_active_pct, {68, 94.9, 95.1, 97, 99});
  table.sweep<double>(tail, "dram", works, 2, &AdviceWork::dram_ratio, {0.05, 0.8, 0.95});
  table.sweep<std::int64_t>(tail, "time", works, 2, &AdviceWork::duration_ns, {1'000, 40'000});
  table.sweep<KernelClass>(tail, "class", works, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::reduction});
  table.sweep<std::string>(
      tail, "name", works, 2, &AdviceWork::name,
      {"persistent_kernel", "gemm_stream_k", "gemm_streamk", "nvjet_x", "hopper_matmul"});
  table.one(tail, "no samples", works, [](AdviceModel& model) { model.with_samples = false; });
  AdviceWork other = work;
  other.name = "other_tail_kernel";
  other.blocks = 400;
  other.duration_ns = 700'000;
  table.one(tail, "two kernels", after_good({work, other, work}));
  table.one(tail, "two kernels, no samples", after_good({work, other}),
            [](AdviceModel& model) { model.with_samples = false; });

  const Works small =
      after_good({{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05}});
  table.sweep<std::int64_t>(few, "blocks", small, 2, &AdviceWork::blocks, {1, 8, 50, 98, 99, 100, 132});
  table.sweep<double>(few, "dram", small, 2, &AdviceWork::dram_ratio, {0.4, 0.8, 0.84, 0.86, 0.97});
  table.sweep<std::int64_t>(few, "time", small, 2, &AdviceWork::duration_ns, {1'000, 9'000, 60'000});
  table.sweep<KernelClass>(few, "class", small, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::attention});
  table.one(few, "no SMs known", small,
            [](AdviceModel& model) { model.model.devices.front().sm_count.reset(); });
  Works beside = small;
  beside[2].stream = 9;
  for (const std::int64_t earlier : {-100'000, -299'000}) {
    beside[2].gap_ns = earlier;
    table.one(few, fmt::format("beside another for {}", -earlier), beside);
  }
  Works twice = small;
  twice.push_back(small[2]);
  twice.back().blocks = 16;
  twice.back().duration_ns = 100'000;
  table.one(few, "two launches", twice);
}

void bytes(Table& table) {
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

void elementwise(Table& table) {
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

void gemms(Table& table) {
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

void launches(Table& table) {
  const AdviceRule optimiser = AdviceRule::optimiser, overhead = AdviceRule::launch_overhead;
  const auto many = [](int count, std::int64_t time_ns, double dram, const char* name,
                       KernelClass kernel_class, int kernels) {
    Works works = {table_gemm(), table_rows()};
    for (int i = 0; i < count; ++i) {
      works.push_back({.name = kernels > 1 ? fmt::format("{}_{}", name, i % kernels) : name,
                       .kernel_class = kernel_class,
                       .duration_ns = time_ns,
                       .dram_ratio = dram});
    }
    return works;
  };
  const auto tell = [&](const std::string& what, const Works& works, const Change& before = {}) {
    table.one(optimiser, what, works, before);
  };
  for (const int count : {50, 51, 80})
    tell(fmt::format("{} launches", count),
         many(count, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1));
  for (const std::int64_t time_ns : {9'999, 10'000})
    tell(fmt::format("time {}", time_ns), many(60, time_ns, 0.2, "adamw_kernel", KernelClass::optimiser, 1));
  for (const double dram : {0.5, 0.8, 0.95})
    tell(fmt::format("dram {}", dram), many(60, 6000, dram, "adamw_kernel", KernelClass::optimiser, 1));
  tell("uncounted", many(60, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1), uncounted);
  for (const auto& [count, kernels] :
       {std::pair(50, 5), {51, 3}, {60, 1}, {60, 2}, {96, 24}, {100, 25}, {60, 12}})
    tell(fmt::format("{} launches of {} unnamed kernels", count, kernels),
         many(count, 6000, 0.2, "unnamed", KernelClass::elementwise, kernels));
  tell("unnamed of 49 us", many(60, 49'000, 0.2, "unnamed", KernelClass::elementwise, 3));
  Works mixed = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 3);
  for (std::size_t i = 2; i < mixed.size(); i += 10) mixed[i].duration_ns = 50'000;
  tell("unnamed with some of 50 us", mixed);
  Works loops = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 3);
  const Works others = many(60, 6000, 0.2, "others", KernelClass::elementwise, 4);
  loops.insert(loops.end(), others.begin() + 2, others.end());
  tell("two loops", loops);
  Works uneven = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 2);
  for (std::size_t i = 2; i < uneven.size() - 4; ++i) uneven[i].name = "often";
  tell("one kernel often, another rarely", uneven);
  Works ranges = many(60, 6000, 0.2, "plain", KernelClass::other, 1);
  for (std::size_t i = 2; i < ranges.size(); ++i) ranges[i].range = "train/optimizer.step";
  tell("by the range's name", ranges);
  Works apart = many(60, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1);
  for (std::size_t i = 2; i < apart.size(); ++i) {
    apart[i].gap_ns = 9000;
    apart[i].late_ns = 5000;
  }
  tell("with gaps", apart);

  const auto small = [](std::int64_t gap_ns, std::int64_t late_ns, int count) {
    Works works = {table_gemm(), table_rows()};
    for (int i = 0; i < count; ++i) {
      works.push_back({.name = fmt::format("small_kernel_{}", i),
                       .duration_ns = 8000,
                       .dram_ratio = 0.7,
                       .gap_ns = gap_ns,
                       .late_ns = late_ns});
    }
    return works;
  };
  for (const std::int64_t gap_ns : {1300, 1400, 1401, 2500, 5000, 9000, 40'000})
    table.one(overhead, fmt::format("gap {}", gap_ns),
              small(gap_ns, std::min<std::int64_t>(gap_ns - 1000, 5000), 40));
  for (const std::int64_t late_ns : {3000, 8900, 18'000, 19'100, 25'000})
    table.one(overhead, fmt::format("called {} before", late_ns), small(9000, late_ns, 40));
  table.one(overhead, "gaps of 299 us", small(299'000, 5000, 5));
  table.one(overhead, "gaps of 301 us", small(301'000, 5000, 5));
  Works graph = small(9000, 5000, 40);
  for (AdviceWork& work : graph) work.graph = true;
  table.one(overhead, "nodes of a graph", graph);
  Works waits = small(9000, 5000, 40);
  waits[1].gap_ns = 200'000;
  waits[1].late_ns = 5000;
  waits[1].wait = SynchronisationCall::stream;
  table.one(overhead, "a wait besides", waits);
  table.one(overhead, "records were lost", small(9000, 5000, 40), {}, [](AdviceModel& model) {
    model.model.completeness.front().launches_seen = 2000;
    model.model.completeness.front().kernel_records = 1999;
  });
  table.one(overhead, "records were dropped", small(9000, 5000, 40), {},
            [](AdviceModel& model) { model.model.completeness.front().dropped_records = 1; });
  table.one(overhead, "steps vary", small(9000, 5000, 40), {}, [](AdviceModel& model) {
    for (std::size_t i = 0; i < 40; i += 4) model.launches[i].grid.x = 100;
  });
}

void idle(Table& table) {
  const AdviceRule sync = AdviceRule::sync_in_step, cold = AdviceRule::cold_start;
  Works wait = {table_gemm(), table_rows()};
  wait[1].gap_ns = 200'000;
  wait[1].late_ns = 5000;
  wait[1].wait = SynchronisationCall::stream;
  table.sweep<std::int64_t>(sync, "gap", wait, 1, &AdviceWork::gap_ns, {3'000, 50'000, 200'000, 900'000});
  table.sweep<std::optional<SynchronisationCall>>(
      sync, "call", wait, 1, &AdviceWork::wait,
      {SynchronisationCall::stream, SynchronisationCall::device, SynchronisationCall::event,
       SynchronisationCall::copy_to_host, SynchronisationCall::copy_to_device,
       SynchronisationCall::async_copy_to_device, SynchronisationCall::async_copy_to_host, std::nullopt});
  Works waits = wait;
  waits.push_back(wait[1]);
  waits.back().wait = SynchronisationCall::device;
  waits.back().gap_ns = 100'000;
  table.one(sync, "of two kinds", waits);
  table.one(sync, "waits not recorded", wait, [](AdviceModel& model) { model.with_waits = false; });

  Works loading = {table_gemm(), table_rows()};
  loading[1].gap_ns = 3'000'000;
  loading[1].late_ns = 2'990'000;
  const auto later = [](AdviceModel& model) { model.first_index = 40; };
  table.sweep<std::int64_t>(cold, "call", loading, 1, &AdviceWork::call_ns,
                            {900'000, 999'999, 1'000'000, 1'499'000, 1'501'000, 2'900'000}, later);
  loading[1].call_ns = 2'900'000;
  for (const std::int64_t first : {-5, -4, -3, -2, -1, 0, 1})
    table.one(cold, fmt::format("steps from {}", first), loading,
              [first](AdviceModel& model) { model.first_index = first; });
  Works twice = loading;
  twice.push_back(loading[1]);
  twice.back().name = "second_kernel";
  twice.back().gap_ns = 3'400'000;
  twice.back().late_ns = 3'390'000;
  table.one(cold, "two", twice, later);
  loading[1].graph = true;
  table.one(cold, "a graph", loading, later);

  const AdviceRule loader = AdviceRule::loader_wait;
  const auto loaded = [&](std::int64_t gap_ns, const char* name, std::int64_t from_ns, std::int64_t to_ns) {
    AdviceWork copy{
        .name = "copy", .duration_ns = 30'000, .gap_ns = gap_ns, .stream = 8, .copy_bytes = 1'000'000};
    Works works = {copy, table_gemm(), table_rows()};
    works[1].late_ns = 40'000;
    table.one(loader, fmt::format("gap {}, {} for {}", gap_ns, name, from_ns - to_ns), works, {},
              [&](AdviceModel& model) {
                model.model.strings[900] = name;
                std::int64_t id = 1;
                for (const store::Memcpy& one : model.model.memcpys) {
                  store::NvtxRange range;
                  range.id = id++;
                  range.process_id = range.thread_id = 1;
                  range.name_id = range.path_id = 900;
                  range.start_ns = one.start_ns - from_ns;
                  range.end_ns = one.start_ns - to_ns;
                  model.model.nvtx_ranges.push_back(range);
                }
              });
  };
  const char* const next = "enumerate(DataLoader)#_Single.__next__";
  for (const std::int64_t gap_ns : {30'000, 40'000, 42'000, 99'000, 101'000, 600'000}) {
    loaded(gap_ns, next, gap_ns, 0);
    loaded(gap_ns, "evaluate", gap_ns, 0);
  }
  for (const std::int64_t from_ns : {290'000, 301'000, 310'000}) loaded(600'000, next, from_ns, 0);
  loaded(600'000, next, 600'000, 290'000);
  loaded(600'000, next, 600'000, 310'000);
}

void copies(Table& table) {
  const AdviceRule pageable = AdviceRule::pageable_copy, exposed = AdviceRule::copy_exposed;
  const auto copied = [](std::int64_t bytes, std::int64_t time_ns) {
    AdviceWork copy{.name = "copy", .duration_ns = time_ns, .stream = 8, .copy_bytes = bytes};
    return Works{copy, table_gemm(), table_rows()};
  };
  Works held = copied(8'000'000, 1'000'000);
  held[0].wait = SynchronisationCall::async_copy_to_device;
  for (const std::string capability : {"9.0", "8.0"}) {
    table.sweep<std::int64_t>(
        pageable, capability + " bytes", held, 0, &AdviceWork::copy_bytes,
        {65'535, 65'536, 8'000'000, 14'390'000, 14'410'000, 29'900'000, 30'100'000, 45'000'000},
        [&](AdviceModel& model) { model.model.devices.front().compute_capability = capability; });
  }
  table.sweep<std::optional<std::int64_t>>(pageable, "held", held, 0, &AdviceWork::held_ns,
                                           {100'000, 499'000, 500'000, 800'000});
  table.sweep<std::optional<SynchronisationCall>>(
      pageable, "call", held, 0, &AdviceWork::wait,
      {SynchronisationCall::copy_to_device, SynchronisationCall::async_copy_to_host,
       SynchronisationCall::copy_to_host, SynchronisationCall::stream, std::nullopt});
  table.one(pageable, "waits not recorded", held, [](AdviceModel& model) { model.with_waits = false; });
  Works behind = held;
  behind[1].late_ns = 5000;
  behind[1].gap_ns = 100'000;
  table.one(pageable, "a gap behind", behind);

  const Works pinned = copied(45'000'000, 1'000'000);
  table.sweep<std::int64_t>(exposed, "time", pinned, 0, &AdviceWork::duration_ns,
                            {10'000, 20'000, 20'300, 26'000, 60'000, 1'000'000, 1'990'000, 2'010'000});
  table.sweep<std::int64_t>(exposed, "next kernel", pinned, 1, &AdviceWork::gap_ns,
                            {-700'000, 0, 5000, 400'000});
  table.sweep<std::optional<std::int64_t>>(exposed, "next call before", pinned, 1, &AdviceWork::late_ns,
                                           {-1000, 100, 2900, 3100, 20'000});
  for (const std::int64_t over : {-200'000, -790'000, -810'000, -1'000'000}) {
    Works beside = {table_gemm(), pinned[0], table_rows()};
    beside[1].gap_ns = over;
    table.one(exposed, fmt::format("beside a kernel for {}", -over), beside);
  }
  Works others = pinned;
  others.push_back(pinned[0]);
  others.push_back(table_rows());
  others[3].duration_ns = 300'000;
  table.one(exposed, "two copies", others);
  table.one(exposed, "pageable", held);
  table.one(exposed, "to the host", pinned, {}, [](AdviceModel& model) {
    for (store::Memcpy& copy : model.model.memcpys) copy.kind = CopyKind::device_to_host;
  });
  table.one(exposed, "on the device", pinned, {}, [](AdviceModel& model) {
    for (store::Memcpy& copy : model.model.memcpys) copy.kind = CopyKind::device_to_device;
  });

  const AdviceRule comm = AdviceRule::comm_exposed;
  const Works reduce = after_good({{.name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                    .kernel_class = KernelClass::communication,
                                    .duration_ns = 500'000,
                                    .blocks = 24,
                                    .threads = 512,
                                    .dram_ratio = 0.1}});
  table.sweep<std::int64_t>(comm, "time", reduce, 2, &AdviceWork::duration_ns,
                            {10'000, 20'000, 20'500, 40'000, 500'000});
  for (const std::int64_t over : {-100'000, -260'000, -490'000}) {
    Works beside = reduce;
    beside[2].stream = 9;
    beside[2].gap_ns = over;
    table.one(comm, fmt::format("beside a kernel for {}", -over), beside);
  }
  Works more = reduce;
  more.push_back(reduce[2]);
  more.back().name = "ncclDevKernel_AllGather";
  more.back().duration_ns = 700'000;
  more.back().stream = 9;
  more.back().gap_ns = -200'000;
  more.push_back(reduce[2]);
  table.one(comm, "three, two beside each other", more);
}

void clocks(Table& table) {
  const AdviceRule rule = AdviceRule::clock_down;
  const Works works = {
      table_gemm(), table_rows(), {.name = "latency_kernel", .duration_ns = 500'000, .dram_ratio = 0.3}};
  const auto at = [&](const std::string& what, std::int64_t hz, std::int64_t power_mw, std::int64_t reasons,
                      const Change& before = {}) {
    table.one(rule, what, works, before, [&](AdviceModel& model) { model.clocks(hz, power_mw, reasons); });
  };
  for (const std::int64_t mhz : {1200, 1900, 1950, 1960, 1970, 1979, 1980, 1990})
    at(fmt::format("thermal at {} MHz", mhz), mhz * 1'000'000, 480'000, 0x20);
  for (const std::int64_t reason : {0x0, 0x1, 0x2, 0x4, 0x8, 0x20, 0x40, 0x80, 0x100, 0x24})
    at(fmt::format("reason {:#x}", reason), 1'200'000'000, 400'000, reason);
  const auto mixed = [&](int held_of_ten, std::int64_t reason) {
    table.one(rule, fmt::format("reason {:#x} in {} of 10 samples", reason, held_of_ten), works, {},
              [&](AdviceModel& model) {
                model.clocks(1'200'000'000, 400'000, reason);
                int i = 0;
                for (store::ClockSample& sample : model.model.clock_samples) {
                  if (i++ % 10 >= held_of_ten) sample.throttle_reasons = 0;
                }
              });
  };
  for (const int held : {2, 3, 4, 5, 6}) {
    mixed(held, 0x20);
    mixed(held, 0x2);
  }
  const auto lowered = [&](const char* device, std::int64_t power_mw, std::int64_t seconds_ns,
                           std::int64_t between_ns) {
    table.one(
        rule,
        fmt::format("{} limited at {} mW for {} ms, a sample each {} ms", device, power_mw,
                    seconds_ns / 1'000'000, between_ns / 1'000'000),
        works, [&](AdviceModel& model) { model.model.devices.front().name = device; },
        [&](AdviceModel& model) {
          model.clocks(1'300'000'000, power_mw, 0x4);
          store::ClockSample sample = model.model.clock_samples.back();
          const std::int64_t until_ns = model.model.clock_samples.front().time_ns + seconds_ns;
          while (sample.time_ns + between_ns <= until_ns) {
            sample.time_ns += between_ns;
            model.model.clock_samples.push_back(sample);
          }
        });
  };
  for (const std::int64_t power : {400'000, 629'000, 631'000, 690'000})
    lowered("NVIDIA H200", power, 3'000'000'000, 100'000'000);
  for (const std::int64_t between : {999'000'000, 1'000'000'000, 1'001'000'000})
    lowered("NVIDIA H200", 400'000, 8'000'000'000, between);
  for (const std::int64_t length : {1'999'000'000, 2'000'000'000})
    lowered("NVIDIA H200", 400'000, length, 1'000'000);
  for (const auto& [device, watts] : {std::pair("NVIDIA H200 NVL", 600),
                                      {"NVIDIA H100 NVL", 400},
                                      {"NVIDIA H100 PCIe", 350},
                                      {"NVIDIA GH200 480GB", 700},
                                      {"NVIDIA H100 80GB HBM3", 700},
                                      {"NVIDIA A100-PCIE-40GB", 250},
                                      {"NVIDIA A100-SXM4-80GB", 400},
                                      {"NVIDIA B200", 1000},
                                      {"Unheard Of", 500}}) {
    lowered(device, watts * 899, 2'500'000'000, 500'000'000);
    lowered(device, watts * 901, 2'500'000'000, 500'000'000);
  }
  at("no highest clock", 1'200'000'000, 400'000, 0x20,
     [](AdviceModel& model) { model.model.devices.front().max_sm_clock_hz.reset(); });
  table.one(rule, "no samples", works);
}

void occupancies(Table& table) {
  const AdviceRule rule = AdviceRule::occupancy;
  const AdviceWork slow{.name = "latency_kernel",
                        .duration_ns = 500'000,
                        .blocks = 2640,
                        .threads = 256,
                        .registers = 128,
                        .dram_ratio = 0.3};
  const auto stalled = [](double scoreboard) {
    return [scoreboard](AdviceModel& model) {
      store::StallWindow window;
      window.process_id = window.device_id = 1;
      window.first_step_index = 3;
      window.last_step_index = 6;
      window.period_cycles = 16384;
      window.samples = 1000;
      model.model.stall_windows = {window};
      const auto sample = [&](const std::string& reason, double count) {
        model.model.stall_samples.push_back({model.kernel("latency_kernel"), 16,
                                             "smsp__pcsamp_warps_issue_stalled_" + reason,
                                             static_cast<std::int64_t>(count)});
      };
      sample("long_scoreboard", 1000 * scoreboard);
      sample("math_pipe_throttle", 700 - 1000 * scoreboard);
      sample("selected", 300);
    };
  };
  const Works works = after_good({slow});
  for (const double share : {0.1, 0.29, 0.3, 0.31, 0.7})
    table.one(rule, fmt::format("scoreboard {}", share), works, {}, stalled(share));
  table.sweep<std::int64_t>(rule, "registers", works, 2, &AdviceWork::registers,
                            {32, 56, 64, 72, 80, 96, 168, 255}, {}, stalled(0.7));
  table.sweep<double>(rule, "dram", works, 2, &AdviceWork::dram_ratio, {0.05, 0.5, 0.58, 0.62, 0.9}, {},
                      stalled(0.7));
  table.sweep<double>(rule, "tensor", works, 2, &AdviceWork::tensor_pct, {10, 29, 31, 50}, {}, stalled(0.7));
  table.sweep<std::int64_t>(rule, "blocks", works, 2, &AdviceWork::blocks, {132, 264, 265, 1000}, {},
                            stalled(0.7));
  table.sweep<std::int64_t>(rule, "threads", works, 2, &AdviceWork::threads, {32, 64, 512, 1024}, {},
                            stalled(0.7));
  table.sweep<KernelClass>(rule, "class", works, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::gemm, KernelClass::attention}, {},
                           stalled(0.7));
  table.one(rule, "no stalls", works);
  AdviceWork other = slow;
  other.name = "longer_latency_kernel";
  other.duration_ns = 800'000;
  AdviceWork brief = slow;
  brief.name = "shorter_latency_kernel";
  brief.duration_ns = 200'000;
  table.one(rule, "three without stalls", after_good({slow, other, brief}));
  table.one(rule, "three uncounted", after_good({slow, other, brief}), uncounted);
  for (const KernelClass kernel_class : {KernelClass::gemm, KernelClass::attention}) {
    other.kernel_class = kernel_class;
    table.one(rule, "uncounted " + std::string(to_string(kernel_class)), after_good({slow, other}),
              uncounted);
  }
}

TEST(AcceptedTable, AdviceOfEveryRuleOnBothSidesOfItsThresholds) {
  Table table;
  shapes(table);
  bytes(table);
  elementwise(table);
  gemms(table);
  launches(table);
  idle(table);
  copies(table);
  clocks(table);
  occupancies(table);
  expect_accepted("advice.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
