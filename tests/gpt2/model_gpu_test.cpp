// The GPU model against the CPU reference model in double: loss, every gradient, several optimizer steps,
// gradient accumulation, and every switch against its alternative.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/errors.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/parameters.h"
#include "gpt2/model/reference_model.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/train/data/batch_pipeline.h"
#include "model_test_support.h"

namespace ridgeline::gpt2::model_gpu_test {
namespace {

using namespace model_test;

struct Case {
  const char* name;
  Precision precision;
  AttentionKind attention;
  double loss_bound;      // relative
  double gradient_bound;  // relative L2 error of each tensor
};

// FP32 sums of up to 256 x 512 terms: 1e-5. TF32 rounds the operands of GEMMs at 2^-12 on average, bf16
// every stored value at 2^-9, a few dozen values deep. Measured on an H200: gradients 4e-6, 7e-4, 9e-3;
// losses 5e-8, 3e-6, 2e-4.
const Case kCases[] = {
    {"fp32 own", Precision::fp32, AttentionKind::own, 1e-6, 1e-5},
    {"tf32 own", Precision::tf32, AttentionKind::own, 5e-5, 3e-3},
    {"bf16 own", Precision::bf16, AttentionKind::own, 1e-3, 2e-2},
    {"bf16 hopper", Precision::bf16, AttentionKind::hopper, 1e-3, 2e-2},
    {"bf16 cudnn", Precision::bf16, AttentionKind::cudnn, 1e-3, 2e-2},
};

TEST(GpuModel, LossAndEveryGradientMatchTheReference) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = lively_parameters(config, 1);
  for (const auto& [batch_size, sequence] : {std::pair(4, 64), std::pair(3, 61)}) {
    const Batch batch = random_batch(batch_size * sequence, config.vocab, 2);
    ReferenceModel<double> reference(config, batch_size, sequence, widen(start));
    const double loss = reference.forward(batch.inputs, batch.targets);
    reference.backward();
    for (const Case& c : kCases) {
      if (c.attention == AttentionKind::hopper &&
          !hopper_attention_backward_supported(batch_size, sequence, config.heads, config.head_size())) {
        continue;
      }
      SCOPED_TRACE(std::string(c.name) + " T=" + std::to_string(sequence));
      for (GeluKind gelu : {GeluKind::own, GeluKind::fused, GeluKind::separate}) {
        if (gelu == GeluKind::own && c.precision != Precision::bf16) continue;
        for (BiasGradientKind bias : {BiasGradientKind::fused, BiasGradientKind::separate}) {
          GpuModelOptions options = tiny_options(c.precision, c.attention, batch_size, sequence);
          options.switches.gelu = gelu;
          options.switches.bias_gradient = bias;
          options.switches.deterministic = gelu != GeluKind::fused;
          Device device(options, start);
          const StepResult result = device.step(batch, nullptr);
          EXPECT_TRUE(std::abs(result.loss - loss) <= c.loss_bound * loss) << result.loss << " vs " << loss;
          const double worst = expect_gradients(device.model().download_gradients(), reference.gradients(),
                                                config, c.gradient_bound);
          std::printf(
              "%-10s T=%d: loss off by %.1e (bound %.0e), worst gradient tensor by %.1e (bound %.0e)\n",
              c.name, sequence, std::abs(result.loss - loss) / loss, c.loss_bound, worst, c.gradient_bound);
        }
      }
    }
  }
}

TEST(GpuModel, SeveralOptimizerStepsFollowTheReference) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = lively_parameters(config, 4);
  constexpr int kSteps = 5;
  constexpr float kRate = 1e-3F;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    ReferenceModel<double> reference(config, 2, 32, widen(start));
    Device device(tiny_options(c.precision, c.attention, 2, 32), start);
    double loss_error = 0, norm_error = 0;
    for (int step = 1; step <= kSteps; ++step) {
      const Batch batch = random_batch(64, config.vocab, static_cast<std::uint64_t>(step % 2));
      OptimizerOptions optimizer;
      optimizer.adamw.learning_rate = kRate;
      optimizer.adamw.step = step;
      const StepResult result = device.step(batch, &optimizer);
      reference.zero_gradients();
      const double loss = reference.forward(batch.inputs, batch.targets);
      reference.backward();
      const double norm = reference.optimizer_step(optimizer.adamw, optimizer.weight_decay, 1.0);
      EXPECT_TRUE(std::abs(result.loss - loss) <= 4 * c.loss_bound * loss)
          << "step " << step << ": " << result.loss << " vs " << loss;
      EXPECT_TRUE(std::abs(result.gradient.norm - norm) <= 2 * c.gradient_bound * norm)
          << "step " << step << ": " << result.gradient.norm << " vs " << norm;
      EXPECT_EQ(result.gradient.finite, 1);
      loss_error = std::max(loss_error, std::abs(result.loss - loss) / loss);
      norm_error = std::max(norm_error, std::abs(result.gradient.norm - norm) / norm);
    }
    // AdamW turns a gradient near zero (the key biases have none at all) into a step of unknown sign, so that
    // single elements may differ by a whole step; the mean must not.
    const std::vector<float> got = device.model().download_parameters();
    double sum = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double difference = std::abs(got[i] - reference.parameters()[i]);
      sum += difference;
      largest = std::max(largest, difference);
    }
    const double mean = sum / static_cast<double>(got.size());
    const double mean_bound = c.precision == Precision::fp32   ? 1e-3
                              : c.precision == Precision::tf32 ? 0.1
                                                               : 0.25;
    std::printf(
        "%-10s %d steps: loss off by %.1e, norm by %.1e, parameters by %.1e of the way (bound %.0e)\n",
        c.name, kSteps, loss_error, norm_error, mean / (kRate * kSteps), mean_bound);
    EXPECT_TRUE(mean <= mean_bound * kRate * kSteps) << mean;
    EXPECT_TRUE(largest <= 2.2 * kRate * kSteps) << largest;
  }
}

