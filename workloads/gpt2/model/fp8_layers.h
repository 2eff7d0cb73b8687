// fp8_layers.h: what the model has beside its tensors when the layers' GEMMs are in FP8: the scale of every
// tensor that is multiplied, and the weights in FP8.
//
// Activations and gradients have delayed scales (ops/fp8/scaling.h): the kernel that writes one notes its largest
// magnitude, and update() makes the next step's scale of it. A GEMM that writes one overwrites the
// magnitude that the GEMM before it left, so that the kernel that reads the tensor notes it. Weights have
// current scales: cast_weights() reads their largest magnitudes first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/fp8_scaling.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2 {

class Fp8Layers {
 public:
  /// tokens: of a whole step, over which the loss is a mean. classifier: with wte among the weights. Enqueues reset().
  Fp8Layers(const ModelConfig& config, std::int64_t tokens, bool classifier, cudaStream_t stream);

  /// Device memory that an object has.
  static std::int64_t device_bytes(const ModelConfig& config, bool classifier);

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

  /// All weights from `master`, the FP32 parameters in DeviceLayout's order.
  void cast_weights(const float* master, cudaStream_t stream);
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
    std::int64_t offset;  // of layer 0 in weights_ and weights_transposed_
    int layers;
  };
  static constexpr int kWeights = 5;

  int which(Tensor tensor) const;
  Fp8Operand weight_in(const DeviceBuffer<std::uint8_t>& memory, Tensor tensor, int layer) const;

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
};

}  // namespace ridgeline::gpt2
