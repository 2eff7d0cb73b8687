// The switches of the own kernels against the CPU reference model: scalar accesses, the residual outside the GEMM,
// the separate classifier, the naive bias gradient, an optimizer launch a tensor, stochastic rounding, and the naive
// preset.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpt2/model/gpu_model.h"
#include "gpt2/model/step_graph.h"
#include "model_switches_testing.h"

namespace ridgeline::gpt2::model_switches_ops_gpu_test {
namespace {

using namespace model_test;

void set_all(Switches& s) {
  s.kernels = KernelWidth::scalar;
  s.residual = ResidualKind::separate;
  s.classifier = ClassifierKind::separate;
  s.bias_gradient = BiasGradientKind::naive;
  s.optimizer = OptimizerKind::per_tensor;
  s.gelu = GeluKind::separate;
}

const std::vector<Setting> kSettings = {
    {"scalar kernels", [](Switches& s) { s.kernels = KernelWidth::scalar; }},
    {"scalar kernels, separate GELU, sorted embedding gradient",
     [](Switches& s) {
       s.kernels = KernelWidth::scalar;
       s.gelu = GeluKind::separate;
       s.deterministic = true;
     }},
    {"separate GELU with a naive bias gradient",
     [](Switches& s) {
       s.gelu = GeluKind::separate;
       s.bias_gradient = BiasGradientKind::naive;
     }},
    {"fused residual", [](Switches& s) { s.residual = ResidualKind::fused; }},
    {"separate residual", [](Switches& s) { s.residual = ResidualKind::separate; }},
    {"separate classifier", [](Switches& s) { s.classifier = ClassifierKind::separate; }},
    {"naive bias gradient", [](Switches& s) { s.bias_gradient = BiasGradientKind::naive; }},
    {"all of them", set_all},
    {"all of them, recomputation",
     [](Switches& s) {
       set_all(s);
       s.recompute = 2;
     }},
    {"naive preset",
     [](Switches& s) {
       const Precision precision = s.precision;
       s = naive_preset();
       s.precision = precision;
     }},
};

TEST(KernelSwitches, LossAndEveryGradientMatchTheReference) {
  expect_the_references_gradients(kSettings);
}

TEST(KernelSwitches, FourMicroBatchesEqualOneBatch) {
  expect_micro_batches_to_add_up(kSettings);
}

// Losses, norms, gradients and parameters of a few steps.
struct Trace {
  std::vector<float> losses, norms, gradients, parameters;
  bool operator==(const Trace&) const = default;
};

constexpr int kSteps = 3;
constexpr int kBatch = 2;
constexpr int kSequence = 61;

OptimizerOptions optimizer_at(int step, float clip) {
  OptimizerOptions optimizer;
  optimizer.adamw.learning_rate = 1e-2F;
  optimizer.adamw.step = step;
  optimizer.clip = clip;
  return optimizer;
}
Batch batch_at(int step, int vocab) {
  return random_batch(kBatch * kSequence, vocab, static_cast<std::uint64_t>(step));
}

GpuModelOptions repeatable(Precision precision) {
  GpuModelOptions options = tiny_options(precision, AttentionKind::own, kBatch, kSequence);
  options.switches.deterministic = true;
  return options;
}

Trace trace_of(const GpuModelOptions& options, float clip = 1.0F) {
  Device device(options, lively_parameters(options.config, 9));
  Trace trace;
  for (int step = 1; step <= kSteps; ++step) {
    const OptimizerOptions optimizer = optimizer_at(step, clip);
    const StepResult result = device.step(batch_at(step, options.config.vocab), &optimizer);
    trace.losses.push_back(result.loss);
    trace.norms.push_back(result.gradient.norm);
    const std::vector<float> gradients = device.model().download_gradients();
    trace.gradients.insert(trace.gradients.end(), gradients.begin(), gradients.end());
  }
  trace.parameters = device.model().download_parameters();
  return trace;
}

// The same steps, from the second on as one graph.
Trace captured_trace_of(const GpuModelOptions& options) {
  const auto model = GpuModel::create(options);
  model->load(lively_parameters(options.config, 9));
  constexpr std::int64_t kTokens = std::int64_t{kBatch} * kSequence;
  StepGraph graph(*model, kTokens, 1);
  Trace trace;
  for (int step = 1; step <= kSteps; ++step) {
    const Batch batch = batch_at(step, options.config.vocab);
    constexpr std::size_t kBytes = static_cast<std::size_t>(kTokens) * sizeof(std::int32_t);
    RIDGELINE_CUDA_CHECK(cudaMemcpy(graph.tokens(0), batch.inputs.data(), kBytes, cudaMemcpyHostToDevice));
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(graph.tokens(0) + kTokens, batch.targets.data(), kBytes, cudaMemcpyHostToDevice));
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    graph.step(optimizer_at(step, 1.0F));
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model->stream()));
    StepResult result;
    RIDGELINE_CUDA_CHECK(cudaMemcpy(&result, model->device_result(), sizeof(result), cudaMemcpyDeviceToHost));
    trace.losses.push_back(result.loss);
    trace.norms.push_back(result.gradient.norm);
    const std::vector<float> gradients = model->download_gradients();
    trace.gradients.insert(trace.gradients.end(), gradients.begin(), gradients.end());
  }
  EXPECT_GT(graph.node_count(), 20U);
  trace.parameters = model->download_parameters();
  return trace;
}