TEST(GpuModel, FourMicroBatchesEqualOneBatch) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = lively_parameters(config, 5);
  const Batch batch = random_batch(8 * 32, config.vocab, 6);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    for (BiasGradientKind bias : {BiasGradientKind::fused, BiasGradientKind::separate}) {
      GpuModelOptions whole_options = tiny_options(c.precision, c.attention, 8, 32);
      whole_options.switches.bias_gradient = bias;
      expect_parts_make_the_whole(whole_options, start, batch);
    }
  }
}

TEST(GpuModel, EvaluationIsTheTrainingLossAndChangesNothing) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = lively_parameters(config, 7);
  const Batch batch = random_batch(4 * 64, config.vocab, 8);
  Device device(tiny_options(Precision::bf16, AttentionKind::own), start);
  const StepResult trained = device.step(batch, nullptr);
  const std::vector<float> gradients = device.model().download_gradients();
  DeviceBuffer<std::int32_t> inputs(4 * 64), targets(4 * 64);
  inputs.upload(batch.inputs);
  targets.upload(batch.targets);
  device.model().evaluate(inputs.data(), targets.data());
  EXPECT_FLOAT_EQ(device.result().loss, trained.loss);
  EXPECT_EQ(device.model().download_gradients(), gradients);
  EXPECT_EQ(device.model().download_parameters(), start);
}

TEST(GpuModel, LogitsOfEveryPositionAreTheReferences) {
  const ModelConfig config = model_config("tiny");
  const std::vector<float> start = lively_parameters(config, 9);
  constexpr int kB = 2, kT = 37;
  const Batch batch = random_batch(kB * kT, config.vocab, 10);
  DeviceBuffer<std::int32_t> inputs(kB * kT);
  inputs.upload(batch.inputs);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    Device device(tiny_options(precision, AttentionKind::own, kB, kT), start);
    // Together the rows give the mean loss; a row in another's place would not give that of its target.
    ReferenceModel<double> reference(config, kB, kT, {start.begin(), start.end()});
    double sum = 0;
    for (int row = 0; row < kB * kT; ++row) {
      const std::vector<float> logits = device.model().logits(inputs.data(), row);
      ASSERT_EQ(static_cast<int>(logits.size()), config.vocab);
      const double largest = *std::max_element(logits.begin(), logits.end());
      double total = 0;
      for (const float logit : logits) total += std::exp(logit - largest);
      const auto target = static_cast<std::size_t>(batch.targets[static_cast<std::size_t>(row)]);
      sum += std::log(total) + largest - logits[target];
    }
    const double want = reference.forward(batch.inputs, batch.targets);
    EXPECT_NEAR(sum / (kB * kT), want, (precision == Precision::fp32 ? 1e-5 : 1e-2) * want);
    EXPECT_THROW(device.model().logits(inputs.data(), kB * kT), std::out_of_range);
    EXPECT_THROW(device.model().logits(inputs.data(), -1), std::out_of_range);
  }
}

