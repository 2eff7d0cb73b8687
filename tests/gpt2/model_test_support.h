// model_test_support.h: what the tests of the GPU model share: batches, parameters, one step on the device,
// comparison of gradients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2::model_test {

struct Batch {
  std::vector<std::int32_t> inputs, targets;
};

inline Batch random_batch(int count, int vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  for (int i = 0; i < count; ++i) {
    batch.inputs.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab)));
    batch.targets.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab)));
  }
  return batch;
}

/// Every tensor non-trivial; rounded to bf16, so that all precisions start from the same numbers.
inline std::vector<float> lively_parameters(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout(config);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> p(static_cast<std::size_t>(layout.total()));
  for (float& value : p) value = 0.08F * normal(random);
  for (Tensor tensor : {Tensor::ln1w, Tensor::ln2w, Tensor::lnfw}) {
    for (std::int64_t i = 0; i < layout.count(tensor); ++i)
      p[static_cast<std::size_t>(layout.offset(tensor) + i)] += 1.0F;
  }
  for (float& value : p) value = to_float(from_float<bf16>(value));
  return p;
}

class Device {
 public:
  explicit Device(const GpuModelOptions& options, const std::vector<float>& parameters)
      : options_(options), model_(GpuModel::create(options)) {
    model_->load(parameters);
  }

  GpuModel& model() { return *model_; }

  /// One step; the batch holds grad_accum micro-batches one after the other.
  StepResult step(const Batch& batch, const OptimizerOptions* optimizer) {
    const std::int64_t tokens = static_cast<std::int64_t>(options_.batch) * options_.sequence;
    DeviceBuffer<std::int32_t> inputs(tokens * options_.grad_accum), targets(tokens * options_.grad_accum);
    inputs.upload(batch.inputs);
    targets.upload(batch.targets);
    for (int micro = 0; micro < options_.grad_accum; ++micro) {
      model_->micro_step(inputs.data() + micro * tokens, targets.data() + micro * tokens, micro);
    }
    if (optimizer != nullptr) model_->optimizer_step(*optimizer);
    return result();
  }

  StepResult result() {
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model_->stream()));
    StepResult result;
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(&result, model_->device_result(), sizeof(result), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  GpuModelOptions options_;
  std::unique_ptr<GpuModel> model_;
};

inline GpuModelOptions tiny_options(Precision precision, AttentionKind attention, int batch = 4,
                                    int sequence = 64) {
  GpuModelOptions options;
  options.config = model_config("tiny");
  options.batch = batch;
  options.sequence = sequence;
  options.switches.precision = precision;
  if (precision == Precision::fp8) {
    options.switches.gelu = GeluKind::separate;
  } else if (precision != Precision::bf16) {
    options.switches.gelu = GeluKind::fused;
  }
  options.switches.attention = attention;
  options.matmul.search = MatmulSearch::off;
  return options;
}

/// ||a - b|| / ||b|| of one tensor; NaN never passes a bound.
inline double relative_error(const std::vector<float>& a, const std::vector<double>& b, std::int64_t begin,
                             std::int64_t count) {
  double difference = 0, norm = 0;
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + count); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// Returns the worst relative error of a tensor.
inline double expect_gradients(const std::vector<float>& got, const std::vector<double>& want,
                               const ModelConfig& config, double bound) {
  const ParameterLayout layout(config);
  double worst = 0;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    const double error = relative_error(got, want, layout.offset(tensor), layout.count(tensor));
    EXPECT_TRUE(error <= bound) << tensor_name(tensor) << ": relative error " << error << " > " << bound;
    worst = std::max(worst, error);
  }
  return worst;
}

/// Whether the GPU sets a part of L2 aside; one that is divided into instances does not.
inline bool l2_can_persist() {
  int bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxPersistingL2CacheSize, 0));
  return bytes > 0;
}

inline std::vector<double> widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// A batch of 8 in four micro-steps of 2 gives the loss and the gradients of one step.
inline void expect_parts_make_the_whole(const GpuModelOptions& whole_options,
                                        const std::vector<float>& parameters, const Batch& batch) {
  ASSERT_EQ(whole_options.batch, 8);
  GpuModelOptions parts_options = whole_options;
  parts_options.batch = 2;
  parts_options.grad_accum = 4;
  Device whole(whole_options, parameters);
  Device parts(parts_options, parameters);
  // Twice: the second step must not see the gradients of the first.
  for (int repeat = 0; repeat < 2; ++repeat) {
    const StepResult a = whole.step(batch, nullptr);
    const StepResult b = parts.step(batch, nullptr);
    EXPECT_TRUE(std::abs(a.loss - b.loss) <= 1e-5 * a.loss) << a.loss << " vs " << b.loss;
    expect_gradients(parts.model().download_gradients(), widen(whole.model().download_gradients()),
                     whole_options.config, whole_options.switches.precision == Precision::fp32 ? 1e-5 : 2e-2);
  }
}

}  // namespace ridgeline::gpt2::model_test