TEST(KernelSwitches, TheSeparateResidualChangesNoBit) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const KernelWidth kernels : {KernelWidth::packed, KernelWidth::scalar}) {
      SCOPED_TRACE(std::string(name_of(precision)) + ", " + std::string(name_of(kernels)));
      GpuModelOptions options = repeatable(precision);
      options.switches.kernels = kernels;
      options.switches.residual = ResidualKind::fused;
      const Trace fused = trace_of(options);
      ASSERT_TRUE(fused == trace_of(options)) << "the comparison needs a deterministic step";
      options.switches.residual = ResidualKind::separate;
      EXPECT_TRUE(fused == trace_of(options));
    }
  }
}

// Without clipping the norm has no part in the update, which is then the same to the last bit; with it, norms
// agree as far as sums in another order do.
TEST(KernelSwitches, ALaunchATensorUpdatesToTheSameBits) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const bool stochastic : {false, true}) {
      if (stochastic && precision != Precision::bf16) continue;
      SCOPED_TRACE(std::string(name_of(precision)) + (stochastic ? ", stochastic" : ""));
      GpuModelOptions options = repeatable(precision);
      options.switches.stochastic_rounding = stochastic;
      const Trace multi = trace_of(options, 0.0F);
      options.switches.optimizer = OptimizerKind::per_tensor;
      const Trace per_tensor = trace_of(options, 0.0F);
      EXPECT_EQ(per_tensor.losses, multi.losses);
      EXPECT_TRUE(per_tensor.parameters == multi.parameters);
      for (std::size_t i = 0; i < multi.norms.size(); ++i) {
        EXPECT_NEAR(per_tensor.norms[i], multi.norms[i], 1e-6F * multi.norms[i]);
      }
      const Trace clipped = trace_of(options, 0.5F);
      EXPECT_NE(clipped.parameters, per_tensor.parameters);
    }
  }
}

TEST(KernelSwitches, EvaluationIsTheTrainingLossWithASeparateClassifier) {
  GpuModelOptions options = repeatable(Precision::bf16);
  options.switches.classifier = ClassifierKind::separate;
  Device device(options, lively_parameters(options.config, 7));
  const Batch batch = batch_at(1, options.config.vocab);
  const StepResult trained = device.step(batch, nullptr);
  const std::vector<float> gradients = device.model().download_gradients();
  DeviceBuffer<std::int32_t> inputs(kBatch * kSequence), targets(kBatch * kSequence);
  inputs.upload(batch.inputs);
  targets.upload(batch.targets);
  device.model().evaluate(inputs.data(), targets.data());
  EXPECT_FLOAT_EQ(device.result().loss, trained.loss);
  EXPECT_EQ(device.model().download_gradients(), gradients);
}

TEST(KernelSwitches, ACapturedStepDoesTheSame) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(name_of(precision));
    GpuModelOptions options = repeatable(precision);
    set_all(options.switches);
    options.switches.stochastic_rounding = precision == Precision::bf16;
    EXPECT_TRUE(captured_trace_of(options) == trace_of(options));
  }
}

TEST(StochasticRounding, RepeatsAndDependsOnItsSeedAlone) {
  GpuModelOptions options = repeatable(Precision::bf16);
  const Trace nearest = trace_of(options);
  options.switches.stochastic_rounding = true;
  options.rounding_seed = 1;
  const Trace one = trace_of(options);
  EXPECT_TRUE(one == trace_of(options));
  EXPECT_TRUE(one == captured_trace_of(options));
  options.rounding_seed = 2;
  const Trace two = trace_of(options);
  // The first step runs on parameters as loaded, the later ones on those that were rounded.
  EXPECT_EQ(one.losses[0], nearest.losses[0]);
  EXPECT_EQ(one.losses[0], two.losses[0]);
  EXPECT_NE(one.losses[1], nearest.losses[1]);
  EXPECT_NE(one.losses[1], two.losses[1]);
  for (int step = 1; step < kSteps; ++step) {
    const auto i = static_cast<std::size_t>(step);
    EXPECT_NEAR(one.losses[i], nearest.losses[i], 5e-2F * nearest.losses[i]);
  }
  options.rounding_seed = 1;
  options.switches.kernels = KernelWidth::scalar;
  options.switches.optimizer = OptimizerKind::per_tensor;
  EXPECT_TRUE(trace_of(options) == captured_trace_of(options));
}

}  // namespace
}  // namespace ridgeline::gpt2::model_switches_ops_gpu_test
