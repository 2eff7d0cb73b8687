// step_graph.h: a whole optimizer step as one CUDA graph.
//
// Lifecycle: create a model and load it -> construct -> { fill tokens(micro) for every micro-batch -> step
// }*. The first step runs launch by launch, because the libraries build their plans in it; the second is
// captured, and from then on a step is one graph launch. Everything is enqueued on the model's stream,
// nothing waits for the GPU. One thread; other threads may use CUDA meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/gpu_model.h"

namespace ridgeline::gpt2 {

class StepGraph {
 public:
  /// `model` must outlive this; batch_tokens is B*T of one micro-batch. Throws CudaError.
  StepGraph(GpuModel& model, std::int64_t batch_tokens, int grad_accum);

  /// Where a captured step reads micro-batch `micro`: device, (B, T) inputs, then (B, T) targets. Write it in
  /// the order of the model's stream.
  [[nodiscard]] std::int32_t* tokens(int micro) { return tokens_.data() + 2 * batch_tokens_ * micro; }

  /// Forward, backward and update. Learning rate and step may differ from step to step; when clip, weight
  /// decay or AdamW's constants do, the graph is captured anew. options.step_factors is not used. Throws what
  /// the model throws; CudaError.
  void step(const OptimizerOptions& options);

  /// Kernels, copies and memsets of the captured step; 0 before there is one.
  [[nodiscard]] std::size_t node_count() const noexcept { return node_count_; }

 private:
  static constexpr std::size_t kSlots = 4;  // updates whose factors may be on their way to the device

  struct HostFree {
    void operator()(AdamwStepFactors* data) const noexcept;
  };
  struct GraphDeleter {
    using pointer = cudaGraphExec_t;
    void operator()(cudaGraphExec_t graph) const noexcept;
  };

  void enqueue(const OptimizerOptions& options);
  void capture(const OptimizerOptions& options);
  void upload_factors(const AdamwConfig& config);

  GpuModel& model_;
  std::int64_t batch_tokens_;
  int grad_accum_;
  DeviceBuffer<std::int32_t> tokens_;
  DeviceBuffer<AdamwStepFactors> factors_;
  std::unique_ptr<AdamwStepFactors, HostFree> host_factors_;  // pinned, kSlots
  std::array<Event, kSlots> copied_;
  std::size_t uploads_ = 0;
  bool plans_built_ = false;
  OptimizerOptions captured_;
  std::unique_ptr<cudaGraphExec_t, GraphDeleter> graph_;
  std::size_t node_count_ = 0;
};

}  // namespace ridgeline::gpt2
