// validation_set.h: the mean loss over the first batches of the validation data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {

class ValidationSet {
 public:
  /// Batches of the model's B*T tokens.
  ValidationSet(std::unique_ptr<TokenSource> source, std::int64_t batch_tokens, int batches)
      : source_(std::move(source)),
        host_(static_cast<std::size_t>(2 * batch_tokens)),
        tokens_(2 * batch_tokens),
        batches_(batches) {}

  /// Always over the same batches. Synchronises: validation is outside the timed steps.
  float loss(GpuModel& model) {
    source_->rewind();
    const std::span<std::int32_t> all(host_);
    double sum = 0;
    for (int i = 0; i < batches_; ++i) {
      source_->next(all.first(all.size() / 2), all.subspan(all.size() / 2));
      tokens_.upload(host_);
      model.evaluate(tokens_.data(), tokens_.data() + tokens_.size() / 2);
      StepResult result;
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(&result, model.device_result(), sizeof(result),
                                           cudaMemcpyDeviceToHost, model.stream()));
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model.stream()));
      sum += result.loss;
    }
    return static_cast<float>(sum / batches_);
  }

 private:
  std::unique_ptr<TokenSource> source_;
  std::vector<std::int32_t> host_;
  DeviceBuffer<std::int32_t> tokens_;
  int batches_;
};

}  // namespace ridgeline::gpt2
