// fp8_layers.h: what the model has beside its tensors when the layers' GEMMs are in FP8: the scale of every
// tensor that is multiplied, and the weights in FP8.
//
// Activations and gradients have delayed scales (ops/fp8/scaling.h): the kernel that writes one notes its largest
// magnitude, and update() makes the next step's scale of it. A GEMM that writes one overwrites the
// magnitude that the GEMM before it left, so that the kernel that reads the tensor notes it. Weights have
// current scales: cast_weights() reads their largest magnitudes first. Where ranks keep a part of the master weights
// each, each casts that part, with the scales of all, and the bytes are gathered; the transposed copy is made of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/fp8_scaling.h"
#include "gpt2/model/fp8_shards.h"
#include "gpt2/model/parameter_gathers.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2 {

/// With other ranks that keep parts of the master weights.
struct Fp8Sharing {
  Communicator* communicator = nullptr;
  Fp8Shards shards;
  cudaStream_t beside = nullptr;  // as in ParameterGathers
};

class Fp8Layers {
 public:
  /// tokens: of a whole step, over which the loss is a mean. classifier: with wte among the weights. `stream`: that of
  /// the passes. sharing: none: this process casts all weights. Enqueues reset().
  Fp8Layers(const ModelConfig& config, std::int64_t tokens, bool classifier, cudaStream_t stream,
            std::optional<Fp8Sharing> sharing);

  /// Device memory that an object has; shards: null: nothing is shared out.
  static std::int64_t device_bytes(const ModelConfig& config, bool classifier, const Fp8Shards* shards);

  /// Whether what is written from now on is noted for the next scales: an evaluation leaves them alone.
  void set_recording(bool recording) { recording_ = recording; }

  /// Where a kernel stores a tensor.
  Fp8Output output(Fp8Tensor tensor, int layer, std::uint8_t* data, std::uint8_t* transposed) const;
  /// The tensor as a GEMM reads it, in either orientation.
  Fp8Operand operand(Fp8Tensor tensor, int layer, const std::uint8_t* data) const;

  /// Where a GEMM stores a tensor. What it found is there until the next GEMM with such a result.
  Fp8Result result(Fp8Tensor tensor, int layer, std::uint8_t* data);
  /// The tensor as the kernel right after that GEMM reads it, which notes what was found; and as a later one does.
  Fp8Input fresh_input(Fp8Tensor tensor, int layer, const std::uint8_t* data) const;
  Fp8Input input(Fp8Tensor tensor, int layer, const std::uint8_t* data) const;

  /// The gradient of the logits, whose largest magnitude is 1 / tokens whatever they are.
  float dlogits_scale() const { return dlogits_scale_; }
  Fp8Operand dlogits(const std::uint8_t* data) const { return {data, dlogits_inverse_.data()}; }

  /// qkvw, attprojw, fcw or fcprojw; wte, of layer 0, if it is among them; in either orientation. Throws
  /// std::invalid_argument for another tensor.
  Fp8Operand weight(Tensor tensor, int layer) const;
  Fp8Operand weight_transposed(Tensor tensor, int layer) const;

  /// All weights from `master`, the FP32 parameters in DeviceLayout's order; with other ranks, which call it too, from
  /// the packed ones, and what gathers() makes of it.
  void cast_weights(const float* master, cudaStream_t stream);
  /// Hands the weights' bytes on; null: nothing is shared out.
  ParameterGathers* gathers() { return shared_ ? &shared_->gathers : nullptr; }
  /// After the gathers, before weight_transposed: a layer's transposed copies; the number of layers stands for wte.
  /// Nothing is done where cast_weights has made them.
  void transpose_weights(int layer, cudaStream_t stream);
  /// The step is over.
  void update(cudaStream_t stream);
  /// Nothing is remembered: scales are what a model at its beginning needs.
  void reset(cudaStream_t stream);

  /// StatePart::scaling.
  const float* state() const { return state_memory_.data(); }
  float* state() { return state_memory_.data(); }

 private:
  /// One of the stacked weights, or wte.
  struct Weights {
    Tensor tensor;
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t offset;  // of layer 0 in weights_transposed_, and in weights_ where nothing is shared out
    int layers;
  };
  static constexpr int kWeights = static_cast<int>(kFp8Weights.size());
  struct Shared {
    Communicator& communicator;
    Fp8Shards shards;
    DeviceBuffer<Fp8Part> parts_memory;
    Fp8Parts parts;
    ParameterGathers gathers;
  };

  int which(Tensor tensor) const;
  /// Where a weight begins as it is, and transposed.
  std::int64_t place(int index, int layer) const;
  std::int64_t place_transposed(int index, int layer) const;
  Fp8Operand weight_at(const std::uint8_t* data, int index, int layer) const;
  void cast_shared_weights(const float* master, cudaStream_t stream);

  ModelConfig config_;
  DeviceLayout layout_;
  int layers_;
  int count_;  // of all_
  float first_gradient_scale_;
  bool recording_ = true;
  Weights all_[kWeights];
  DeviceBuffer<float> state_memory_;
  Fp8ScalingState scaling_;
  DeviceBuffer<std::uint8_t> weights_, weights_transposed_;
  DeviceBuffer<float> weight_scales_;        // (kWeights, layers)
  DeviceBuffer<std::uint32_t> weight_amax_;  // the same
  DeviceBuffer<float> weight_inverses_;      // (kWeights, layers, kFp8InverseStride)
  float dlogits_scale_;
  DeviceBuffer<float> dlogits_inverse_;
  DeviceBuffer<float> found_amax_;  // by the last GEMM with a result in FP8
  std::optional<Shared> shared_;
};

}  // namespace ridgeline::gpt2
