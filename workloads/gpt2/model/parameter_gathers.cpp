#include "gpt2/model/parameter_gathers.h"

#include <utility>

#include "gpt2/common/nvtx.h"

namespace ridgeline::gpt2 {

ParameterGathers::ParameterGathers(Communicator& communicator, std::vector<GradientBucket> buckets,
                                   GatherPlan plan, GatheredData parameters, cudaStream_t compute,
                                   cudaStream_t beside)
    : communicator_(communicator),
      buckets_(std::move(buckets)),
      plan_(std::move(plan)),
      parameters_(parameters),
      compute_(compute),
      beside_(beside) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) gathered_.emplace_back(cudaEventDisableTiming);
}

void ParameterGathers::gather(std::size_t bucket) {
  const NvtxRange range("gather parameters");
  const GradientBucket& b = buckets_.at(bucket);
  communicator_.all_gather(static_cast<std::byte*>(parameters_.data) + b.begin * parameters_.element_bytes,
                           b.count() / communicator_.size() * parameters_.element_bytes, beside_);
}

void ParameterGathers::let_wait(cudaStream_t waiting, cudaStream_t other) {
  if (!overlaps()) return;
  reached_.record(other);
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(waiting, reached_.get(), 0));
}

void ParameterGathers::updated(std::size_t bucket) {
  if (!plan_.at_once.at(bucket)) return;
  let_wait(beside_, compute_);
  gather(bucket);
}

void ParameterGathers::finish_update() {
  let_wait(compute_, beside_);
}

void ParameterGathers::begin_forward() {
  bool begun = false;
  for (const std::size_t bucket : plan_.order) {
    if (plan_.at_once[bucket]) continue;
    if (!std::exchange(begun, true)) let_wait(beside_, compute_);
    gather(bucket);
    if (overlaps()) gathered_[bucket].record(beside_);
  }
}

void ParameterGathers::before_layer(int layer) {
  const std::optional<std::size_t>& bucket = plan_.before_layer.at(static_cast<std::size_t>(layer));
  if (!bucket || !overlaps()) return;
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, gathered_[*bucket].get(), 0));
}

void ParameterGathers::complete() {
  begin_forward();
  let_wait(compute_, beside_);
}

}  // namespace ridgeline::gpt2
