// What a run needs of the GPU's memory, and the window of --l2-persist: sums, no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/common/errors.h"
#include "gpt2/libs/cublas_handle.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/l2_window.h"
#include "gpt2/model/switch_rules.h"

namespace ridgeline::gpt2 {
namespace {

GpuModelOptions options_of(Precision precision) {
  GpuModelOptions options;
  options.config = model_config("124M");
  options.batch = 4;
  options.sequence = 1024;
  options.switches.precision = precision;
  options.switches.attention = AttentionKind::own;
  if (precision == Precision::fp32) options.switches.gelu = GeluKind::fused;
  return options;
}

std::int64_t element_bytes(Precision precision) {
  return precision == Precision::bf16 ? 2 : 4;
}

TEST(MemoryPlan, RecomputationDropsWhatItMakesAgain) {
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    GpuModelOptions options = options_of(precision);
    // (B,T,C) of every layer.
    const std::int64_t tensor = std::int64_t{4} * 1024 * 768 * 12 * element_bytes(precision);
    options.switches.gelu = GeluKind::separate;
    const std::int64_t all = GpuModel::memory_plan(options).activations_bytes;
    options.switches.recompute = 1;
    EXPECT_EQ(GpuModel::memory_plan(options).activations_bytes, all - 4 * tensor);
    options.switches.recompute = 2;
    EXPECT_EQ(GpuModel::memory_plan(options).activations_bytes, all - 6 * tensor);
  }
}

TEST(MemoryPlan, UnfusedAttentionKeepsEveryProbability) {
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    GpuModelOptions options = options_of(precision);
    const std::int64_t fused = GpuModel::memory_plan(options).activations_bytes;
    options.switches.attention = AttentionKind::unfused;
    const MemoryPlan plan = GpuModel::memory_plan(options);
    const std::int64_t rows = 4 * 1024, scores = 4 * 12 * 1024 * 1024;
    // Twelve layers of probabilities and one of their gradients; the scratch of dq, dk, dv and out; q, k and
    // v by head in place of qkv; no lse.
    const std::int64_t more = (13 * scores + 4 * rows * 768) * element_bytes(precision) - 12 * rows * 12 * 4;
    EXPECT_EQ(plan.activations_bytes, fused + more);
  }
}

TEST(MemoryPlan, ASeparateClassifierKeepsLogProbabilities) {
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    GpuModelOptions options = options_of(precision);
    const std::int64_t fused = GpuModel::memory_plan(options).activations_bytes;
    options.switches.classifier = ClassifierKind::separate;
    // FP32 whatever the logits are.
    EXPECT_EQ(GpuModel::memory_plan(options).activations_bytes, fused + std::int64_t{4} * 1024 * 50304 * 4);
  }
}

TEST(MemoryPlan, Fp8KeepsTransposedBytesAndWeightsTwice) {
  GpuModelOptions options = options_of(Precision::bf16);
  options.switches.gelu = GeluKind::separate;
  const MemoryPlan bf16_plan = GpuModel::memory_plan(options);
  options.switches.precision = Precision::fp8;
  const MemoryPlan plan = GpuModel::memory_plan(options);
  const std::int64_t tensor = std::int64_t{4} * 1024 * 768;
  // Of a layer: both layernorms' outputs and GELU's in one byte instead of two, and att's; scratch of (B,T,C)
  // and (B,T,4C) twice.
  EXPECT_EQ(plan.activations_bytes, bf16_plan.activations_bytes + 12 * (7 - 12) * tensor + 10 * tensor);
  const std::int64_t weights = std::int64_t{12} * 12 * 768 * 768;
  // A magnitude, a scale and an inverse on 16 bytes of every weight, with wte one of five a layer; a magnitude and 16
  // of before, a scale and an inverse, each on 16 bytes, of the ten other tensors of a layer and of lnf; the
  // scale of the logits' gradient; what a GEMM found.
  const std::int64_t scales = (12 * 5 * 6 + (12 * 10 + 1) * 24 + 1 + 1) * 4;
  EXPECT_EQ(plan.parameters_bytes, bf16_plan.parameters_bytes + 2 * weights + scales);
  EXPECT_EQ(plan.optimizer_bytes, bf16_plan.optimizer_bytes);
  // GELU's argument in one byte instead of two; its gradient lies where it lay.
  options.switches.fp8_hidden = Fp8Hidden::fp8;
  const MemoryPlan hidden = GpuModel::memory_plan(options);
  EXPECT_EQ(hidden.activations_bytes, plan.activations_bytes - 12 * 4 * tensor);
  EXPECT_EQ(hidden.parameters_bytes, plan.parameters_bytes);
  options.switches.fp8_hidden = Fp8Hidden::bf16;
  // The classifier's weight twice, the logits' gradient in a byte and lnf transposed.
  options.switches.fp8_classifier = Fp8Classifier::all;
  const MemoryPlan classifier = GpuModel::memory_plan(options);
  EXPECT_EQ(classifier.parameters_bytes, plan.parameters_bytes + std::int64_t{2} * 50304 * 768);
  EXPECT_EQ(classifier.activations_bytes, plan.activations_bytes + std::int64_t{4} * 1024 * (50304 + 768));
}

