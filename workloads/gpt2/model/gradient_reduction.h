// gradient_reduction.h: adds up the gradients of all ranks, bucket by bucket, beside the backward pass.
//
// Lifecycle: construct -> in the last micro-step of each step: { completed() as the backward pass goes } -> finish().
// Only enqueues, so that a step with it can be captured. One thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/model/gradient_buckets.h"

namespace ridgeline::gpt2 {

// GCC takes an enumerator of a scoped enum for a declaration that shadows a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// What gradients travel and are added as. bf16: rounded before, and after each addition; half the bytes.
enum class WireType { fp32, bf16 };
#pragma GCC diagnostic pop

struct ReductionOptions {
  bool overlap = true;  // false: all buckets after the backward pass
  /// ZeRO's stage. 0: every rank makes the whole update. 1: each updates its part of every bucket, keeps master weights
  /// and moments of that alone, and gets the other parameters from the others.
  int zero = 0;
  WireType wire = WireType::fp32;
  std::int64_t bucket_bytes = std::int64_t{40} << 20;  // of FP32 gradients: gradient_buckets.h has the rule
};

/// Device bytes that it allocates.
std::int64_t reduction_bytes(const ReductionOptions& options, const std::vector<GradientBucket>& buckets);

class GradientReduction {
 public:
  /// `gradients` has padded_elements() elements and the device layout's order; `compute` is the stream of the passes.
  GradientReduction(Communicator& communicator, const ReductionOptions& options, const DeviceLayout& layout,
                    int layers, float* gradients, cudaStream_t compute);

  /// `after` as in GradientBucket: what is enqueued on `compute` so far completes it.
  void completed(int after);
  /// Adds up `loss` too; what is enqueued on `compute` from now on sees all sums.
  void finish(float* loss);

  /// With zero 1, after the update of this rank's part of bucket `bucket`: what is enqueued on `compute` so far
  /// completes it. `data` has the buckets' elements, of `element_bytes` each.
  void updated(std::size_t bucket, void* data, std::int64_t element_bytes);
  /// What is enqueued on `compute` from now on sees the parts of all ranks.
  void finish_update();

  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] const std::vector<GradientBucket>& buckets() const { return buckets_; }

 private:
  void reduce(const GradientBucket& bucket, cudaStream_t stream);

  Communicator& communicator_;
  bool overlap_;
  bool scatter_;
  DeviceBuffer<bf16> narrow_;  // of the bucket that travels; empty with WireType::fp32
  std::vector<GradientBucket> buckets_;
  float* gradients_;
  cudaStream_t compute_;
  Stream stream_ = Stream::of_highest_priority();
  std::vector<Event> ready_;  // one a bucket
  Event done_{cudaEventDisableTiming};
  std::size_t next_ = 0;  // the bucket that is sent next
};

}  // namespace ridgeline::gpt2
