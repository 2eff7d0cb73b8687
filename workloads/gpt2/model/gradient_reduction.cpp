#include "gpt2/model/gradient_reduction.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/elementwise/fill.h"

namespace ridgeline::gpt2 {

std::int64_t reduction_bytes(const ReductionOptions& options, const std::vector<GradientBucket>& buckets) {
  std::int64_t largest = 0;
  for (const GradientBucket& bucket : buckets) largest = std::max(largest, bucket.count());
  return options.wire == WireType::fp32 ? 0 : largest * static_cast<std::int64_t>(sizeof(bf16));
}

GradientReduction::GradientReduction(Communicator& communicator, const ReductionOptions& options,
                                     const DeviceLayout& layout, int layers, float* gradients,
                                     cudaStream_t compute)
    : communicator_(communicator),
      overlap_(options.overlap),
      scatter_(options.zero > 0),
      buckets_(gradient_buckets(layout, layers, options.bucket_bytes, communicator.size())),
      gradients_(gradients),
      compute_(compute) {
  narrow_ = DeviceBuffer<bf16>(reduction_bytes(options, buckets_) / static_cast<std::int64_t>(sizeof(bf16)));
  for (std::size_t i = 0; i < buckets_.size(); ++i) ready_.emplace_back(cudaEventDisableTiming);
}

void GradientReduction::reduce(const GradientBucket& bucket, cudaStream_t stream) {
  const NvtxRange range("reduce gradients");
  float* gradients = gradients_ + bucket.begin;
  const std::int64_t share = bucket.count() / communicator_.size();
  if (narrow_.size() == 0) {
    if (scatter_) {
      communicator_.reduce_scatter_sum(gradients, share, stream);
    } else {
      communicator_.all_reduce_sum(gradients, bucket.count(), stream);
    }
    return;
  }
  launch_convert(narrow_.data(), gradients, bucket.count(), stream);
  if (scatter_) {
    communicator_.reduce_scatter_sum(narrow_.data(), share, stream);
    const std::int64_t own = communicator_.rank() * share;
    launch_widen(gradients + own, narrow_.data() + own, share, stream);
  } else {
    communicator_.all_reduce_sum(narrow_.data(), bucket.count(), stream);
    launch_widen(gradients, narrow_.data(), bucket.count(), stream);
  }
}

void GradientReduction::completed(int after) {
  if (!overlap_ || next_ == buckets_.size() || buckets_[next_].after != after) return;
  Event& ready = ready_[next_];
  ready.record(compute_);
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(stream_.get(), ready.get(), 0));
  reduce(buckets_[next_], stream_.get());
  ++next_;
}

void GradientReduction::finish(float* loss) {
  if (!overlap_) {
    for (const GradientBucket& bucket : buckets_) reduce(bucket, compute_);
    communicator_.all_reduce_sum(loss, 1, compute_);
    return;
  }
  if (next_ != buckets_.size()) throw std::logic_error("GradientReduction: a bucket was not completed");
  next_ = 0;
  communicator_.all_reduce_sum(loss, 1, stream_.get());
  done_.record(stream_.get());
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, done_.get(), 0));
}

void GradientReduction::updated(std::size_t bucket, void* data, std::int64_t element_bytes) {
  const NvtxRange range("gather parameters");
  const GradientBucket& b = buckets_.at(bucket);
  cudaStream_t stream = compute_;
  if (overlap_) {
    stream = stream_.get();
    Event& ready = ready_[bucket];
    ready.record(compute_);
    RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(stream, ready.get(), 0));
  }
  communicator_.all_gather(static_cast<std::byte*>(data) + b.begin * element_bytes,
                           b.count() / communicator_.size() * element_bytes, stream);
}

void GradientReduction::finish_update() {
  if (!overlap_) return;
  done_.record(stream_.get());
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, done_.get(), 0));
}

}  // namespace ridgeline::gpt2
