// A step as one CUDA graph against the same steps launch by launch: losses, norms and parameters, bit by bit.
#include "gpt2/model/step_graph.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/parameters.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "model_test_support.h"

namespace ridgeline::gpt2::step_graph_test {
namespace {

constexpr int kBatch = 2;
constexpr int kSequence = 32;
constexpr int kTokens = kBatch * kSequence;
constexpr int kSteps = 6;

struct Trained {
  std::vector<float> losses, norms, parameters;
  std::size_t nodes = 0;
};

GpuModelOptions options_of(Precision precision, AttentionKind attention, int grad_accum) {
  GpuModelOptions options = model_test::tiny_options(precision, attention, kBatch, kSequence);
  options.grad_accum = grad_accum;
  options.switches.deterministic = true;
  return options;
}

// Everything that a graph could freeze changes from step to step; the decay changes once, half-way.
OptimizerOptions optimizer_at(int step) {
  constexpr float kRates[kSteps] = {1e-3F, 3e-3F, 2e-4F, 5e-3F, 1e-5F, 2e-3F};
  OptimizerOptions optimizer;
  optimizer.adamw.learning_rate = kRates[step];
  optimizer.adamw.step = step + 1;
  optimizer.weight_decay = step < kSteps / 2 ? 0.1F : 0.3F;
  return optimizer;
}

// Inputs, then targets, of a micro-batch.
std::vector<std::int32_t> batch(int step, int micro, int vocab) {
  std::mt19937_64 random(static_cast<std::uint64_t>(100 * step + micro));
  std::vector<std::int32_t> tokens(2 * kTokens);
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab));
  return tokens;
}

Trained train(const GpuModelOptions& options, bool with_graph) {
  const auto model = GpuModel::create(options);
  model->load(random_parameters(options.config, 9));
  StepGraph graph(*model, kTokens, options.grad_accum);
  Trained trained;
  for (int step = 0; step < kSteps; ++step) {
    for (int micro = 0; micro < options.grad_accum; ++micro) {
      const std::vector<std::int32_t> host = batch(step, micro, options.config.vocab);
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(graph.tokens(micro), host.data(), host.size() * sizeof(host[0]),
                                           cudaMemcpyHostToDevice, model->stream()));
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model->stream()));
      if (!with_graph) model->micro_step(graph.tokens(micro), graph.tokens(micro) + kTokens, micro);
    }
    if (with_graph) {
      graph.step(optimizer_at(step));
    } else {
      model->optimizer_step(optimizer_at(step));
    }
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model->stream()));
    StepResult result;
    RIDGELINE_CUDA_CHECK(cudaMemcpy(&result, model->device_result(), sizeof(result), cudaMemcpyDeviceToHost));
    trained.losses.push_back(result.loss);
    trained.norms.push_back(result.gradient.norm);
  }
  trained.parameters = model->download_parameters();
  trained.nodes = graph.node_count();
  return trained;
}

TEST(StepGraph, TrainsAsTheSameStepsLaunchByLaunch) {
  struct Case {
    const char* name;
    Precision precision;
    AttentionKind attention;
    int grad_accum;
    Fp8Hidden hidden = Fp8Hidden::bf16;
  };
  for (const Case& c : {Case{"fp32 own", Precision::fp32, AttentionKind::own, 1},
                        Case{"bf16 own, two micro-batches", Precision::bf16, AttentionKind::own, 2},
                        Case{"fp8 own, two micro-batches", Precision::fp8, AttentionKind::own, 2},
                        Case{"the same, hidden", Precision::fp8, AttentionKind::own, 2, Fp8Hidden::fp8},
                        Case{"bf16 hopper", Precision::bf16, AttentionKind::hopper, 1}}) {
    SCOPED_TRACE(c.name);
    GpuModelOptions options = options_of(c.precision, c.attention, c.grad_accum);
    options.switches.fp8_hidden = c.hidden;
    if (c.attention == AttentionKind::hopper &&
        !hopper_attention_backward_supported(options.batch, options.sequence, options.config.heads,
                                             options.config.head_size())) {
      continue;
    }
    const Trained plain = train(options, false);
    const Trained again = train(options, false);
    ASSERT_EQ(plain.parameters, again.parameters) << "the comparison needs a deterministic step";
    const Trained graph = train(options, true);
    EXPECT_EQ(plain.nodes, 0U);
    EXPECT_GT(graph.nodes, 20U);
    EXPECT_EQ(graph.losses, plain.losses);
    EXPECT_EQ(graph.norms, plain.norms);
    EXPECT_EQ(graph.parameters, plain.parameters);
    EXPECT_NE(plain.losses.front(), plain.losses.back());
  }
}

// cuDNN's backward pass adds in no fixed order.
TEST(StepGraph, CapturesCudnnAttention) {
  const GpuModelOptions options = options_of(Precision::bf16, AttentionKind::cudnn, 1);
  const Trained plain = train(options, false);
  const Trained graph = train(options, true);
  ASSERT_EQ(graph.losses.size(), plain.losses.size());
  for (std::size_t i = 0; i < plain.losses.size(); ++i) {
    EXPECT_NEAR(graph.losses[i], plain.losses[i], 2e-3 * plain.losses[i]) << "step " << i;
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::step_graph_test
