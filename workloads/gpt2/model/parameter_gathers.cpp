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
  communicator_.all_gather(parameters_.at(b.begin),
                           b.count() / communicator_.size() * parameters_.element_bytes, beside_);
}

void ParameterGathers::add_pieces(GatheredData data, std::vector<GatheredPiece> pieces) {
  pieces_of_ = data;
  pieces_ = std::move(pieces);
}

void ParameterGathers::gather_pieces() {
  const NvtxRange range("gather parameters");
  communicator_.begin_group();
  for (const GatheredPiece& piece : pieces_)
    communicator_.broadcast(pieces_of_.at(piece.begin), piece.count * pieces_of_.element_bytes, piece.rank,
                            beside_);
  communicator_.end_group();
  if (overlaps()) pieces_gathered_.record(beside_);
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
  if (pieces_.empty()) return;
  if (!begun) let_wait(beside_, compute_);
  gather_pieces();
}

void ParameterGathers::before_layer(int layer) {
  const std::optional<std::size_t>& bucket = plan_.before_layer.at(static_cast<std::size_t>(layer));
  if (!bucket || !overlaps()) return;
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, gathered_[*bucket].get(), 0));
}

void ParameterGathers::before_backward() {
  if (pieces_.empty() || !overlaps()) return;
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(compute_, pieces_gathered_.get(), 0));
}

void ParameterGathers::complete() {
  begin_forward();
  let_wait(compute_, beside_);
}

}  // namespace ridgeline::gpt2
