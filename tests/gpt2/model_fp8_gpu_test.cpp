// The model with its layers' GEMMs in FP8: gradients against the CPU reference as far as 3 and 2 bits of
// fraction go, a run beside one in BF16, and the scales after it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "gpt2/model/fp8_scaling.h"
#include "gpt2/model/reference_model.h"
#include "gpt2/train/data/token_source.h"
#include "model_test_support.h"

namespace ridgeline::gpt2::model_fp8_gpu_test {
namespace {

using namespace model_test;

// What is kept of the scales, and what they should be by it.
std::vector<float> scaling_of(const GpuModel& model) {
  std::vector<float> values(static_cast<std::size_t>(model.state_bytes(StatePart::scaling)) / sizeof(float));
  model.download_state(StatePart::scaling, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

// A GEMM of E4M3 and E5M2 is off by 3 and 5 % (root mean square) at random, and what was wrong before is wrong again
// after it. The CPU reference with its operands rounded to these formats is off by 7e-4 in the loss and by
// 0.16 in the worst tensor; a wrong operand or scale is off by everything.
TEST(ModelFp8, GradientsAreTheReferencesWithinTheFormats) {
  struct Case {
    const char* name;
    ResidualKind residual = ResidualKind::gemm;
    Fp8Classifier classifier = Fp8Classifier::none;
    Fp8Hidden hidden = Fp8Hidden::bf16;
    AttentionKind attention = AttentionKind::own;
  };
  const ModelConfig config = model_config("tiny");
  const std::vector<float> parameters = lively_parameters(config, 1);
  for (const auto& [batch_size, sequence] : {std::pair(4, 64), std::pair(3, 48)}) {
    const Batch batch = random_batch(batch_size * sequence, config.vocab, 2);
    ReferenceModel<double> reference(config, batch_size, sequence, widen(parameters));
    const double loss = reference.forward(batch.inputs, batch.targets);
    reference.backward();
    for (const Case& c :
         {Case{"layers"}, Case{"residual fused", ResidualKind::fused},
          Case{"residual apart", ResidualKind::separate},
          Case{"classifier", ResidualKind::gemm, Fp8Classifier::all},
          Case{"hidden", ResidualKind::gemm, Fp8Classifier::none, Fp8Hidden::fp8},
          Case{"hidden, residual apart", ResidualKind::separate, Fp8Classifier::none, Fp8Hidden::fp8},
          Case{"hidden, classifier", ResidualKind::gemm, Fp8Classifier::all, Fp8Hidden::fp8},
          Case{"attention", ResidualKind::gemm, Fp8Classifier::none, Fp8Hidden::bf16,
               AttentionKind::hopper}}) {
      SCOPED_TRACE(c.name);
      GpuModelOptions options = tiny_options(Precision::fp8, c.attention, batch_size, sequence);
      options.switches.residual = c.residual;
      options.switches.fp8_classifier = c.classifier;
      options.switches.fp8_hidden = c.hidden;
      Device device(options, parameters);
      // Twice: with the scales of a beginning, then with those that the first step's magnitudes give. A
      // learning rate of 0 changes no parameter.
      for (int step = 0; step < 2; ++step) {
        OptimizerOptions still;
        still.adamw.learning_rate = 0.0F;
        still.adamw.step = step + 1;
        const StepResult result = device.step(batch, &still);
        EXPECT_TRUE(std::abs(result.loss - loss) <= 5e-3 * loss) << result.loss << " vs " << loss;
        const double worst =
            expect_gradients(device.model().download_gradients(), reference.gradients(), config, 0.22);
        std::printf(
            "fp8 %-24s step %d: loss off by %.1e (bound 5e-3), worst gradient tensor by %.1e (bound "
            "2.2e-1)\n",
            c.name, step, std::abs(result.loss - loss) / loss, worst);
      }
    }
  }
}

// What is in FP8 beside the layers' operands.
struct Also {
  const char* name;
  Fp8Classifier classifier;
  Fp8Hidden hidden;
};
class ModelFp8With : public ::testing::TestWithParam<Also> {};
INSTANTIATE_TEST_SUITE_P(Also, ModelFp8With,
                         ::testing::Values(Also{"nothing", Fp8Classifier::none, Fp8Hidden::bf16},
                                           Also{"classifier", Fp8Classifier::all, Fp8Hidden::bf16},
                                           Also{"hidden", Fp8Classifier::none, Fp8Hidden::fp8},
                                           Also{"everything", Fp8Classifier::all, Fp8Hidden::fp8}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(ModelFp8With, MicroBatchesAddUp) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> parameters = lively_parameters(config, 3);
  const Batch batch = random_batch(8 * 32, config.vocab, 4);
  GpuModelOptions whole_options = tiny_options(Precision::fp8, AttentionKind::own, 8, 32);
  whole_options.switches.fp8_classifier = GetParam().classifier;
  whole_options.switches.fp8_hidden = GetParam().hidden;
  GpuModelOptions parts_options = whole_options;
  parts_options.batch = 2;
  parts_options.grad_accum = 4;
  Device whole(whole_options, parameters);
  Device parts(parts_options, parameters);
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second step must not see the gradients of the first
    const StepResult a = whole.step(batch, nullptr);
    const StepResult b = parts.step(batch, nullptr);
    EXPECT_TRUE(std::abs(a.loss - b.loss) <= 1e-3 * a.loss) << a.loss << " vs " << b.loss;
    // The same values with the same scales, but for sums in another order, by which one rounds to another
    // step now and then.
    expect_gradients(parts.model().download_gradients(), widen(whole.model().download_gradients()), config,
                     0.1);
  }
}

TEST(ModelFp8, ScalesFollowTheMagnitudesOfSteps) {
  GpuModelOptions options = tiny_options(Precision::fp8, AttentionKind::own);
  options.switches.fp8_classifier = Fp8Classifier::all;  // so that every tensor is used
  options.switches.fp8_hidden = Fp8Hidden::fp8;
  const std::int64_t tensors = fp8_tensors(options.config);
  Device device(options, random_parameters(options.config, 5));
  const Batch batch = random_batch(4 * 64, options.config.vocab, 6);
  const auto at = [&](const std::vector<float>& values, int place, std::int64_t tensor) {
    return values[static_cast<std::size_t>(tensor * kFp8StateFloats + place)];
  };
  const std::vector<float> before = scaling_of(device.model());
  for (std::int64_t t = 0; t < tensors; ++t) EXPECT_EQ(at(before, kFp8FirstOfHistory, t), 0.0F);
  OptimizerOptions optimizer;
  for (int step = 0; step < 3; ++step) {
    optimizer.adamw.step = step + 1;
    device.step(batch, &optimizer);
  }
  const std::vector<float> after = scaling_of(device.model());
  for (std::int64_t t = 0; t < tensors; ++t) {
    SCOPED_TRACE("tensor " + std::to_string(t));
    const Fp8Format format = t < fp8_e4m3_tensors(options.config) ? Fp8Format::e4m3 : Fp8Format::e5m2;
    EXPECT_EQ(at(after, kFp8Amax, t), 0.0F) << "the next step's magnitude begins at zero";
    float largest = 0.0F;
    for (int age = 0; age < kFp8History; ++age) {
      if (age < 3) {
        EXPECT_GT(at(after, kFp8FirstOfHistory + age, t), 0.0F) << "age " << age;
      } else {
        EXPECT_EQ(at(after, kFp8FirstOfHistory + age, t), 0.0F) << "age " << age;
      }
      largest = std::max(largest, at(after, kFp8FirstOfHistory + age, t));
    }
    EXPECT_EQ(at(after, kFp8ScaleAt, t), fp8_scale(largest, format));
    EXPECT_EQ(at(after, kFp8ScaleAt, t) * at(after, kFp8Inverse, t), 1.0F);
  }
}

TEST(ModelFp8, AnEvaluationLeavesTheScalesAlone) {
  GpuModelOptions options = tiny_options(Precision::fp8, AttentionKind::own);
  options.switches.fp8_classifier = Fp8Classifier::all;
  options.switches.fp8_hidden = Fp8Hidden::fp8;
  Device device(options, random_parameters(options.config, 5));
  const Batch batch = random_batch(4 * 64, options.config.vocab, 6);
  OptimizerOptions optimizer;
  device.step(batch, &optimizer);
  const std::vector<float> before = scaling_of(device.model());
  DeviceBuffer<std::int32_t> inputs(4 * 64), targets(4 * 64);
  inputs.upload(batch.inputs);
  targets.upload(batch.targets);
  device.model().evaluate(inputs.data(), targets.data());
  (void)device.model().logits(inputs.data(), 3);
  EXPECT_EQ(scaling_of(device.model()), before);
}

TEST_P(ModelFp8With, LossFollowsBf16) {
  constexpr int kSteps = 240;
  constexpr int kLast = 40;
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = random_parameters(config, 7);
  const auto train = [&](Precision precision) {
    GpuModelOptions options = tiny_options(precision, AttentionKind::own, 8, 64);
    if (precision == Precision::fp8) {
      options.switches.fp8_classifier = GetParam().classifier;
      options.switches.fp8_hidden = GetParam().hidden;
    }
    Device device(options, start);
    const auto source = synthetic_source(config.vocab, 5, 0);
    std::vector<float> losses;
    for (int step = 0; step < kSteps; ++step) {
      Batch batch{std::vector<std::int32_t>(8 * 64), std::vector<std::int32_t>(8 * 64)};
      source->next(batch.inputs, batch.targets);
      OptimizerOptions optimizer;
      optimizer.adamw.learning_rate = 2e-3F;
      optimizer.adamw.step = step + 1;
      losses.push_back(device.step(batch, &optimizer).loss);
    }
    return losses;
  };
  const std::vector<float> wide = train(Precision::bf16);
  const std::vector<float> narrow = train(Precision::fp8);
  const auto mean_of_last = [](const std::vector<float>& losses) {
    return std::accumulate(losses.end() - kLast, losses.end(), 0.0) / kLast;
  };
  const double in_bf16 = mean_of_last(wide);
  const double in_fp8 = mean_of_last(narrow);
  std::printf("loss %.4f at first; mean of the last %d of %d steps: bf16 %.4f, fp8 %.4f, off by %.2e\n",
              static_cast<double>(wide.front()), kLast, kSteps, in_bf16, in_fp8,
              std::abs(in_fp8 - in_bf16) / in_bf16);
  EXPECT_LT(in_bf16, 0.95 * static_cast<double>(wide.front()))
      << "nothing was learned that could be followed";
  // The CPU reference with rounded operands ends 0.03 % from the exact one.
  EXPECT_TRUE(std::abs(in_fp8 - in_bf16) <= 0.01 * in_bf16) << in_fp8 << " vs " << in_bf16;
}

}  // namespace
}  // namespace ridgeline::gpt2::model_fp8_gpu_test