TEST(GpuModel, EmbeddingsDecayUnlessToldOtherwise) {
  const ModelConfig config = model_config("tiny");
  const ParameterLayout layout(config);
  const std::vector<float> start = lively_parameters(config, 11);
  const Batch batch = random_batch(4 * 64, config.vocab, 12);
  const auto trained = [&](OptimizerKind kind, bool decay_embeddings, float weight_decay) {
    GpuModelOptions options = tiny_options(Precision::fp32, AttentionKind::own);
    options.switches.deterministic = true;
    options.switches.optimizer = kind;
    Device device(options, start);
    OptimizerOptions optimizer;
    optimizer.weight_decay = weight_decay;
    optimizer.decay_embeddings = decay_embeddings;
    device.step(batch, &optimizer);
    return device.model().download_parameters();
  };
  for (const OptimizerKind kind : {OptimizerKind::multi, OptimizerKind::per_tensor}) {
    SCOPED_TRACE(name_of(kind));
    const std::vector<float> none = trained(kind, true, 0.0F);
    const std::vector<float> all = trained(kind, true, 0.5F), but = trained(kind, false, 0.5F);
    for (int t = 0; t < kTensorCount; ++t) {
      const auto tensor = static_cast<Tensor>(t);
      const auto same = [&](const std::vector<float>& a) {
        const auto begin = static_cast<std::ptrdiff_t>(layout.offset(tensor));
        const auto count = static_cast<std::ptrdiff_t>(layout.count(tensor));
        return std::equal(a.begin() + begin, a.begin() + begin + count, none.begin() + begin);
      };
      const bool embedding = tensor == Tensor::wte || tensor == Tensor::wpe;
      EXPECT_EQ(same(all), !tensor_is_matrix(tensor)) << tensor_name(tensor);
      EXPECT_EQ(same(but), embedding || !tensor_is_matrix(tensor)) << tensor_name(tensor);
    }
  }
}

TEST(GpuModel, AGradientThatIsNotFiniteChangesNoParameter) {
  const ModelConfig config = model_config("tiny");
  std::vector<float> start = lively_parameters(config, 7);
  start[static_cast<std::size_t>(ParameterLayout(config).offset(Tensor::lnfb))] =
      std::numeric_limits<float>::infinity();
  Device device(tiny_options(Precision::bf16, AttentionKind::own), start);
  OptimizerOptions optimizer;
  const StepResult result = device.step(random_batch(4 * 64, config.vocab, 8), &optimizer);
  EXPECT_EQ(result.gradient.finite, 0);
  EXPECT_FALSE(std::isfinite(result.loss));
  EXPECT_EQ(device.model().download_parameters(), start);
}

TEST(GpuModel, ImpossibleOptionsAreRefusedWithOneLine) {
  const auto refusal = [](const GpuModelOptions& options) {
    try {
      GpuModel::create(options);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return std::string(error.what());
    }
    return std::string("created");
  };
  EXPECT_NE(refusal(tiny_options(Precision::fp32, AttentionKind::cudnn)).find("--attention own"),
            std::string::npos);
  EXPECT_NE(refusal(tiny_options(Precision::bf16, AttentionKind::own, 1, 257)).find("T=257"),
            std::string::npos);
}

TEST(BatchPipeline, DeliversTheSourceInOrder) {
  constexpr int kTokens = 1000;
  BatchPipeline pipeline(synthetic_source(97, 5, 0), kTokens);
  const auto source = synthetic_source(97, 5, 0);
  const Stream stream;
  std::vector<std::int32_t> x(kTokens), y(kTokens), got(kTokens);
  for (int i = 0; i < 3 * BatchPipeline::kSlots; ++i) {
    source->next(x, y);
    const DeviceBatch batch = pipeline.acquire(stream.get());
    for (const auto& [device, want] : {std::pair(batch.inputs, &x), std::pair(batch.targets, &y)}) {
      RIDGELINE_CUDA_CHECK(
          cudaMemcpyAsync(got.data(), device, kTokens * 4, cudaMemcpyDeviceToHost, stream.get()));
      stream.synchronize();
      ASSERT_EQ(got, *want) << "batch " << i;
    }
    pipeline.release(stream.get());
  }
}

// The source is several batches ahead by then.
TEST(BatchPipeline, ItsPositionIsBehindTheBatchLastAcquired) {
  constexpr int kTokens = 100;
  BatchPipeline pipeline(synthetic_source(97, 5, 0), kTokens);
  const auto source = synthetic_source(97, 5, 0);
  const Stream stream;
  std::vector<std::int32_t> x(kTokens), y(kTokens);
  EXPECT_EQ(pipeline.position(), source->position());
  for (int i = 0; i < 3 * BatchPipeline::kSlots; ++i) {
    source->next(x, y);
    pipeline.acquire(stream.get());
    EXPECT_EQ(pipeline.position(), source->position()) << "batch " << i;
    pipeline.release(stream.get());
  }
}

TEST(BatchPipeline, ThrowsWhatTheSourceThrew) {
  class Failing : public TokenSource {
   public:
    void next(std::span<std::int32_t>, std::span<std::int32_t>) override {
      if (++calls_ > 2) throw InputError("shard gone");
    }
    void rewind() override {}
    std::vector<std::byte> position() const override { return {}; }
    void restore(std::span<const std::byte>) override {}
    DataIdentity identity() const override { return {}; }

   private:
    int calls_ = 0;
  };
  BatchPipeline pipeline(std::make_unique<Failing>(), 16);
  const Stream stream;
  pipeline.acquire(stream.get());
  pipeline.release(stream.get());
  pipeline.acquire(stream.get());
  pipeline.release(stream.get());
  EXPECT_THROW(pipeline.acquire(stream.get()), InputError);
}

}  // namespace
}  // namespace ridgeline::gpt2::model_gpu_test
