// parameter_gathers.h: hands the parameters that each rank has updated on to all others (ZeRO-1, ZeRO-2).
//
// Lifecycle: construct -> { begin_forward -> before_layer of every layer, from the first -> before_backward ->
// updated() of every bucket in the plan's order -> finish_update }*. complete() in place of the first three where no
// forward pass goes on.
// Only enqueues, so that a step with it can be captured; a replayed step runs no host code, so that no state is kept
// from one step to the next. One thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/model/gather_plan.h"
#include "gpt2/model/gradient_buckets.h"

namespace ridgeline::gpt2 {

/// The buffer that buckets are cut from.
struct GatheredData {
  void* data = nullptr;
  std::int64_t element_bytes = 0;

  [[nodiscard]] std::byte* at(std::int64_t element) const {
    return static_cast<std::byte*>(data) + element * element_bytes;
  }
};

/// Elements that one rank keeps, for what is handed on without the rest of its bucket.
struct GatheredPiece {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  int rank = 0;
};

class ParameterGathers {
 public:
  /// `compute` is the stream of the passes. Gathers run on `beside`, or on `compute` where the two are one.
  ParameterGathers(Communicator& communicator, std::vector<GradientBucket> buckets, GatherPlan plan,
                   GatheredData parameters, cudaStream_t compute, cudaStream_t beside);

  [[nodiscard]] const GatherPlan& plan() const { return plan_; }

  /// From now on hands on pieces of another buffer too, after all else, for the backward pass.
  void add_pieces(GatheredData data, std::vector<GatheredPiece> pieces);

  /// After the update of this rank's part of `bucket`: what is enqueued on `compute` so far completes it.
  void updated(std::size_t bucket);
  /// What is enqueued on `compute` from now on sees the parts of all ranks of what is gathered at once.
  void finish_update();

  /// Begins to gather the rest.
  void begin_forward();
  /// What is enqueued on `compute` from now on sees all parameters of layers up to this one; the number of layers
  /// stands for the classifier.
  void before_layer(int layer);
  /// What is enqueued on `compute` from now on sees the pieces.
  void before_backward();
  /// What is enqueued on `compute` from now on sees all parameters.
  void complete();

 private:
  [[nodiscard]] bool overlaps() const { return beside_ != compute_; }
  void gather(std::size_t bucket);
  void gather_pieces();
  /// What is enqueued on one stream from now on sees what is enqueued on the other so far.
  void let_wait(cudaStream_t waiting, cudaStream_t other);

  Communicator& communicator_;
  std::vector<GradientBucket> buckets_;
  GatherPlan plan_;
  GatheredData parameters_;
  cudaStream_t compute_;
  cudaStream_t beside_;
  Event reached_{cudaEventDisableTiming};
  std::vector<Event> gathered_;  // one a bucket
  GatheredData pieces_of_;
  std::vector<GatheredPiece> pieces_;
  Event pieces_gathered_{cudaEventDisableTiming};
};

}  // namespace ridgeline::gpt2
