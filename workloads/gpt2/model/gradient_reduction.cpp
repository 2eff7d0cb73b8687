#include "gpt2/model/gradient_reduction.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/elementwise/fill.h"

namespace ridgeline::gpt2 {

std::int64_t reduction_bytes(const ReductionOptions& options, const std::vector<GradientBucket>& buckets) {
  std::int64_t largest = 0;
  for (const GradientBucket& bucket : buckets) largest = std::max(largest, bucket.count());
  return options.wire == WireType::fp32 ? 0 : largest * static_cast<std::int64_t>(sizeof(bf16));
}

GradientReduction::GradientReduction(Communicator& communicator, const ReductionOptions& options,
                                     const DeviceLayout& layout, int layers, const GradientPlaces& places,
                                     float* gradients, cudaStream_t compute)
    : communicator_(communicator),
      overlap_(options.overlap),
      scatter_(options.zero > 0),
      buckets_(gradient_buckets(layout, layers, options.bucket_bytes, communicator.size())),
      places_(places),
      gradients_(gradients),
      compute_(compute) {
  narrow_ = DeviceBuffer<bf16>(reduction_bytes(options, buckets_) / static_cast<std::int64_t>(sizeof(bf16)));
  for (std::size_t i = 0; i < buckets_.size(); ++i) ready_.emplace_back(cudaEventDisableTiming);
  for (int i = 0; i < GradientPlaces::kSlots; ++i) emptied_.emplace_back(cudaEventDisableTiming);
}

void GradientReduction::reduce(std::size_t bucket, cudaStream_t stream) {
  const NvtxRange range("reduce gradients");
  const GradientPlaces::Bucket& place = places_.buckets()[bucket];
  float* gradients = gradients_ + place.data;
  const std::int64_t share = place.count / communicator_.size();
  if (narrow_.size() == 0) {
    if (scatter_) {
      communicator_.reduce_scatter_sum(gradients, share, stream);
    } else {
      communicator_.all_reduce_sum(gradients, place.count, stream);
    }
    return;
  }
  launch_convert(narrow_.data(), gradients, place.count, stream);
  if (scatter_) {
    communicator_.reduce_scatter_sum(narrow_.data(), share, stream);
    const std::int64_t own = communicator_.rank() * share;
    launch_widen(gradients + own, narrow_.data() + own, share, stream);
  } else {
    communicator_.all_reduce_sum(narrow_.data(), place.count, stream);
    launch_widen(gradients, narrow_.data(), place.count, stream);
  }
}

void GradientReduction::wait_for_compute(std::size_t bucket) {
  Event& ready = ready_[bucket];
  ready.record(compute_);
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(stream_.get(), ready.get(), 0));
}

void GradientReduction::wait_for_sums() {
  done_.record(stream_.get());
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, done_.get(), 0));
}

void GradientReduction::empty_slot(std::size_t bucket, bool first) {
  const GradientPlaces::Bucket& place = places_.buckets()[bucket];
  const auto put = [&](std::int64_t to, std::int64_t from, std::int64_t count, bool replaces,
                       cudaStream_t stream) {
    if (!replaces) return launch_accumulate(gradients_ + to, gradients_ + from, count, stream);
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(gradients_ + to, gradients_ + from,
                                         static_cast<std::size_t>(count) * sizeof(float),
                                         cudaMemcpyDeviceToDevice, stream));
  };
  const cudaStream_t stream = this->stream();
  if (overlap_) wait_for_compute(bucket);
  reduce(bucket, stream);
  const std::int64_t share = place.count / communicator_.size();
  put(place.own, place.data + communicator_.rank() * share, share, first, stream);
  if (overlap_) {
    emptied_[static_cast<std::size_t>(place.slot)].record(stream);
    // The layers below write into the other slot.
    if (bucket > 0) {
      const int other = places_.buckets()[bucket - 1].slot;
      RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, emptied_[static_cast<std::size_t>(other)].get(), 0));
    }
  }
  for (const GradientPlaces::Move& move : place.moves)
    put(move.to, move.from, move.count, first || move.into_slot, compute_);
}

void GradientReduction::completed(int after, MicroStep micro) {
  if (next_ == buckets_.size() || buckets_[next_].after != after) return;
  if (places_.buckets()[next_].slot != GradientPlaces::kNoSlot) {
    empty_slot(next_++, micro.first);
    return;
  }
  if (!overlap_ || !micro.last) return;
  wait_for_compute(next_);
  reduce(next_++, stream_.get());
}

void GradientReduction::finish(float* loss, MicroStep micro) {
  const std::size_t sent = std::exchange(next_, 0);
  if (!micro.last) {
    // The next one's first layers write into the slots.
    if (overlap_ && sent > 0) wait_for_sums();
    return;
  }
  if (!overlap_) {
    for (std::size_t bucket = sent; bucket < buckets_.size(); ++bucket) reduce(bucket, compute_);
    communicator_.all_reduce_sum(loss, 1, compute_);
    return;
  }
  if (sent != buckets_.size()) throw std::logic_error("GradientReduction: a bucket was not completed");
  communicator_.all_reduce_sum(loss, 1, stream_.get());
  wait_for_sums();
}

}  // namespace ridgeline::gpt2
