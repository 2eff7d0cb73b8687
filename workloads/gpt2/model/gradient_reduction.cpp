#include "gpt2/model/gradient_reduction.h"

#include <stdexcept>

#include "gpt2/common/nvtx.h"

namespace ridgeline::gpt2 {

GradientReduction::GradientReduction(Communicator& communicator, const ReductionOptions& options,
                                     const DeviceLayout& layout, int layers, float* gradients,
                                     cudaStream_t compute)
    : communicator_(communicator),
      overlap_(options.overlap),
      buckets_(gradient_buckets(layout, layers, options.bucket_bytes, communicator.size())),
      gradients_(gradients),
      compute_(compute) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) ready_.emplace_back(cudaEventDisableTiming);
}

void GradientReduction::reduce(const GradientBucket& bucket, cudaStream_t stream) {
  const NvtxRange range("reduce gradients");
  communicator_.all_reduce_sum(gradients_ + bucket.begin, bucket.count(), stream);
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

}  // namespace ridgeline::gpt2
