// training_state.h: the bytes that training continues from, in pieces, so that no host copy of all is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ridgeline::gpt2 {

enum class StatePart {
  master,   // FP32 parameters
  moment1,  // AdamW's m, FP32
  moment2,  // AdamW's v, FP32
  narrow,   // BF16 parameters. After stochastic rounding they are no function of the master weights.
  scaling,  // magnitudes and scales of what is stored as FP8, in Fp8ScalingState's order
};

/// Every part but scaling lies in ParameterLayout's order. One thread.
class TrainingState {
 public:
  virtual ~TrainingState() = default;

  /// Bytes of a part; 0: there is none (narrow of a model that computes in FP32, scaling of one without FP8).
  virtual std::int64_t state_bytes(StatePart part) const = 0;

  /// Whether each rank keeps a piece of the part only. Then all ranks call the two alike: rank 0 gets the bytes of
  /// download_state, each gives upload_state the bytes of all.
  virtual bool is_shared_out(StatePart) const { return false; }

  /// Bytes [begin, begin + out.size()) of a part. Both wait for the work that is enqueued.
  virtual void download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const = 0;
  virtual void upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) = 0;
};

}  // namespace ridgeline::gpt2
