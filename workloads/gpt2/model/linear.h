// linear.h: the linear layers of a precision, with what has to be done to a tensor so that they can multiply it.
//
// The model's passes (gpu_forward.cpp, gpu_backward.cpp) are written once. What depends on the precision is what a
// GEMM multiplies, its operands: in float and bf16 a tensor as it is, in fp8 its bytes in both orientations, with a
// scale. So a class of the same interface for either stores operands where the op that computes them can, and
// multiplies them: Linear<float> and Linear<bf16> are linear.cpp, Linear<fp8> is linear_fp8.cpp. In an Operand nothing
// is owned; one lives until its memory is begun anew (scratch.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"
#include "gpt2/libs/linear_gemms.h"
#include "gpt2/model/activations.h"
#include "gpt2/model/attention_layer.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/fp8_layers.h"
#include "gpt2/model/gradient_places.h"
#include "gpt2/model/parameter_gathers.h"
#include "gpt2/model/shards.h"
#include "gpt2/ops/bias/partial_sums.h"

namespace ridgeline::gpt2 {

/// A precision beside float and bf16: bf16 whose linear layers multiply in FP8.
struct fp8;

template <class Precision>
struct ElementOf {
  using Type = Precision;
};
template <>
struct ElementOf<fp8> {
  using Type = bf16;
};
/// Of activations and parameters.
template <class Precision>
using Element = typename ElementOf<Precision>::Type;

/// The matrix of a linear layer.
struct Weight {
  Tensor tensor;
  int layer = 0;
};

/// What the linear layers work with; all of it outlives them.
template <typename T>
struct LinearContext {
  const GpuModelOptions& options;
  const DeviceLayout& layout;
  const T* parameters;
  float* gradients;
  const GradientPlaces& places;
  Activations<T>& act;
  Matmul& matmul;         // GEMMs with epilogues
  LinearGemms<T>& gemms;  // bare ones
  Attention<T>& attention;
  PartialSums& sums;
  std::byte* scratch;
  cudaStream_t stream;
  const Shards& shards;        // empty: each rank keeps all master weights
  cudaStream_t beside_stream;  // of what ranks send beside the passes

  std::int64_t rows() const { return static_cast<std::int64_t>(options.batch) * options.sequence; }
  int c() const { return options.config.channels; }
  const Switches& switches() const { return options.switches; }
  const LayerActivations<T>& layer(int l) const { return act.layers[static_cast<std::size_t>(l)]; }
  LayerTensors<const T> weights(int l) const { return layer_tensors(parameters, layout, l); }
  LayerTensors<float> gradients_of(int l) const { return gradient_tensors(gradients, places, layout, l); }
  /// Whether products add to a layer's matrices' gradients, where `accumulate` says so of vectors.
  bool adds_to_matrices(int l, bool accumulate) const { return accumulate && !places.has_slot(l); }
  const T* weight(const Weight& w) const { return parameters + layout.offset(w.tensor, w.layer); }
  /// A GEMM's other sizes: (rows, columns) of the matrix, out and in.
  int in_of(const Weight& w) const { return w.tensor == Tensor::fcprojw ? 4 * c() : c(); }
  int out_of(const Weight& w) const { return static_cast<int>(layout.count(w.tensor) / in_of(w)); }
};

/// Of a layernorm's backward pass: its launcher's arguments but for what is the same in all.
template <typename T>
struct LayernormGradients {
  const T* dresidual_in;  // null: none
  float* dweight;
  float* dbias;
  float* column_sums;  // null: not wanted
  const T* inp;
  const T* weight;
  const float* mean;
  const float* rstd;
};

/// Which gradient on the residual stream a layernorm leaves to be multiplied.
enum class Leaves { nothing, dattproj, dfcproj };

/// Precision is float or bf16.
template <class Precision>
class Linear {
 public:
  using T = Precision;
  using Operand = Matrix<const T>;
  /// Where a layernorm stores one.
  using Target = T*;

  explicit Linear(const LinearContext<T>& context);

  void set_recording(bool) {}
  void load(const float*) {}
  void cast_weights(const float*) {}
  void share_magnitudes(Communicator&) {}
  void end_step(const float*) {}
  ParameterGathers* gathers() { return nullptr; }
  void transpose_weights(int) {}
  const void* state() const { return nullptr; }
  static std::int64_t state_bytes(const ModelConfig&) { return 0; }

  /// Forward. The first two begin what a layernorm is about to write.
  Target begin_ln1(int l);
  Target begin_ln2(int l);
  Operand ln1(int l);
  Operand ln2(int l);
  /// out (B*T, OC) = inp x weight^T + bias; bias may be null
  void forward(T* out, const Operand& inp, const Weight& weight, const T* bias);
  /// out = residual + that
  void forward_residual(T* out, const T* residual, const Operand& inp, const Weight& weight, const T* bias);
  /// Attention's output.
  Operand attend(int l, const T* qkv);
  /// GELU(fc(ln2))
  Operand mlp_up(int l);
  /// The logits of lnf, which is in act; losses, and their gradient where one kernel makes both.
  void logits();
  void fused_classifier(const std::int32_t* targets, float scale);

