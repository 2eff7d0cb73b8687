// step_ring.h: results and times of the steps that are enqueued and not yet reported.
//
// Lifecycle: construct -> restart_clock(first step) -> { enqueue the step -> end -> report of an earlier one
// }*. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/train/loop/progress.h"

namespace ridgeline::gpt2 {

/// The steps enqueued and not yet reported.
class StepRing {
 public:
  static constexpr int kSize = 4;

  StepRing() {
    void* host = nullptr;
    RIDGELINE_CUDA_CHECK(cudaMallocHost(&host, sizeof(StepResult) * kSize));
    results_.reset(static_cast<StepResult*>(host));
  }

  /// The next step's time starts here instead of at the end of the step before.
  void restart_clock(int step, cudaStream_t stream) {
    begin_[slot(step)].record(stream);
    restarted_[slot(step)] = true;
  }

  void end(int step, const GpuModel& model) {
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(results_.get() + slot(step), model.device_result(),
                                         sizeof(StepResult), cudaMemcpyDeviceToHost, model.stream()));
    const bool follows = step > 0 && !restarted_[slot(step)];
    late_[slot(step)] = follows && cudaEventQuery(end_[slot(step - 1)].get()) == cudaSuccess;
    (void)cudaGetLastError();  // "not ready" is an answer, not a fault for the next launch check to find
    end_[slot(step)].record(model.stream());
  }

  /// Waits for the step. Call in order, before kSize - 1 more have ended.
  StepReport report(int step) {
    const std::size_t at = slot(step);
    end_[at].synchronize();
    const Event& begin = restarted_[at] ? begin_[at] : end_[slot(step - 1)];
    const StepResult& result = results_.get()[at];
    StepReport report{.step = step,
                      .loss = result.loss,
                      .norm = result.gradient.norm,
                      .time_ms = end_[at].elapsed_ms_since(begin),
                      .host_late = late_[at]};
    restarted_[at] = false;
    return report;
  }

 private:
  struct PinnedFree {
    void operator()(StepResult* data) const noexcept { RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(data)); }
  };

  static std::size_t slot(int step) { return static_cast<std::size_t>(step) % kSize; }
  static std::array<Event, kSize> events() {
    // Blocking: the waiting host leaves its core to the loader.
    return {Event(cudaEventBlockingSync), Event(cudaEventBlockingSync), Event(cudaEventBlockingSync),
            Event(cudaEventBlockingSync)};
  }

  std::unique_ptr<StepResult, PinnedFree> results_;
  std::array<Event, kSize> begin_ = events();
  std::array<Event, kSize> end_ = events();
  std::array<bool, kSize> restarted_{};
  std::array<bool, kSize> late_{};
};

}  // namespace ridgeline::gpt2
