// The switches of libraries and memory against the CPU reference model: plain cuBLAS, the separate bias,
// unfused attention, the vocabulary without padding, recomputation, L2 residency, alone and together.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpt2/model/gpu_model.h"
#include "gpt2/model/step_graph.h"
#include "model_switches_testing.h"

namespace ridgeline::gpt2::model_switches_libs_gpu_test {
namespace {

using namespace model_test;

void set_cublas(Switches& s) {
  s.matmul = MatmulLibrary::cublas;
  s.bias = BiasKind::separate;
  s.gelu = GeluKind::separate;
  s.residual = ResidualKind::fused;
}

// What keeps GELU's slope cannot compute GELU again.
void recompute(Switches& s, int what) {
  s.recompute = what;
  if (s.gelu == GeluKind::own) s.gelu = GeluKind::separate;
}

const std::vector<Setting> kSettings = {
    {"cublas", set_cublas},
    {"separate bias",
     [](Switches& s) {
       s.bias = BiasKind::separate;
       s.gelu = GeluKind::separate;
       s.residual = ResidualKind::fused;
     }},
    {"unfused attention", [](Switches& s) { s.attention = AttentionKind::unfused; }},
    {"plain vocabulary", [](Switches& s) { s.vocabulary = VocabularyKind::plain; }},
    {"recompute GELU", [](Switches& s) { recompute(s, 1); }},
    {"recompute GELU and layernorms", [](Switches& s) { recompute(s, 2); }},
    {"recompute a separate GELU",
     [](Switches& s) {
       s.recompute = 2;
       s.gelu = GeluKind::separate;
     }},
    {"L2 residency", [](Switches& s) { s.l2_persist = L2Persist::residual; }},
    {"unfused attention, recomputation, bias gradient in the product",
     [](Switches& s) {
       s.attention = AttentionKind::unfused;
       recompute(s, 2);
       s.bias_gradient = BiasGradientKind::fused;
     }},
    {"the naive preset",
     [](Switches& s) {
       const Precision precision = s.precision;
       s = naive_preset();
       s.precision = precision;
     }},
    {"everything",
     [](Switches& s) {
       set_cublas(s);
       s.attention = AttentionKind::unfused;
       s.vocabulary = VocabularyKind::plain;
       s.recompute = 2;
       s.l2_persist = L2Persist::residual;
     }},
};

TEST(LibrarySwitches, LossAndEveryGradientMatchTheReference) {
  expect_the_references_gradients(kSettings);
}

TEST(LibrarySwitches, FourMicroBatchesEqualOneBatch) {
  expect_micro_batches_to_add_up(kSettings);
}

// Losses, gradients and parameters of a few steps.
struct Trace {
  std::vector<float> losses, gradients, parameters;
};
Trace trace_of(const GpuModelOptions& options, const std::vector<float>& start) {
  Device device(options, start);
  Trace trace;
  for (int step = 1; step <= 3; ++step) {
    OptimizerOptions optimizer;
    optimizer.adamw.learning_rate = 1e-3F;
    optimizer.adamw.step = step;
    const auto tokens = options.batch * options.sequence * options.grad_accum;
    const Batch batch = random_batch(tokens, options.config.vocab, static_cast<std::uint64_t>(step));
    trace.losses.push_back(device.step(batch, &optimizer).loss);
    const std::vector<float> gradients = device.model().download_gradients();
    trace.gradients.insert(trace.gradients.end(), gradients.begin(), gradients.end());
  }
  trace.parameters = device.model().download_parameters();
  return trace;
}
void expect_same_bits(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_TRUE(a.gradients == b.gradients);
  EXPECT_TRUE(a.parameters == b.parameters);
}

TEST(LibrarySwitches, RecomputationChangesNoBit) {
  const std::vector<float> start = lively_parameters(model_config("tiny"), 9);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    for (const AttentionKind attention : {AttentionKind::own, AttentionKind::unfused}) {
      GpuModelOptions options = tiny_options(precision, attention, 2, 61);
      options.grad_accum = 2;
      options.switches.gelu = GeluKind::separate;
      options.switches.deterministic = true;
      const Trace kept = trace_of(options, start);
      expect_same_bits(kept, trace_of(options, start));
      for (const int recompute : {1, 2}) {
        SCOPED_TRACE(std::string(name_of(precision)) + ", " + std::string(name_of(attention)) +
                     ", recompute " + std::to_string(recompute));
        GpuModelOptions less = options;
        less.switches.recompute = recompute;
        expect_same_bits(kept, trace_of(less, start));
      }
    }
  }
}

// The layernorm that is computed again runs without the residual addition, whichever kernel ran before.
TEST(LibrarySwitches, RecomputationChangesNoBitOfTheOtherKernels) {
  const std::vector<float> start = lively_parameters(model_config("tiny"), 16);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
      for (const ResidualKind residual : {ResidualKind::gemm, ResidualKind::fused, ResidualKind::separate}) {
        SCOPED_TRACE(std::string(name_of(precision)) + ", " + std::string(name_of(width)) + " kernels, " +
                     std::string(name_of(residual)) + " residual");
        GpuModelOptions options = tiny_options(precision, AttentionKind::own, 2, 61);
        options.switches.gelu = GeluKind::separate;
        options.switches.kernels = width;
        options.switches.residual = residual;
        options.switches.deterministic = true;
        const Trace kept = trace_of(options, start);
        options.switches.recompute = 2;
        expect_same_bits(kept, trace_of(options, start));
      }
    }
  }
}