  /// Backward.
  Operand dfcproj(int l);
  Operand dattproj(int l);
  Operand att_again(int l);
  Operand gelu_again(int l);
  /// The gradient of lnf from that of the logits, and wte's.
  void classifier_backward(bool accumulate);
  /// The gradient of fch, from dfcproj; the gradients of fc.
  Operand hidden_gradient(int l, bool accumulate);
  /// The gradient of qkv, from that of attention's output; those of qkv's layer, but for the values' bias where
  /// value_bias_after_projection().
  Operand qkv_gradient(int l, bool accumulate);
  /// dweight = or += dout^T inp
  void backward_weight(float* dweight, const Operand& dout, const Operand& inp, bool accumulate);
  /// act.narrow = dout x weight
  void backward_input(const Operand& dout, const Weight& weight);
  /// From act.narrow to the residual stream's gradient, which is multiplied next as `leaves` of layer l.
  void layernorm_backward(const LayernormGradients<T>& g, Leaves leaves, int l);

  /// Whether the values' bias gradient is formed from attproj's at the end of the backward pass. Micro-steps need
  /// nothing else: it is linear in attproj's, which accumulates.
  bool value_bias_after_projection() const;

 private:
  const T* gradient_of_stream(std::string_view name);
  Operand normalized_again(const Matrix<T>& kept, const T* inp, const T* weight, const T* bias);
  void bias_gradient(float* dbias, const T* dout, int oc);
  /// dbias += column sums of dout, dweight = or += dout^T inp, in one GEMM or two kernels.
  void weight_and_bias_gradient(float* dweight, float* dbias, const Operand& dout, const Operand& inp,
                                bool accumulate, bool fused);

  LinearContext<T> x_;
  /// Whether the GEMM yields the bias gradient, by [accumulate].
  bool qkv_bias_fused_[2] = {false, false};
  bool fc_bias_fused_[2] = {false, false};
};

/// A tensor in FP8. Its bytes are in one of the two scratch tensors of operands, until the next one is stored there.
struct Fp8Stored {
  Fp8Tensor tensor;
  int layer = 0;
  bool wide = false;  // (B*T,4C) of room, not (B*T,C)
  int columns = 0;
  Bytes transposed;
};

/// As the one above.
template <>
class Linear<fp8> {
 public:
  using T = bf16;
  using Operand = Fp8Stored;
  using Target = Fp8Output;

  explicit Linear(const LinearContext<T>& context);

  static std::int64_t device_bytes(const GpuModelOptions& options);
  void set_recording(bool recording) { state_.set_recording(recording); }
  void load(const float* master);
  void cast_weights(const float* master) { state_.cast_weights(master, x_.stream); }
  /// Of the weights in FP8, as in Fp8Layers.
  ParameterGathers* gathers() { return state_.gathers(); }
  void transpose_weights(int l) { state_.transpose_weights(l, x_.stream); }
  /// Before end_step: every rank goes on with the scales of the largest magnitudes of all.
  void share_magnitudes(Communicator& communicator);
  void end_step(const float* master);
  const void* state() const { return state_.state(); }
  static std::int64_t state_bytes(const ModelConfig& config) { return fp8_scaling_bytes(config); }

  Target begin_ln1(int l) { return begin(ln1(l)); }
  Target begin_ln2(int l) { return begin(ln2(l)); }
  Operand ln1(int l);
  Operand ln2(int l);
  void forward(T* out, const Operand& inp, const Weight& weight, const T* bias);
  void forward_residual(T* out, const T* residual, const Operand& inp, const Weight& weight, const T* bias);
  Operand attend(int l, const T* qkv);
  Operand mlp_up(int l);
  void logits();
  void fused_classifier(const std::int32_t* targets, float scale);

  Operand dfcproj(int l) { return narrow(Fp8Tensor::dfcproj, l); }
  Operand dattproj(int l) { return narrow(Fp8Tensor::dattproj, l); }
  Operand att_again(int l);
  Operand gelu_again(int l);
  void classifier_backward(bool accumulate);
  Operand hidden_gradient(int l, bool accumulate);
  Operand qkv_gradient(int l, bool accumulate);
  void backward_weight(float* dweight, const Operand& dout, const Operand& inp, bool accumulate);
  void backward_input(const Operand& dout, const Weight& weight);
  void layernorm_backward(const LayernormGradients<T>& g, Leaves leaves, int l);
  bool value_bias_after_projection() const { return attention_writes_dqkv(); }

 private:
  bool attention_writes_dqkv() const;
  Operand input(Fp8Tensor tensor, int l, const Bytes& transposed, bool wide = false) const;
  Operand narrow(Fp8Tensor tensor, int l) const;
  Operand wide(Fp8Tensor tensor, int l, int columns) const;
  Scratch& scratch_of(const Operand& o) { return o.wide ? x_.act.wide_operand : x_.act.narrow_operand; }
  /// Where a kernel stores it, and where a GEMM finds it.
  Fp8Output begin(const Operand& o);
  Fp8Operand as_is(const Operand& o);
  Fp8Operand transposed(const Operand& o) const {
    return state_.operand(o.tensor, o.layer, o.transposed.data);
  }

  LinearContext<T> x_;
  Fp8Layers state_;
};

}  // namespace ridgeline::gpt2