TEST(MemoryPlan, RanksThatCastAPartOfTheWeightsKeepAllBytes) {
  GpuModelOptions options = options_of(Precision::bf16);
  options.switches.gelu = GeluKind::separate;
  options.ranks = 2;
  options.reduction.zero = 1;
  const MemoryPlan bf16_plan = GpuModel::memory_plan(options);
  options.switches.precision = Precision::fp8;
  options.switches.fp8_classifier = Fp8Classifier::none;
  const MemoryPlan plan = GpuModel::memory_plan(options);
  const std::int64_t weights = std::int64_t{12} * 12 * 768 * 768;
  const std::int64_t scales = (12 * 5 * 6 + (12 * 10 + 1) * 24 + 1 + 1) * 4;
  // Of twelve layers a rank casts six, in parts of 8192 elements with 24 bytes of where they lie.
  const std::int64_t parts = 6 * (12 * 768 * 768 / 8192) * 24;
  EXPECT_EQ(plan.parameters_bytes, bf16_plan.parameters_bytes + 2 * weights + scales + parts);
  EXPECT_EQ(plan.optimizer_bytes, bf16_plan.optimizer_bytes);
}

TEST(MemoryPlan, CublasBringsItsWorkspaceInPlaceOfCublasLts) {
  GpuModelOptions options = options_of(Precision::bf16);
  const std::int64_t lt = GpuModel::memory_plan(options).workspace_bytes;
  options.switches.matmul = MatmulLibrary::cublas;
  options.switches.bias = BiasKind::separate;
  options.switches.gelu = GeluKind::separate;
  options.switches.residual = ResidualKind::fused;
  const auto handle_bytes = static_cast<std::int64_t>(CublasHandle::kWorkspaceBytes);
  EXPECT_EQ(GpuModel::memory_plan(options).workspace_bytes,
            lt - static_cast<std::int64_t>(options.matmul.workspace_bytes) + handle_bytes);
}

TEST(MemoryPlan, APlainVocabularyNeedsLess) {
  GpuModelOptions options = options_of(Precision::bf16);
  const MemoryPlan padded = GpuModel::memory_plan(options);
  options.config = with_vocabulary(options.config, VocabularyKind::plain);
  EXPECT_EQ(options.config.padded_vocab, 50257);
  const MemoryPlan plain = GpuModel::memory_plan(options);
  EXPECT_EQ(padded.parameters_bytes - plain.parameters_bytes, std::int64_t{47} * 768 * 6);
  EXPECT_NEAR(static_cast<double>(padded.activations_bytes - plain.activations_bytes), 47.0 * 4096 * 2, 256);
}