// cuBLASLt's epilogue takes the GELU of the sum before it is rounded, the backward pass of the rounded one:
// the forward pass is the same, and so is every gradient that does not read the GELU's output.
TEST(LibrarySwitches, RecomputingAFusedGeluChangesOnlyTheGradientOfFcprojw) {
  const ModelConfig config = model_config("tiny");
  const ParameterLayout layout(config);
  const std::vector<float> start = lively_parameters(config, 10);
  const Batch batch = random_batch(2 * 64, config.vocab, 11);
  GpuModelOptions options = tiny_options(Precision::bf16, AttentionKind::own, 2, 64);
  options.switches.gelu = GeluKind::fused;
  options.switches.deterministic = true;
  Device kept(options, start);
  options.switches.recompute = 1;
  Device again(options, start);
  EXPECT_EQ(kept.step(batch, nullptr).loss, again.step(batch, nullptr).loss);
  const std::vector<float> a = kept.model().download_gradients(), b = again.model().download_gradients();
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    const auto begin = layout.offset(tensor), end = begin + layout.count(tensor);
    const bool same = std::equal(a.begin() + begin, a.begin() + end, b.begin() + begin);
    EXPECT_TRUE(same || tensor == Tensor::fcprojw) << tensor_name(tensor);
  }
  EXPECT_TRUE(relative_error(b, widen(a), layout.offset(Tensor::fcprojw), layout.count(Tensor::fcprojw)) <=
              4e-3);
}

TEST(LibrarySwitches, L2ResidencyChangesNoBit) {
  if (!l2_can_persist()) GTEST_SKIP() << "this GPU sets no part of L2 aside";
  const std::vector<float> start = lively_parameters(model_config("tiny"), 12);
  GpuModelOptions options = tiny_options(Precision::bf16, AttentionKind::own, 2, 64);
  options.switches.deterministic = true;
  const Trace without = trace_of(options, start);
  options.switches.l2_persist = L2Persist::residual;
  expect_same_bits(without, trace_of(options, start));
}

// A captured step does what the same step does launch by launch.
TEST(LibrarySwitches, AStepWithThemAllCanBeCaptured) {
  const ModelConfig padded = model_config("tiny");
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(name_of(precision));
    GpuModelOptions options = options_for(precision, kSettings.back(), 2, 61);
    options.grad_accum = 2;
    options.switches.deterministic = true;
    const std::vector<float> start = repad_vocabulary(lively_parameters(padded, 13), padded, options.config);
    const Trace launched = trace_of(options, start);

    const auto model = GpuModel::create(options);
    model->load(start);
    const std::int64_t tokens = std::int64_t{options.batch} * options.sequence;
    StepGraph graph(*model, tokens, options.grad_accum);
    for (int step = 1; step <= 3; ++step) {
      const Batch batch = random_batch(static_cast<int>(tokens) * options.grad_accum, options.config.vocab,
                                       static_cast<std::uint64_t>(step));
      for (int micro = 0; micro < options.grad_accum; ++micro) {
        const std::size_t bytes = static_cast<std::size_t>(tokens) * sizeof(std::int32_t);
        RIDGELINE_CUDA_CHECK(cudaMemcpy(graph.tokens(micro), batch.inputs.data() + micro * tokens, bytes,
                                        cudaMemcpyHostToDevice));
        RIDGELINE_CUDA_CHECK(cudaMemcpy(graph.tokens(micro) + tokens, batch.targets.data() + micro * tokens,
                                        bytes, cudaMemcpyHostToDevice));
      }
      RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
      OptimizerOptions optimizer;
      optimizer.adamw.learning_rate = 1e-3F;
      optimizer.adamw.step = step;
      graph.step(optimizer);
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model->stream()));
      StepResult result;
      RIDGELINE_CUDA_CHECK(
          cudaMemcpy(&result, model->device_result(), sizeof(result), cudaMemcpyDeviceToHost));
      EXPECT_EQ(result.loss, launched.losses[static_cast<std::size_t>(step - 1)]) << "step " << step;
    }
    EXPECT_GT(graph.node_count(), 20U);
    EXPECT_TRUE(model->download_parameters() == launched.parameters);
  }
}

// The tokens' rows of a padded and a plain model follow the same path; the padding's rows stay where they
// are.
TEST(LibrarySwitches, PaddingTheVocabularyChangesNoResult) {
  const ModelConfig padded = model_config("tiny");
  const ModelConfig plain = with_vocabulary(padded, VocabularyKind::plain);
  const std::vector<float> start = lively_parameters(plain, 14);
  const Batch batch = random_batch(4 * 64, padded.vocab, 15);
  GpuModelOptions options = tiny_options(Precision::fp32, AttentionKind::own);
  Device with_padding(options, repad_vocabulary(start, plain, padded));
  options.config = plain;
  Device without(options, start);
  const float loss = with_padding.step(batch, nullptr).loss;
  EXPECT_NEAR(without.step(batch, nullptr).loss, loss, 1e-5 * loss);
  const std::vector<float> gradients =
      repad_vocabulary(with_padding.model().download_gradients(), padded, plain);
  expect_gradients(without.model().download_gradients(), widen(gradients), plain, 1e-5);
}

}  // namespace
}  // namespace ridgeline::gpt2::model_switches_libs_gpu_test
