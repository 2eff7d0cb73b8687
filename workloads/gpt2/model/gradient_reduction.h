// gradient_reduction.h: adds up the gradients of all ranks, bucket by bucket, beside the backward pass.
//
// Lifecycle: construct -> in each micro-step: { completed() as the backward pass goes } -> finish(). Sums go out in the
// last one; with ZeRO-2 those of matrices in each.
// Only enqueues, so that a step with it can be captured. One thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/model/gather_plan.h"
#include "gpt2/model/gradient_buckets.h"
#include "gpt2/model/gradient_places.h"

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
  /// and moments of that alone, and gets the other parameters from the others. 2: it keeps gradients of that
  /// part alone, too, but for embeddings and vectors (gradient_places.h), so that matrices are sent in every
  /// micro-step.
  int zero = 0;
  WireType wire = WireType::fp32;
  GatherPlace gather = GatherPlace::forward;           // with zero 1 and 2
  std::int64_t bucket_bytes = std::int64_t{40} << 20;  // of FP32 gradients: gradient_buckets.h has the rule
};

/// Device bytes that it allocates.
std::int64_t reduction_bytes(const ReductionOptions& options, const std::vector<GradientBucket>& buckets);

/// Which of a step's it is; both of a step that has one.
struct MicroStep {
  bool first = true;
  bool last = true;
};

class GradientReduction {
 public:
  /// `gradients` is the buffer that `places` describes, which outlives this; `compute` is the stream of the passes.
  GradientReduction(Communicator& communicator, const ReductionOptions& options, const DeviceLayout& layout,
                    int layers, const GradientPlaces& places, float* gradients, cudaStream_t compute);

  /// `after` as in GradientBucket: what is enqueued on `compute` so far completes it.
  void completed(int after, MicroStep micro);
  /// In the last micro-step: adds up `loss` too; what is enqueued on `compute` from now on sees all sums.
  void finish(float* loss, MicroStep micro);

  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] const std::vector<GradientBucket>& buckets() const { return buckets_; }
  /// On which sums are made: of the highest priority, or `compute` without overlap.
  [[nodiscard]] cudaStream_t stream() const { return overlap_ ? stream_.get() : compute_; }

 private:
  void reduce(std::size_t bucket, cudaStream_t stream);
  /// Of a bucket with a slot: adds it up, keeps this rank's part, and frees the slot of the bucket before it.
  void empty_slot(std::size_t bucket, bool first);
  /// What is enqueued on `stream_` from now on sees what is enqueued on `compute` so far.
  void wait_for_compute(std::size_t bucket);
  void wait_for_sums();

  Communicator& communicator_;
  bool overlap_;
  bool scatter_;
  DeviceBuffer<bf16> narrow_;  // of the bucket that travels; empty with WireType::fp32
  std::vector<GradientBucket> buckets_;
  const GradientPlaces& places_;
  float* gradients_;
  cudaStream_t compute_;
  Stream stream_ = Stream::of_highest_priority();
  std::vector<Event> ready_;    // one a bucket
  std::vector<Event> emptied_;  // one a slot
  Event done_{cudaEventDisableTiming};
  std::size_t next_ = 0;  // the bucket that is sent next
};

}  // namespace ridgeline::gpt2
