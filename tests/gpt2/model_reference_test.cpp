// The reference model's gradients against central finite differences, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "gpt2/common/errors.h"
#include "gpt2/model/reference_model.h"

namespace ridgeline::gpt2 {
namespace {

constexpr ModelConfig kSmall = {
    .max_t = 16, .vocab = 97, .padded_vocab = 128, .layers = 2, .heads = 2, .channels = 32};
constexpr int kB = 2, kT = 16;

// Parameters far from their initial symmetry: every bias and layernorm weight takes part.
std::vector<double> lively_parameters(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout(config);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> p(static_cast<std::size_t>(layout.total()));
  for (double& value : p) value = 0.15 * normal(random);
  for (Tensor tensor : {Tensor::ln1w, Tensor::ln2w, Tensor::lnfw}) {
    for (std::int64_t i = 0; i < layout.count(tensor); ++i)
      p[static_cast<std::size_t>(layout.offset(tensor) + i)] += 1.0;
  }
  return p;
}

std::vector<std::int32_t> tokens(int count, int vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> out(static_cast<std::size_t>(count));
  for (std::int32_t& token : out)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab));
  return out;
}

TEST(ReferenceModel, GradientsOfEveryTensorMatchFiniteDifferences) {
  const ParameterLayout layout(kSmall);
  ReferenceModel<double> model(kSmall, kB, kT, lively_parameters(kSmall, 11));
  const auto inputs = tokens(kB * kT, kSmall.vocab, 1);
  const auto targets = tokens(kB * kT, kSmall.vocab, 2);
  ASSERT_GT(model.forward(inputs, targets), 1.0);
  model.backward();
  const std::vector<double> gradients = model.gradients();

  constexpr double kStep = 1e-5;
  std::mt19937_64 random(5);
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    double largest = 0;
    for (std::int64_t i = 0; i < layout.count(tensor); ++i) {
      largest = std::max(largest, std::abs(gradients[static_cast<std::size_t>(layout.offset(tensor) + i)]));
    }
    ASSERT_GT(largest, 1e-5) << tensor_name(tensor) << " has no gradient to speak of";
    int informative = 0;
    // wte alone: a third of the samples hit tokens that occur, so that encoder and classifier both count.
    for (int sample = 0; sample < 24; ++sample) {
      std::int64_t i = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(layout.count(tensor)));
      if (tensor == Tensor::wte && sample % 3 == 0) {
        i = static_cast<std::int64_t>(inputs[static_cast<std::size_t>(sample)]) * kSmall.channels +
            i % kSmall.channels;
      }
      const auto at = static_cast<std::size_t>(layout.offset(tensor) + i);
      double& value = model.parameters()[at];
      const double saved = value;
      value = saved + kStep;
      const double above = model.forward(inputs, targets);
      value = saved - kStep;
      const double below = model.forward(inputs, targets);
      value = saved;
      const double numeric = (above - below) / (2 * kStep);
      // Truncation kStep^2 * f''' and rounding eps * loss / kStep are both near 1e-10.
      EXPECT_NEAR(gradients[at], numeric, 1e-6 * std::abs(numeric) + 2e-9)
          << tensor_name(tensor) << "[" << i << "]";
      informative += std::abs(numeric) > 1e-3 * largest;
    }
    EXPECT_GE(informative, 6) << tensor_name(tensor) << ": the samples say too little";
  }
}

TEST(ReferenceModel, UntrainedLossIsNearUniform) {
  const std::vector<float> start = random_parameters(kSmall, 1);
  ReferenceModel<double> model(kSmall, kB, kT, {start.begin(), start.end()});
  EXPECT_NEAR(model.forward(tokens(kB * kT, 97, 1), tokens(kB * kT, 97, 2)), std::log(97.0), 0.05);
}

TEST(ReferenceModel, PaddedRowsOfWteGetNoGradient) {
  ReferenceModel<double> model(kSmall, kB, kT, lively_parameters(kSmall, 3));
  model.forward(tokens(kB * kT, 97, 1), tokens(kB * kT, 97, 2));
  model.backward();
  const std::int64_t begin = 97 * kSmall.channels;
  for (std::int64_t i = begin; i < ParameterLayout(kSmall).count(Tensor::wte); ++i) {
    ASSERT_EQ(model.gradients()[static_cast<std::size_t>(i)], 0.0) << i;
  }
}

TEST(ReferenceModel, TwoHalfBatchesAccumulateToTheWhole) {
  const auto inputs = tokens(kB * kT, 97, 1);
  const auto targets = tokens(kB * kT, 97, 2);
  ReferenceModel<double> whole(kSmall, kB, kT, lively_parameters(kSmall, 3));
  whole.forward(inputs, targets);
  whole.backward();
  ReferenceModel<double> half(kSmall, 1, kT, lively_parameters(kSmall, 3));
  for (std::size_t part = 0; part < 2; ++part) {
    half.forward(std::span(inputs).subspan(part * kT, kT), std::span(targets).subspan(part * kT, kT));
    half.backward(0.5);
  }
  for (std::size_t i = 0; i < whole.gradients().size(); ++i) {
    ASSERT_NEAR(whole.gradients()[i], half.gradients()[i], 1e-13) << i;
  }
}

TEST(ReferenceModel, OptimizerLearnsOneBatchAndClips) {
  const auto inputs = tokens(kB * kT, 97, 1);
  const auto targets = tokens(kB * kT, 97, 2);
  const std::vector<float> start = random_parameters(kSmall, 1);
  ReferenceModel<double> model(kSmall, kB, kT, {start.begin(), start.end()});
  const double first = model.forward(inputs, targets);
  double loss = first;
  for (int step = 1; step <= 30; ++step) {
    model.zero_gradients();
    loss = model.forward(inputs, targets);
    model.backward();
    const double norm =
        model.optimizer_step({.learning_rate = 1e-2F, .beta2 = 0.95F, .step = step}, 0.1F, 1.0);
    ASSERT_GT(norm, 0.0);
  }
  EXPECT_LT(loss, first - 2.0);
}

TEST(ReferenceModel, WeightDecayCoversTheMatricesAlone) {
  const ParameterLayout layout(kSmall);
  const auto ranges = weight_decay_ranges(layout, 0.1F);
  std::int64_t decayed = 0;
  for (const WeightDecayRange& range : ranges) decayed += range.end - range.begin;
  std::int64_t want = 0;
  for (Tensor t : {Tensor::wte, Tensor::wpe, Tensor::qkvw, Tensor::attprojw, Tensor::fcw, Tensor::fcprojw}) {
    want += layout.count(t);
  }
  EXPECT_EQ(decayed, want);
}

TEST(ReferenceModel, ASequenceBeyondThePositionsIsRefused) {
  EXPECT_THROW(
      ReferenceModel<float>(kSmall, 1, 17,
                            std::vector<float>(static_cast<std::size_t>(ParameterLayout(kSmall).total()))),
      InputError);
}

}  // namespace
}  // namespace ridgeline::gpt2
