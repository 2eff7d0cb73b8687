// Each rule with its defect and without, its guards, and what becomes of the gains.
#include "ridgeline/analyzer/advice/advice.h"

#include <gtest/gtest.h>

#include "advice_model.h"

namespace ridgeline::analyzer::testing {
namespace {

using ridgeline::to_string;

// Kernels without any defect, 2 ms of them.
std::vector<AdviceWork> good_step() {
  return {{.name = "nvjet_tst_256x128_64x4_TNT",
           .kernel_class = KernelClass::gemm,
           .duration_ns = 1'000'000,
           .blocks = 132,
           .threads = 384,
           .registers = 168,
           .dram_ratio = 0.3,
           .tensor_pct = 90,
           .tensor_ops = 6e11},
          {.name = "rows_kernel", .duration_ns = 1'000'000, .dram_ratio = 0.9}};
}

std::vector<AdviceWork> good_step_and(std::vector<AdviceWork> more) {
  std::vector<AdviceWork> all = good_step();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

AdviceReport advised(const std::vector<AdviceWork>& works) {
  AdviceModel model;
  model.program(works);
  return model.advised();
}

const Advice* found(const AdviceReport& report, AdviceRule rule) {
  for (const Advice& advice : report.advice) {
    if (advice.rule == rule) return &advice;
  }
  return nullptr;
}

bool healthy(const AdviceReport& report, AdviceRule rule) {
  return std::holds_alternative<AdviceHealthy>(report.verdict(rule));
}

std::optional<AdviceNeed> lacks(const AdviceReport& report, AdviceRule rule) {
  const AdviceVerdict verdict = report.verdict(rule);
  const auto* unknown = std::get_if<AdviceUnknown>(&verdict);
  return unknown == nullptr ? std::nullopt : std::optional(unknown->need);
}

double evidence(const Advice& advice, std::string_view name) {
  for (const Evidence& figure : advice.evidence) {
    if (figure.name == name) return figure.value;
  }
  return -1;
}

// The one case of the step, that rule's, with a gain between the two.
void expect_only(const AdviceReport& report, AdviceRule rule, double min_ns, double max_ns) {
  const Advice* advice = found(report, rule);
  ASSERT_NE(advice, nullptr) << to_string(rule) << " is not found";
  EXPECT_EQ(&report.advice.front(), advice) << to_string(report.advice.front().rule) << " comes first";
  EXPECT_GE(advice->net.mid_ns, min_ns) << to_string(rule);
  EXPECT_LE(advice->net.mid_ns, max_ns) << to_string(rule);
  EXPECT_LE(advice->net.low_ns, advice->net.mid_ns);
  EXPECT_LE(advice->net.mid_ns, advice->net.high_ns);
  EXPECT_FALSE(advice->launches.empty() && advice->launch_count > 0);
}

TEST(Advice, OfAGoodStepThereIsNone) {
  const AdviceReport report = advised(good_step());
  EXPECT_TRUE(report.advice.empty()) << to_string(report.advice.front().rule);
  EXPECT_TRUE(report.small.empty());
  EXPECT_EQ(report.together.mid_ns, 0);
  EXPECT_EQ(AdviceReport::rules(), 22U);
  EXPECT_NEAR(report.min_ns, 0.003 * report.step_ns, 1);
}

TEST(Advice, EveryRuleAnswersExactlyOnceOrByCases) {
  const AdviceReport report = advised(good_step());
  for (const auto& word : Vocabulary<AdviceRule>::kWords) {
    int answers = 0;
    for (const AdviceHealthy& one : report.healthy) answers += one.rule == word.value ? 1 : 0;
    for (const AdviceUnknown& one : report.unknown) answers += one.rule == word.value ? 1 : 0;
    EXPECT_EQ(answers, 1) << word.text;
  }
}

// Nothing seen is not the same as nothing there.
TEST(Advice, WithoutCountersRulesThatNeedThemCannotSay) {
  const std::vector<AdviceWork> works =
      good_step_and({{.name = "many_registers_kernel", .duration_ns = 400'000, .registers = 255}});
  AdviceModel counted;
  counted.program(works);
  const AdviceReport with = counted.advised();
  EXPECT_EQ(lacks(with, AdviceRule::narrow_access), AdviceNeed::sectors);
  EXPECT_EQ(lacks(with, AdviceRule::l2_fit), AdviceNeed::declared_work);
  EXPECT_EQ(lacks(with, AdviceRule::occupancy), AdviceNeed::stalls);
  AdviceModel uncounted;
  uncounted.with_counters = uncounted.with_samples = false;
  uncounted.program(works);
  const AdviceReport without = uncounted.advised();
  for (const AdviceRule rule : {AdviceRule::narrow_access, AdviceRule::l2_fit, AdviceRule::occupancy})
    EXPECT_EQ(lacks(without, rule), AdviceNeed::counters) << to_string(rule);
  EXPECT_TRUE(without.advice.empty());
}

TEST(Advice, TailWave) {
  // 330 blocks of 1024 threads: 264 fit, so that 1.25 waves take the time of two.
  AdviceWork tail{
      .name = "tail_kernel", .duration_ns = 400'000, .blocks = 330, .threads = 1024, .sm_active_pct = 68};
  expect_only(advised(good_step_and({tail})), AdviceRule::tail_wave, 0.2 * 400'000, 0.32 * 400'000);
  AdviceWork even = tail;
  even.sm_active_pct = 99;
  EXPECT_TRUE(healthy(advised(good_step_and({even})), AdviceRule::tail_wave))
      << "the SMs were busy: blocks even out";
  AdviceWork whole = tail;
  whole.blocks = 528;
  EXPECT_TRUE(healthy(advised(good_step_and({whole})), AdviceRule::tail_wave));
  AdviceWork many = tail;
  many.blocks = 264 * 6 + 60;
  EXPECT_TRUE(healthy(advised(good_step_and({many})), AdviceRule::tail_wave))
      << "a small part of seven waves";
  AdviceWork fetches = tail;
  fetches.name = "persistent_tail_kernel";
  EXPECT_TRUE(healthy(advised(good_step_and({fetches})), AdviceRule::tail_wave));
  AdviceModel unsampled;
  unsampled.with_samples = false;
  unsampled.program(good_step_and({tail}));
  EXPECT_EQ(lacks(unsampled.advised(), AdviceRule::tail_wave), AdviceNeed::samples);
}

TEST(Advice, TooFewBlocks) {
  AdviceWork few{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05};
  expect_only(advised(good_step_and({few})), AdviceRule::too_few_blocks, 0.6 * 300'000, 0.95 * 300'000);
  AdviceWork enough = few;
  enough.blocks = 132;
  EXPECT_TRUE(healthy(advised(good_step_and({enough})), AdviceRule::too_few_blocks));
  AdviceWork collective = few;
  collective.name = "ncclDevKernel_AllReduce";
  collective.kernel_class = KernelClass::communication;
  EXPECT_TRUE(healthy(advised(good_step_and({collective})), AdviceRule::too_few_blocks)) << "few on purpose";
  AdviceWork bounded = few;
  bounded.dram_ratio = 0.97;
  EXPECT_EQ(found(advised(good_step_and({bounded})), AdviceRule::too_few_blocks), nullptr)
      << "DRAM is the limit";
  AdviceModel unknown;
  unknown.model.devices.front().sm_count.reset();
  unknown.program(good_step_and({few}));
  EXPECT_EQ(lacks(unknown.advised(), AdviceRule::too_few_blocks), AdviceNeed::device_facts);
}

TEST(Advice, NarrowAccessAndL2Fit) {
  // 400 MB moved where 200 are needed: no L2 holds them.
  AdviceWork twice{
      .name = "strided_kernel", .duration_ns = 500'000, .dram_ratio = 0.8, .declared_bytes = 200e6};
  expect_only(advised(good_step_and({twice})), AdviceRule::narrow_access, 0.3 * 500'000, 0.5 * 500'000);
  AdviceWork fits = twice;
  fits.duration_ns = 60'000;
  fits.declared_bytes = 20e6;  // of 48 MB moved; L2 keeps 28 MB
  const AdviceReport report = advised(good_step_and({fits}));
  EXPECT_NE(found(report, AdviceRule::l2_fit), nullptr);
  EXPECT_EQ(found(report, AdviceRule::narrow_access), nullptr) << "each excess is of one rule";
  AdviceWork exact = twice;
  exact.declared_bytes = 380e6;
  EXPECT_TRUE(healthy(advised(good_step_and({exact})), AdviceRule::narrow_access));
  EXPECT_TRUE(healthy(advised(good_step_and({exact})), AdviceRule::l2_fit));
  AdviceWork slow = twice;
  slow.dram_ratio = 0.4;
  slow.declared_bytes = 100e6;
  EXPECT_EQ(found(advised(good_step_and({slow})), AdviceRule::narrow_access), nullptr)
      << "DRAM is not what holds it";
  AdviceWork undeclared = twice;
  undeclared.declared_bytes = 0;
  EXPECT_EQ(lacks(advised(good_step_and({undeclared})), AdviceRule::l2_fit), AdviceNeed::declared_work);
  AdviceWork latency = undeclared;
  latency.dram_ratio = 0.3;
  EXPECT_EQ(lacks(advised(good_step_and({latency})), AdviceRule::narrow_access), AdviceNeed::sectors);
}

TEST(Advice, FasterLibrary) {
  AdviceWork slow{.name = "nvjet_tst_64x64_64x4_TNT",
                  .kernel_class = KernelClass::gemm,
                  .duration_ns = 600'000,
                  .dram_ratio = 0.1,
                  .tensor_pct = 40,
                  .tensor_ops = 1e11,
                  .declared_bytes = 60e6,
                  .m = 4096,
                  .n = 4096,
                  .k = 4096};
  AdviceWork fast = slow;
  fast.name = "nvjet_tst_256x128_64x4_TNT";
  fast.duration_ns = 400'000;
  expect_only(advised(good_step_and({slow, fast})), AdviceRule::faster_library, 0.8 * 200'000, 200'000);
  AdviceWork transposed = fast;
  transposed.name = "nvjet_tst_256x128_64x4_NNT";
  EXPECT_EQ(lacks(advised(good_step_and({slow, transposed})), AdviceRule::faster_library),
            AdviceNeed::ceilings)
      << "another layout is another product";
  AdviceWork about = fast;
  about.duration_ns = 550'000;
  EXPECT_EQ(found(advised(good_step_and({slow, about})), AdviceRule::faster_library), nullptr);
  AdviceWork epilogue = fast;
  epilogue.name = "nvjet_tst_256x128_64x4_bias_TNT";
  EXPECT_EQ(found(advised(good_step_and({epilogue, slow})), AdviceRule::faster_library), nullptr);
}

TEST(Advice, FoldElementwise) {
  const AdviceWork first{.name = "mul_elementwise",
                         .kernel_class = KernelClass::elementwise,
                         .duration_ns = 200'000,
                         .dram_ratio = 0.8};
  AdviceWork second = first;
  second.name = "add_elementwise";
  const AdviceReport report = advised(good_step_and({first, second}));
  expect_only(report, AdviceRule::fold_elementwise, 0.3 * 200'000, 1.0 * 200'000);
  ASSERT_NE(found(report, AdviceRule::fold_elementwise), nullptr);
  EXPECT_EQ(found(report, AdviceRule::fold_elementwise)->basis, AdviceBasis::estimated);
  AdviceWork other_size = second;
  other_size.dram_ratio = 0.4;
  EXPECT_TRUE(healthy(advised(good_step_and({first, other_size})), AdviceRule::fold_elementwise));
  AdviceWork in_l2 = second;
  in_l2.written = 0.95;  // reads next to nothing from DRAM
  EXPECT_TRUE(healthy(advised(good_step_and({first, in_l2})), AdviceRule::fold_elementwise))
      << "nothing to save";
  AdviceWork reduction = second;
  reduction.kernel_class = KernelClass::reduction;
  EXPECT_TRUE(healthy(advised(good_step_and({first, reduction})), AdviceRule::fold_elementwise));
  AdviceModel uncounted;
  uncounted.with_counters = uncounted.with_samples = false;
  uncounted.program(good_step_and({first, second}));
  EXPECT_EQ(lacks(uncounted.advised(), AdviceRule::fold_elementwise), AdviceNeed::counters);
}

TEST(Advice, BiasKernel) {
  const AdviceWork bias{.name = "add_bias_kernel",
                        .kernel_class = KernelClass::elementwise,
                        .duration_ns = 150'000,
                        .dram_ratio = 0.8};
  std::vector<AdviceWork> works = {good_step()[1], good_step()[0], bias};
  expect_only(advised(works), AdviceRule::bias_kernel, 0.85 * 150'000, 150'000);
  EXPECT_TRUE(healthy(advised({good_step()[0], good_step()[1], bias}), AdviceRule::bias_kernel))
      << "no GEMM before it";
  works[2].name = "bias_gradient_kernel";
  EXPECT_TRUE(healthy(advised(works), AdviceRule::bias_kernel)) << "no epilogue adds up columns so";
  works[2].name = "at::native::CUDAFunctor_add";
  EXPECT_NE(found(advised(works), AdviceRule::bias_kernel), nullptr);
  works[2].written = 1.0 / 3;
  EXPECT_TRUE(healthy(advised(works), AdviceRule::bias_kernel)) << "reads two tensors: a residual";
}

TEST(Advice, UnfusedAttention) {
  AdviceWork gemm{.name = "sm80_xmma_gemm_bf16bf16_batched",
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
  const AdviceReport report = advised(good_step_and({gemm, scale, softmax, gemm}));
  // What lies between goes, and the GEMMs' 0.1 TFLOP take 0.22 ms at 0.45 of the peak.
  expect_only(report, AdviceRule::unfused_attention, 0.5 * 700'000, 0.95 * 950'000);
  AdviceWork loss = softmax;
  loss.name = "log_softmax_forward";
  EXPECT_TRUE(healthy(advised(good_step_and({gemm, loss, gemm})), AdviceRule::unfused_attention));
  EXPECT_TRUE(healthy(advised(good_step_and({gemm, softmax})), AdviceRule::unfused_attention))
      << "no second product";
  EXPECT_TRUE(
      healthy(advised(good_step_and({{.name = "flash_fwd_softmax", .kernel_class = KernelClass::attention}})),
              AdviceRule::unfused_attention));
}

TEST(Advice, Fp32Gemm) {
  AdviceWork gemm{.name = "ampere_sgemm_128x64_nn",
                  .kernel_class = KernelClass::gemm,
                  .duration_ns = 800'000,
                  .dram_ratio = 0.05,
                  .fma_pct = 85};
  const AdviceReport report = advised(good_step_and({gemm}));
  // 0.85 × 66.9 TFLOP/s would take a fifth of the time at 0.55 × 494.7.
  expect_only(report, AdviceRule::fp32_gemm, 0.7 * 800'000, 0.9 * 800'000);
  AdviceWork tensor = gemm;
  tensor.tensor_pct = 50;
  tensor.fma_pct = 5;
  EXPECT_TRUE(healthy(advised(good_step_and({tensor})), AdviceRule::fp32_gemm));
  AdviceWork counted_beside = gemm;
  counted_beside.tensor_pct = 1.6;
  EXPECT_NE(found(advised(good_step_and({counted_beside})), AdviceRule::fp32_gemm), nullptr)
      << "as cuDNN's have it, without an operation of that pipe";
  counted_beside.tensor_pct = 4;
  counted_beside.fma_pct = 12;
  EXPECT_TRUE(healthy(advised(good_step_and({counted_beside})), AdviceRule::fp32_gemm));
  AdviceWork double_precision = gemm;
  double_precision.name = "dgemm_kernel";
  double_precision.fp64_pct = 90;
  EXPECT_TRUE(healthy(advised(good_step_and({double_precision})), AdviceRule::fp32_gemm))
      << "that is not FP32";
  AdviceWork memory = gemm;
  memory.dram_ratio = 0.9;
  EXPECT_EQ(found(advised(good_step_and({memory})), AdviceRule::fp32_gemm), nullptr)
      << "its bytes take the time";
  AdviceModel uncounted;
  uncounted.with_counters = uncounted.with_samples = false;
  uncounted.program(good_step_and({gemm}));
  const AdviceReport by_name = uncounted.advised();
  ASSERT_NE(found(by_name, AdviceRule::fp32_gemm), nullptr);
  EXPECT_EQ(found(by_name, AdviceRule::fp32_gemm)->basis, AdviceBasis::estimated);
}

// A library has a kernel for TF32 with tiles of its own; a program's own kernel keeps its traffic, which may hold it
// then. Figures of a Triton kernel on an H100, whose TF32 version took 5.33 ms.
TEST(Advice, TheGainOfTf32IsLessCertainInAKernelThatIsNoLibrarys) {
  AdviceWork gemm{.name = "cutlass_80_simt_sgemm_64x64_8x4_nn",
                  .kernel_class = KernelClass::gemm,
                  .duration_ns = 6'338'000,
                  .dram_ratio = 0.41,
                  .fma_pct = 68};
  const AdviceReport of_library = advised(good_step_and({gemm}));
  gemm.name = "matmul_kernel";
  const AdviceReport of_program = advised(good_step_and({gemm}));
  const Advice* library = found(of_library, AdviceRule::fp32_gemm);
  const Advice* own = found(of_program, AdviceRule::fp32_gemm);
  ASSERT_NE(library, nullptr);
  ASSERT_NE(own, nullptr);
  EXPECT_LT(own->alone.low_ns, 6'338'000 - 5'334'000);
  EXPECT_GT(library->alone.low_ns, 6'338'000 - 5'334'000);
  EXPECT_LT(own->alone.mid_ns, 0.8 * library->alone.mid_ns);
  EXPECT_DOUBLE_EQ(own->alone.high_ns, library->alone.high_ns);
}

TEST(Advice, UglyDimension) {
  AdviceWork gemm{.name = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align1",
                  .kernel_class = KernelClass::gemm,
                  .duration_ns = 600'000,
                  .dram_ratio = 0.1,
                  .tensor_pct = 25,
                  .tensor_ops = 1e11};
  expect_only(advised(good_step_and({gemm})), AdviceRule::ugly_dimension, 0.4 * 600'000, 0.75 * 600'000);
  AdviceWork aligned = gemm;
  aligned.name = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8";
  EXPECT_TRUE(healthy(advised(good_step_and({aligned})), AdviceRule::ugly_dimension));
  AdviceWork fast = gemm;
  fast.tensor_pct = 80;
  EXPECT_TRUE(healthy(advised(good_step_and({fast})), AdviceRule::ugly_dimension)) << "it does not suffer";
}

// cuBLAS names all its FP32 kernels align1: they have no wide loads to lose.
TEST(Advice, NoDimensionIsUglyToAProductThatNoTensorPipeWorksOn) {
  const AdviceWork gemm{.name = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
                        .kernel_class = KernelClass::gemm,
                        .duration_ns = 600'000,
                        .dram_ratio = 0.1,
                        .fma_pct = 65,
                        .tensor_pct = 0};
  expect_only(advised(good_step_and({gemm})), AdviceRule::fp32_gemm, 0.7 * 600'000, 600'000);
}

TEST(Advice, UglyDimensionSaysWhatItIsPaddedTo) {
  const AdviceWork gemm{.name = "nvjet_tst_64x64_64x4_TNT",
                        .kernel_class = KernelClass::gemm,
                        .duration_ns = 600'000,
                        .dram_ratio = 0.1,
                        .tensor_pct = 25,
                        .tensor_ops = 1e11,
                        .declared_bytes = 60e6,
                        .m = 8192,
                        .n = 50'257,
                        .k = 768};
  const AdviceReport report = advised(good_step_and({gemm}));
  const Advice* advice = found(report, AdviceRule::ugly_dimension);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(evidence(*advice, "n"), 50'257);
  EXPECT_EQ(evidence(*advice, "n_padded"), 50'304);
  EXPECT_EQ(evidence(*advice, "m_padded"), -1) << "a multiple of 16 bytes stays";
  EXPECT_EQ(evidence(*advice, "k_padded"), -1);
  AdviceWork padded = gemm;
  padded.n = 50'304;
  EXPECT_TRUE(healthy(advised(good_step_and({padded})), AdviceRule::ugly_dimension));
}

TEST(Advice, SplitK) {
  const AdviceWork reduce{
      .name = "cublasLt::splitKreduce_kernel", .kernel_class = KernelClass::gemm, .duration_ns = 400'000};
  const std::vector<AdviceWork> works = {good_step()[1], good_step()[0], reduce};
  expect_only(advised(works), AdviceRule::split_k, 0.5 * 400'000, 0.8 * 400'000);
  std::vector<AdviceWork> little = works;
  little[2].duration_ns = 100'000;
  EXPECT_TRUE(healthy(advised(little), AdviceRule::split_k));
}

TEST(Advice, Casts) {
  const AdviceWork cast{.name = "unrolled_elementwise_kernel<LoadWithCast, StoreWithCast>",
                        .kernel_class = KernelClass::elementwise,
                        .duration_ns = 200'000,
                        .dram_ratio = 0.8};
  expect_only(advised({good_step()[1], cast, good_step()[0]}), AdviceRule::casts, 0.7 * 200'000, 200'000);
  EXPECT_TRUE(healthy(advised({good_step()[0], good_step()[1], cast}), AdviceRule::casts)) << "feeds no GEMM";
  AdviceWork brief = cast;
  brief.duration_ns = 50'000;
  EXPECT_TRUE(healthy(advised({good_step()[1], brief, good_step()[0]}), AdviceRule::casts))
      << "5 % of the GEMM";
}

TEST(Advice, Optimizer) {
  std::vector<AdviceWork> works = good_step();
  for (int i = 0; i < 150; ++i) {
    works.push_back({.name = "adamw_kernel",
                     .kernel_class = KernelClass::optimiser,
                     .duration_ns = 6000,
                     .dram_ratio = 0.2,
                     .gap_ns = 1000});
  }
  expect_only(advised(works), AdviceRule::optimiser, 0.4 * 900'000, 1'050'000);
  std::vector<AdviceWork> one = good_step_and({{.name = "adamw_kernel",
                                                .kernel_class = KernelClass::optimiser,
                                                .duration_ns = 300'000,
                                                .dram_ratio = 0.9}});
  EXPECT_TRUE(healthy(advised(one), AdviceRule::optimiser));
  // Without a name for it: seven kernels a tensor, tensor after tensor.
  std::vector<AdviceWork> unnamed = good_step();
  for (int i = 0; i < 210; ++i) {
    unnamed.push_back({.name = "vectorized_elementwise_kernel_" + std::to_string(i % 7),
                       .kernel_class = KernelClass::elementwise,
                       .duration_ns = 3000,
                       .dram_ratio = 0.2});
  }
  EXPECT_NE(found(advised(unnamed), AdviceRule::optimiser), nullptr);
  // As many different ones in a row are the layers' own.
  std::vector<AdviceWork> layers = good_step();
  for (int i = 0; i < 60; ++i) {
    layers.push_back({.name = "vectorized_elementwise_kernel_" + std::to_string(i),
                      .kernel_class = KernelClass::elementwise,
                      .duration_ns = 3000,
                      .dram_ratio = 0.2});
  }
  EXPECT_TRUE(healthy(advised(layers), AdviceRule::optimiser));
}

std::vector<AdviceWork> many_small(std::int64_t gap_ns) {
  std::vector<AdviceWork> works = good_step();
  for (int i = 0; i < 100; ++i) {
    works.push_back({.name = "small_kernel_" + std::to_string(i),
                     .duration_ns = 8000,
                     .dram_ratio = 0.7,
                     .gap_ns = gap_ns,
                     .late_ns = 5000});
  }
  return works;
}

TEST(Advice, LaunchOverhead) {
  expect_only(advised(many_small(9000)), AdviceRule::launch_overhead, 0.6 * 760'000, 760'000);
  EXPECT_EQ(found(advised(many_small(1300)), AdviceRule::launch_overhead), nullptr)
      << "a graph's nodes lie as far apart";
  // A pause of the CPU is no late launch.
  std::vector<AdviceWork> pause = good_step();
  pause[1].gap_ns = 2'000'000;
  pause[1].late_ns = 5000;
  EXPECT_EQ(found(advised(pause), AdviceRule::launch_overhead), nullptr);
  // Launches that were lost leave gaps where they ran.
  AdviceModel lossy;
  lossy.program(many_small(9000));
  lossy.model.completeness.front().launches_seen = 2000;
  lossy.model.completeness.front().kernel_records = 1900;
  EXPECT_EQ(lacks(lossy.advised(), AdviceRule::launch_overhead), AdviceNeed::whole_timeline);
}

TEST(Advice, SyncInStep) {
  std::vector<AdviceWork> works = good_step();
  works[1].gap_ns = 200'000;
  works[1].late_ns = 5000;
  works[1].wait = SynchronisationCall::stream;
  const AdviceReport report = advised(works);
  expect_only(report, AdviceRule::sync_in_step, 0.5 * 200'000, 200'000);
  ASSERT_NE(found(report, AdviceRule::sync_in_step), nullptr);
  EXPECT_EQ(found(report, AdviceRule::sync_in_step)->subject, "cudaStreamSynchronize");
  EXPECT_EQ(found(report, AdviceRule::launch_overhead), nullptr) << "each gap is of one rule";
  works[1].wait.reset();
  works[1].gap_ns = 1000;
  works[1].late_ns.reset();
  EXPECT_TRUE(healthy(advised(works), AdviceRule::sync_in_step));
  AdviceModel unknown;
  unknown.with_waits = false;
  std::vector<AdviceWork> late = good_step();
  late[1].gap_ns = 200'000;
  late[1].late_ns = 5000;
  unknown.program(late);
  EXPECT_EQ(lacks(unknown.advised(), AdviceRule::sync_in_step), AdviceNeed::host_waits);
}

AdviceWork copy_work(std::int64_t bytes, std::int64_t duration_ns) {
  return {.name = "copy", .duration_ns = duration_ns, .stream = 8, .copy_bytes = bytes};
}

TEST(Advice, PageableCopy) {
  AdviceWork copy = copy_work(8'000'000, 1'000'000);  // 8 GB/s
  copy.wait = SynchronisationCall::async_copy_to_device;
  std::vector<AdviceWork> works = {copy};
  for (const AdviceWork& work : good_step()) works.push_back(work);
  const AdviceReport report = advised(works);
  expect_only(report, AdviceRule::pageable_copy, 0.5 * 1'000'000, 1'000'000);
  EXPECT_EQ(found(report, AdviceRule::copy_exposed), nullptr) << "it is no other rule's";
  works[0].wait.reset();
  EXPECT_TRUE(healthy(advised(works), AdviceRule::pageable_copy)) << "the CPU was not held";
  works[0] = copy_work(45'000'000, 1'000'000);
  works[0].wait = SynchronisationCall::async_copy_to_device;
  EXPECT_TRUE(healthy(advised(works), AdviceRule::pageable_copy)) << "as fast as pinned memory";
}

TEST(Advice, CopyExposed) {
  std::vector<AdviceWork> works = {copy_work(45'000'000, 1'000'000)};
  for (const AdviceWork& work : good_step()) works.push_back(work);
  expect_only(advised(works), AdviceRule::copy_exposed, 0.7 * 1'000'000, 1'000'000);
  works[0] = copy_work(450'000, 10'000);
  EXPECT_TRUE(healthy(advised(works), AdviceRule::copy_exposed));
  works[0] = copy_work(45'000'000, 1'000'000);
  works[1].gap_ns = -700'000;
  EXPECT_TRUE(healthy(advised(works), AdviceRule::copy_exposed))
      << "a kernel that began beside it did not wait for it";
}

TEST(Advice, CommExposed) {
  const AdviceWork reduce{.name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                          .kernel_class = KernelClass::communication,
                          .duration_ns = 500'000,
                          .blocks = 24,
                          .threads = 512,
                          .dram_ratio = 0.1};
  const AdviceReport report = advised(good_step_and({reduce}));
  const Advice* advice = found(report, AdviceRule::comm_exposed);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(advice->net.mid_ns, 250'000, 30'000);
  EXPECT_EQ(advice->basis, AdviceBasis::estimated) << "of one rank nobody knows whom it waited for";
  std::vector<AdviceWork> brief = good_step_and({reduce});
  brief.back().duration_ns = 10'000;
  EXPECT_TRUE(healthy(advised(brief), AdviceRule::comm_exposed));
}

// 100 MB take 100 µs once: of the 500 µs of the other call 400 are waiting for another rank, which an earlier start
// does not end.
TEST(Advice, CommExposedIsOfTheTransferAndNotOfTheWait) {
  AdviceWork reduce{.name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                    .kernel_class = KernelClass::communication,
                    .duration_ns = 500'000,
                    .blocks = 24,
                    .threads = 512,
                    .dram_ratio = 0.1};
  AdviceWork quick = reduce;
  quick.duration_ns = 100'000;
  const auto with_bytes = [&](std::int64_t of_the_long_one) {
    AdviceModel model;
    model.program(good_step_and({reduce, quick}));
    model.done();
    for (std::size_t i = 0; i < model.model.launches.size(); ++i) {
      const Launches::Row& row = model.model.launches.row(i);
      if (model.model.kernel_class(model.model.launches.site(i)) != KernelClass::communication) continue;
      const bool is_long = duration_ns(row) > 300'000;
      model.model.collective_traffic[row.id] = is_long ? of_the_long_one : 200'000'000;
    }
    return model.advised();
  };
  const AdviceReport report = with_bytes(200'000'000);
  const Advice* advice = found(report, AdviceRule::comm_exposed);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(advice->net.mid_ns, 0.5 * 200'000, 30'000);
  // As much as its time allows: nothing of it is a wait.
  const AdviceReport all = with_bytes(1'000'000'000);
  ASSERT_NE(found(all, AdviceRule::comm_exposed), nullptr);
  EXPECT_NEAR(found(all, AdviceRule::comm_exposed)->net.mid_ns, 0.5 * 600'000, 60'000);
}

TEST(Advice, LoaderWait) {
  AdviceWork copy = copy_work(1'000'000, 30'000);
  copy.gap_ns = 600'000;
  std::vector<AdviceWork> works = {copy};
  for (AdviceWork work : good_step()) works.push_back(work);
  works[1].late_ns = 40'000;
  const auto with_range = [&](const char* name) {
    AdviceModel model;
    model.program(works);
    model.model.strings[900] = name;
    std::int64_t id = 1;
    for (const store::Memcpy& one : model.model.memcpys) {
      store::NvtxRange range;
      range.id = id++;
      range.process_id = 1;
      range.thread_id = 1;
      range.name_id = range.path_id = 900;
      range.start_ns = one.start_ns - 590'000;
      range.end_ns = one.start_ns - 5000;
      model.model.nvtx_ranges.push_back(range);
    }
    return model.advised();
  };
  const AdviceReport named = with_range("enumerate(DataLoader)#_Single.__next__");
  expect_only(named, AdviceRule::loader_wait, 0.7 * 600'000, 600'000);
  ASSERT_NE(found(named, AdviceRule::loader_wait), nullptr);
  EXPECT_EQ(found(named, AdviceRule::loader_wait)->basis, AdviceBasis::measured);
  // Nothing says what the CPU did: no advice about loading.
  const AdviceReport other = with_range("evaluate metrics");
  EXPECT_EQ(found(other, AdviceRule::loader_wait), nullptr);
  EXPECT_TRUE(healthy(advised(good_step()), AdviceRule::loader_wait));
}

// What comes back from the CPU, such as gradients that are reduced there, is no batch; a loss that was read is nothing
// beside one.
TEST(Advice, WhatWentToTheCpuBeforeIsNoBatch) {
  std::vector<AdviceWork> works = {
      {.name = "copy", .duration_ns = 30'000, .gap_ns = 600'000, .stream = 8, .copy_bytes = 1'000'000}};
  for (AdviceWork work : good_step()) works.push_back(work);
  works[1].late_ns = 40'000;
  const auto with_read = [&](std::int64_t bytes) {
    AdviceModel model;
    model.program(works);
    // Its call comes before the launches, which CUPTI numbers on.
    for (store::Memcpy& copied : model.model.memcpys) copied.correlation_id = 1;
    const std::vector<store::Memcpy> copies = model.model.memcpys;
    for (store::Memcpy read : copies) {
      read.kind = CopyKind::device_to_host;
      read.bytes = bytes;
      read.start_ns -= 610'000;
      read.end_ns -= 610'000;
      model.model.memcpys.push_back(read);
    }
    return model.advised();
  };
  EXPECT_NE(found(with_read(4), AdviceRule::loader_wait), nullptr);
  EXPECT_NE(found(with_read(249'000), AdviceRule::loader_wait), nullptr);
  EXPECT_EQ(found(with_read(251'000), AdviceRule::loader_wait), nullptr);
  EXPECT_EQ(found(with_read(1'000'000), AdviceRule::loader_wait), nullptr);
}

TEST(Advice, ClockDown) {
  const auto with_clock = [&](std::int64_t hz, std::int64_t power_mw, std::int64_t reasons) {
    AdviceModel model;
    model.program(good_step());
    model.clocks(hz, power_mw, reasons);
    return model.advised();
  };
  const AdviceReport hot = with_clock(1'200'000'000, 480'000, 0x20);
  const Advice* advice = found(hot, AdviceRule::clock_down);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->subject, "thermal (software)");
  EXPECT_GT(advice->net.mid_ns, 0.1 * 1'000'000) << "the GEMM runs at 61 % of the clock";
  EXPECT_TRUE(healthy(with_clock(1'500'000'000, 690'000, 0x4), AdviceRule::clock_down))
      << "at the power that the board is sold with";
  // A board that has just begun to work reads less than it draws: power is a mean of a second.
  EXPECT_TRUE(healthy(with_clock(1'300'000'000, 400'000, 0x4), AdviceRule::clock_down));
  const auto for_long = [&](std::int64_t power_mw, std::int64_t between_ns) {
    AdviceModel model;
    model.program(good_step());
    model.clocks(1'300'000'000, 400'000, 0x4);
    store::ClockSample sample = model.model.clock_samples.back();
    for (std::int64_t ns = 0; ns < 3'000'000'000; ns += between_ns) {
      sample.time_ns += between_ns;
      sample.power_mw = power_mw;
      model.model.clock_samples.push_back(sample);
    }
    return model.advised();
  };
  EXPECT_TRUE(healthy(for_long(690'000, 100'000'000), AdviceRule::clock_down)) << "it rises to its limit";
  EXPECT_TRUE(healthy(for_long(400'000, 1'500'000'000), AdviceRule::clock_down))
      << "nobody knows what lay between";
  const AdviceReport lowered = for_long(400'000, 100'000'000);
  ASSERT_NE(found(lowered, AdviceRule::clock_down), nullptr);
  EXPECT_EQ(found(lowered, AdviceRule::clock_down)->subject, "power limit");
  EXPECT_TRUE(healthy(with_clock(1'980'000'000, 400'000, 0), AdviceRule::clock_down));
  EXPECT_NE(found(with_clock(1'200'000'000, 400'000, 0x2), AdviceRule::clock_down), nullptr)
      << "set by the user";
  EXPECT_EQ(lacks(advised(good_step()), AdviceRule::clock_down), AdviceNeed::clock_samples);
}

TEST(Advice, ColdStart) {
  std::vector<AdviceWork> works = good_step();
  works[1].gap_ns = 3'000'000;
  works[1].late_ns = 2'990'000;
  works[1].call_ns = 2'900'000;
  AdviceModel later;
  later.first_index = 40;
  later.program(works);
  expect_only(later.advised(), AdviceRule::cold_start, 0.8 * 3'000'000, 3'000'000);
  EXPECT_TRUE(healthy(advised(good_step()), AdviceRule::cold_start));
  works[1].graph = true;
  AdviceModel graph;
  graph.first_index = 40;
  graph.program(works);
  EXPECT_TRUE(healthy(graph.advised(), AdviceRule::cold_start)) << "the call launches all nodes of a graph";
}

TEST(Advice, Occupancy) {
  AdviceWork slow{.name = "latency_kernel",
                  .duration_ns = 500'000,
                  .blocks = 2640,
                  .threads = 256,
                  .registers = 128,
                  .dram_ratio = 0.3};
  AdviceModel model;
  model.program(good_step_and({slow}));
  EXPECT_EQ(lacks(model.advised(), AdviceRule::occupancy), AdviceNeed::stalls);
  store::StallWindow window;
  window.process_id = window.device_id = 1;
  window.first_step_index = 3;
  window.last_step_index = 6;
  window.period_cycles = 16384;
  window.samples = 1000;
  model.model.stall_windows = {window};
  const auto sample = [&](const std::string& reason, std::int64_t count) {
    model.model.stall_samples.push_back(
        {model.kernel("latency_kernel"), 16, "smsp__pcsamp_warps_issue_stalled_" + reason, count});
  };
  sample("long_scoreboard", 700);
  sample("selected", 300);
  const AdviceReport report = model.advised();
  const Advice* advice = found(report, AdviceRule::occupancy);
  ASSERT_NE(advice, nullptr);
  EXPECT_NEAR(evidence(*advice, "occupancy_ratio"), 0.25, 1e-9);
  EXPECT_LT(advice->net.mid_ns, 0.25 * 500'000);
  model.model.stall_samples.clear();
  sample("long_scoreboard", 100);
  sample("math_pipe_throttle", 600);
  sample("selected", 300);
  EXPECT_TRUE(healthy(model.advised(), AdviceRule::occupancy)) << "it does not wait for memory";
}

TEST(Advice, NoMillisecondIsPromisedTwice) {
  // A bias kernel that is elementwise and hands its data on: two rules want its time.
  const AdviceWork bias{.name = "add_bias_kernel",
                        .kernel_class = KernelClass::elementwise,
                        .duration_ns = 200'000,
                        .dram_ratio = 0.8};
  AdviceWork next = bias;
  next.name = "mul_elementwise";
  const AdviceReport report = advised({good_step()[1], good_step()[0], bias, next});
  ASSERT_NE(found(report, AdviceRule::bias_kernel), nullptr);
  const Advice* fold = found(report, AdviceRule::fold_elementwise);
  ASSERT_NE(fold, nullptr);
  EXPECT_GT(fold->claimed_ns, 0);
  EXPECT_LE(report.together.high_ns, 400'000 + 1);
  double sum_ns = 0;
  for (const Advice& advice : report.advice) sum_ns += advice.net.mid_ns;
  EXPECT_NEAR(report.together.mid_ns, sum_ns, 1);
  double last_ns = 1e18;
  for (const Advice& advice : report.advice) {
    EXPECT_LE(advice.net.low_ns, advice.net.mid_ns);
    EXPECT_LE(advice.net.mid_ns, advice.net.high_ns);
    EXPECT_LE(advice.net.mid_ns, last_ns) << "most first";
    last_ns = advice.net.mid_ns;
  }
}

TEST(Advice, BelowTheNoiseNothingIsSaid) {
  AdviceWork few{.name = "few_kernel", .duration_ns = 60'000, .blocks = 8, .dram_ratio = 0.05};
  EXPECT_NE(found(advised(good_step_and({few})), AdviceRule::too_few_blocks), nullptr);
  AdviceModel noisy;
  noisy.program(good_step_and({few}), 400'000);
  const AdviceReport report = noisy.advised();
  EXPECT_GT(report.noise_ns, 0);
  EXPECT_GT(report.min_ns, 0.003 * report.step_ns);
  EXPECT_EQ(found(report, AdviceRule::too_few_blocks), nullptr);
  ASSERT_FALSE(report.small.empty()) << "it is kept for who asks for all";
  EXPECT_EQ(report.small.front().rule, AdviceRule::too_few_blocks);
}

TEST(Advice, ThePowerLimitTakesItsPart) {
  const AdviceWork few{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05};
  AdviceModel cool, limited;
  cool.program(good_step_and({few}));
  limited.program(good_step_and({few}));
  limited.clocks(1'500'000'000, 690'000, 0x4);
  const AdviceReport without = cool.advised(), with = limited.advised();
  EXPECT_FALSE(without.power_limited);
  EXPECT_TRUE(with.power_limited);
  const Advice *a = found(without, AdviceRule::too_few_blocks), *b = found(with, AdviceRule::too_few_blocks);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  const double left = b->net.mid_ns / a->net.mid_ns;
  EXPECT_NEAR(left, b->power_factor, 1e-9);
  // Half of the kernel time goes with the clock: 1 - 0.5 / 2.
  EXPECT_NEAR(left, 0.75, 0.05);
  EXPECT_LT(b->net.low_ns / a->net.low_ns, left);
}

TEST(Advice, AKernelBesideALongerOneGivesNothing) {
  AdviceWork few{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05};
  AdviceModel model;
  model.program(good_step_and({few}));
  // The same work on another stream, under the GEMM.
  for (store::Launch& launch : model.launches) {
    if (model.model.kernels[launch.kernel_id].demangled_name != "few_kernel") continue;
    launch.stream_id = 9;
    launch.start_ns -= 1'900'000;
    launch.end_ns -= 1'900'000;
    launch.host_start_ns = *launch.host_start_ns - 1'900'000;
    launch.host_end_ns = *launch.host_end_ns - 1'900'000;
  }
  EXPECT_EQ(found(model.advised(), AdviceRule::too_few_blocks), nullptr);
}

TEST(Advice, OfOneRule) {
  const AdviceWork few{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05};
  const AdviceReport all = advised(good_step_and({few}));
  const AdviceReport one = all.of(AdviceRule::too_few_blocks);
  ASSERT_EQ(one.advice.size(), 1U);
  EXPECT_TRUE(one.healthy.empty());
  EXPECT_NEAR(one.together.mid_ns, one.advice.front().net.mid_ns, 1e-9);
  EXPECT_TRUE(all.of(AdviceRule::casts).advice.empty());
  EXPECT_EQ(all.of(AdviceRule::casts).healthy.size(), 1U);
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