TEST(SwitchRules, WhatContradictsIsRefusedWithOneLine) {
  const auto refusal = [](const auto& change) {
    GpuModelOptions options = options_of(Precision::bf16);
    change(options.switches);
    try {
      GpuModel::memory_plan(options);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto names = [](const std::string& text, const char* option) {
    return text.find(option) != std::string::npos;
  };
  EXPECT_TRUE(names(refusal([](Switches& s) { s.matmul = MatmulLibrary::cublas; }), "--matmul cublas"));
  EXPECT_TRUE(names(refusal([](Switches& s) { s.bias = BiasKind::separate; }), "--bias separate"));
  const auto with_kernels_for_bias = [&](MatmulLibrary matmul, ResidualKind residual) {
    return refusal([&](Switches& s) {
      s.matmul = matmul;
      s.bias = BiasKind::separate;
      s.gelu = GeluKind::separate;
      s.residual = residual;
    });
  };
  EXPECT_TRUE(names(with_kernels_for_bias(MatmulLibrary::cublas, ResidualKind::gemm), "--matmul cublaslt"));
  EXPECT_TRUE(names(with_kernels_for_bias(MatmulLibrary::cublaslt, ResidualKind::gemm), "--bias separate"));
  for (const MatmulLibrary matmul : {MatmulLibrary::cublas, MatmulLibrary::cublaslt}) {
    EXPECT_EQ(with_kernels_for_bias(matmul, ResidualKind::fused), "accepted");
    EXPECT_EQ(with_kernels_for_bias(matmul, ResidualKind::separate), "accepted");
  }
  EXPECT_TRUE(names(refusal([](Switches& s) { s.recompute = 3; }), "--recompute 3"));
  EXPECT_TRUE(names(refusal([](Switches& s) { s.recompute = 2; }), "--gelu separate"));
  EXPECT_EQ(refusal([](Switches& s) {
              s.recompute = 2;
              s.gelu = GeluKind::fused;
            }),
            "accepted");
  EXPECT_EQ(refusal([](Switches& s) { s.l2_persist = L2Persist::residual; }), "accepted");
  EXPECT_TRUE(names(refusal([](Switches& s) {
                      s.l2_persist = L2Persist::residual;
                      s.cuda_graph = true;
                    }),
                    "--no-cuda-graph"));
  EXPECT_TRUE(names(refusal([](Switches& s) {
                      s.stochastic_rounding = true;
                      s.precision = Precision::fp32;
                      s.gelu = GeluKind::fused;
                    }),
                    "--stochastic-rounding"));
  EXPECT_EQ(refusal([](Switches& s) { s.stochastic_rounding = true; }), "accepted");
  const auto in_fp8 = [&](const auto& change) {
    return refusal([&](Switches& s) {
      s.precision = Precision::fp8;
      s.gelu = GeluKind::separate;
      change(s);
    });
  };
  EXPECT_EQ(in_fp8([](Switches& s) { s.stochastic_rounding = true; }), "accepted");
  EXPECT_EQ(in_fp8([](Switches& s) { s.residual = ResidualKind::fused; }), "accepted");
  EXPECT_EQ(in_fp8([](Switches& s) { s.residual = ResidualKind::separate; }), "accepted");
  EXPECT_TRUE(names(in_fp8([](Switches& s) { s.gelu = GeluKind::own; }), "--gelu separate"));
  EXPECT_EQ(in_fp8([](Switches& s) { s.fp8_classifier = Fp8Classifier::all; }), "accepted");
  EXPECT_TRUE(names(refusal([](Switches& s) { s.fp8_classifier = Fp8Classifier::all; }), "--precision fp8"));
  EXPECT_TRUE(names(in_fp8([](Switches& s) {
                      s.fp8_classifier = Fp8Classifier::all;
                      s.classifier = ClassifierKind::separate;
                    }),
                    "--classifier fused"));
  EXPECT_TRUE(names(in_fp8([](Switches& s) {
                      s.fp8_classifier = Fp8Classifier::all;
                      s.vocabulary = VocabularyKind::plain;
                    }),
                    "--vocabulary padded"));
  EXPECT_EQ(in_fp8([](Switches& s) { s.fp8_hidden = Fp8Hidden::fp8; }), "accepted");
  EXPECT_TRUE(names(refusal([](Switches& s) { s.fp8_hidden = Fp8Hidden::fp8; }), "--precision fp8"));
  EXPECT_TRUE(names(in_fp8([](Switches& s) { s.recompute = 1; }), "--recompute 0"));
  EXPECT_TRUE(names(in_fp8([](Switches& s) { s.l2_persist = L2Persist::residual; }), "--l2-persist none"));
}

// Of two that cannot go together the one that was not asked for gives way.
TEST(SwitchRules, WhatWasNotAskedForGivesWay) {
  const auto settled = [](Switches s, const std::vector<std::string_view>& asked) {
    settle_switches(s, [&](std::string_view option) {
      return std::find(asked.begin(), asked.end(), option) != asked.end();
    });
    check_switches(s);
    return s;
  };
  const Switches fast = fast_preset();
  Switches s = fast;
  EXPECT_EQ(settled(s, {}), fast);
  s.precision = Precision::fp32;
  EXPECT_EQ(settled(s, {}).attention, AttentionKind::own);
  EXPECT_EQ(settled(s, {}).gelu, GeluKind::fused);
  EXPECT_THROW(settled(s, {"--gelu"}), InputError);
  s = fast;
  s.matmul = MatmulLibrary::cublas;
  EXPECT_EQ(settled(s, {}).bias, BiasKind::separate);
  EXPECT_EQ(settled(s, {}).gelu, GeluKind::separate);
  EXPECT_EQ(settled(s, {}).residual, ResidualKind::fused);
  EXPECT_THROW(settled(s, {"--residual"}), InputError);
  s = fast;
  s.bias = BiasKind::separate;
  EXPECT_EQ(settled(s, {"--bias"}).gelu, GeluKind::separate);
  EXPECT_EQ(settled(s, {"--gelu", "--residual"}).bias, BiasKind::fused);
  EXPECT_THROW(settled(s, {"--gelu", "--bias"}), InputError);
  s = naive_preset();
  s.matmul = MatmulLibrary::cublaslt;
  s.residual = ResidualKind::gemm;
  EXPECT_EQ(settled(s, {"--matmul", "--residual"}).bias, BiasKind::fused);
  s = fast;
  s.recompute = 1;
  EXPECT_EQ(settled(s, {"--recompute"}).gelu, GeluKind::separate);
  s = fast;
  s.l2_persist = L2Persist::residual;
  EXPECT_FALSE(settled(s, {"--l2-persist"}).cuda_graph);
  s = naive_preset();
  s.precision = Precision::fp8;
  EXPECT_THROW(settled(s, {"--precision"}), InputError);
}

TEST(SwitchRules, Fp8TakesSizesOf16) {
  const auto accepted = [](int batch, int sequence, int channels) {
    GpuModelOptions options = options_of(Precision::fp8);
    options.switches.gelu = GeluKind::separate;
    options.config.channels = channels;
    options.config.heads = channels / 8;
    options.batch = batch;
    options.sequence = sequence;
    try {
      GpuModel::memory_plan(options);
    } catch (const InputError&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepted(3, 32, 768));
  EXPECT_TRUE(accepted(2, 8, 256));
  EXPECT_FALSE(accepted(3, 40, 768));
  EXPECT_FALSE(accepted(4, 64, 776));
  EXPECT_FALSE(accepted(4, 64, 2048));
}

TEST(L2Window, CoversATensorThatFits) {
  const L2Limits limits{.persisting_bytes = 30 << 20, .window_bytes = 128 << 20};
  int data = 0;
  const cudaAccessPolicyWindow window = l2_window(&data, 20 << 20, limits);
  EXPECT_EQ(window.base_ptr, &data);
  EXPECT_EQ(window.num_bytes, std::size_t{20} << 20);
  EXPECT_FLOAT_EQ(window.hitRatio, 1.0F);
  EXPECT_EQ(window.hitProp, cudaAccessPropertyPersisting);
  EXPECT_EQ(window.missProp, cudaAccessPropertyNormal);
}

TEST(L2Window, AsksForTheShareThatFits) {
  const L2Limits limits{.persisting_bytes = 30 << 20, .window_bytes = 128 << 20};
  EXPECT_FLOAT_EQ(l2_window(nullptr, 60 << 20, limits).hitRatio, 0.5F);
  const cudaAccessPolicyWindow cut = l2_window(nullptr, std::int64_t{4} << 30, limits);
  EXPECT_EQ(cut.num_bytes, std::size_t{128} << 20);
  EXPECT_FLOAT_EQ(cut.hitRatio, 30.0F / 128.0F);
}

TEST(Vocabulary, SwitchesItsPadding) {
  const ModelConfig padded = model_config("124M");
  const ModelConfig plain = with_vocabulary(padded, VocabularyKind::plain);
  EXPECT_EQ(plain.padded_vocab, plain.vocab);
  EXPECT_EQ(with_vocabulary(plain, VocabularyKind::padded), padded);
}

}  // namespace
}  // namespace ridgeline::gpt2
