// gpu_model_of.h: the model for one element type. Its passes are in gpu_forward.cpp and gpu_backward.cpp, the
// update in gpu_optimizer.cpp, layers in FP8 in gpu_fp8.cpp, what the host takes out and puts in again in
// gpu_state.cpp; gpu_model.cpp owns memory and lifecycle. One method an op that has switches: the passes read
// the same whichever side of a switch runs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/libs/attention_unfused.h"
#include "gpt2/libs/cublas_handle.h"
#include "gpt2/libs/linear_products.h"
#include "gpt2/model/activations.h"
#include "gpt2/model/fp8_layers.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/l2_window.h"
#include "gpt2/model/parameters.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/partial_sums.h"

namespace ridgeline::gpt2 {

template <typename T>
class GpuModelOf final : public GpuModel {
 public:
  explicit GpuModelOf(const GpuModelOptions& options);

  cudaStream_t stream() const override { return stream_.get(); }
  void load(const std::vector<float>& parameters) override;
  void micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) override;
  void optimizer_step(const OptimizerOptions& options) override;
  void evaluate(const std::int32_t* inputs, const std::int32_t* targets) override;
  std::vector<float> logits(const std::int32_t* inputs, std::int64_t row) override;
  std::int64_t state_bytes(StatePart part) const override;
  void download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const override;
  void upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) override;
  const StepResult* device_result() const override { return result_.data(); }
  std::vector<float> download_parameters() const override;
  std::vector<float> download_gradients() const override;
  Matmul& matmul() override { return matmul_; }

 private:
  using Layer = LayerActivations<T>;
  using Weights = LayerTensors<const T>;
  using Gradients = LayerTensors<float>;

  /// Forward.
  void forward_to_logits(const std::int32_t* inputs);
  void forward_layer(int l);
  /// ln1 of the first layer
  void first_layernorm();
  /// out (B*T, oc) = inp (B*T, c) x weight^T + bias
  void linear(T* out, const T* inp, const T* weight, const T* bias, int c, int oc);
  void attention(const Layer& a);
  /// What attproj and fcproj yield, inp (B*T, c) x weight^T + bias: in projected, or residual = in1 + that
  void project(T* residual, const T* in1, const T* inp, const T* weight, const T* bias, int c);
  /// Behind project of the same two: residual = in1 + projected unless it is, normed = layernorm(residual)
  void residual_layernorm(T* residual, T* normed, float* mean, float* rstd, const T* in1, const T* weight,
                          const T* bias);
  /// a.gelu = GELU(a.fch = fc(a.ln2))
  void mlp_up(const Layer& a, const Weights& p);
  /// losses; fused, logits become their gradient at once
  void classifier(const std::int32_t* targets, float scale);
  /// losses alone
  void classifier_loss(const std::int32_t* targets);

  /// Backward.
  /// The GELU's and the layernorms' outputs, as kept or computed again.
  const T* gelu_again(const Layer& a);
  const T* layernorm_again(const T* kept, const T* inp, const T* weight, const T* bias);
  /// dinp (B*T, c) = dout (B*T, oc) x weight
  void linear_backward_input(T* dinp, const T* dout, const T* weight, int c, int oc);
  /// dweight = or += dout^T inp
  void weight_gradient(float* dweight, const T* dout, const T* inp, int c, int oc, bool accumulate);
  /// logits become their gradient, unless the classifier has seen to that
  void classifier_backward(const std::int32_t* targets, float scale);
  void backward(const std::int32_t* inputs, bool accumulate);
  void backward_layer(int l, bool accumulate);
  /// from lnf's output to residual_last
  void last_layernorm_backward();
  void zero_small_gradients();
  /// dwide = gradient of fch, from the gradient of what fcproj adds to the residual stream; fcb's gradient
  void mlp_down_backward(const Layer& a, const Weights& p, const Gradients& g, const T* dout,
                         bool accumulate);
  /// dwide = gradient of qkv
  void attention_backward(const Layer& a, const T* dout);
  /// dbias += column sums of dout, dweight = or += dout^T inp, in one product or two kernels.
  void weight_and_bias_gradient(float* dweight, float* dbias, const T* dout, const T* inp, int oc,
                                bool accumulate, bool fused);
  void bias_gradient(float* dbias, const T* dout, int oc);
  /// Those of qkv's weight and bias, but for the values' bias where value_bias_behind_projection().
  void qkv_gradients(const Gradients& g, const T* dqkv, const T* inp, bool accumulate);
  void layernorm_backward(const T* dresidual_in, float* dweight, float* dbias, float* column_sums,
                          const T* inp, const T* weight, const float* mean, const float* rstd);

  /// The layers with products in FP8: as the methods of these names without it. Of bf16 only.
  void first_layernorm_fp8();
  void residual_layernorm_fp8(T* residual, const Fp8Output& normed, float* mean, float* rstd, const T* in1,
                              const T* weight, const T* bias);
  void attention_fp8(const Layer& a, const Fp8Output& out);
  void forward_layer_fp8(int l);
  /// logits = lnf x wte^T
  void classifier_product();
  void classifier_product_fp8();
  void classifier_fp8(const std::int32_t* targets, float scale);
  /// wte's gradient and projected = the gradient of lnf, from that of the logits
  void classifier_products_backward(bool accumulate);
  void classifier_products_backward_fp8(bool accumulate);
  /// out (B*T, oc) = inp x weight^T + bias
  void linear_fp8(T* out, Fp8Tensor inp, const std::uint8_t* data, Tensor weight, int l, const T* bias, int c,
                  int oc);
  void project_fp8(T* residual, const T* in1, Fp8Tensor inp, const std::uint8_t* data, Tensor weight, int l,
                   const T* bias, int c);
  /// a.gelu_transposed and act_.wide = GELU(fc(ln2)), of which ln2 lies in act_.narrow
  void mlp_up_fp8(int l);
  /// act_.wide = gradient of fch, from the gradient of fcproj's output, which lies in act_.narrow; the gradients of
  /// fcproj's weight and of fc's bias
  void mlp_down_backward_fp8(int l, bool accumulate);
  void last_layernorm_backward_fp8();
  /// dweight = or += dout^T inp, of a gradient (B*T, oc), which lies in act_.narrow or act_.wide and transposed
  /// beside it
  void weight_gradient_fp8(float* dweight, Fp8Tensor dout, Fp8Tensor inp, const std::uint8_t* inp_transposed,
                           int l, int c, int oc, bool accumulate);
  /// That, and dinp = dout x weight: into act_.projected or act_.dwide
  void linear_backward_fp8(T* dinp, float* dweight, Fp8Tensor dout, Fp8Tensor inp,
                           const std::uint8_t* inp_transposed, Tensor weight, int l, int c, int oc,
                           bool accumulate);
  /// act_.wide = gradient of qkv, from that of attention's output in act_.projected; what is summed at once
  /// of qkv's bias
  void attention_backward_fp8(int l);
  void backward_layer_fp8(int l, bool accumulate);

  void optimizer_step_per_tensor(const OptimizerOptions& options, GradientNorm* norm,
                                 const StochasticRounding& rounding);

  void optimizer_step_multi(const OptimizerOptions& options, GradientNorm* norm,
                            const StochasticRounding& rounding);

  /// Device bytes [begin, begin + size) of a part. Throws std::out_of_range outside it.
  const std::byte* state_at(StatePart part, std::int64_t begin, std::size_t size) const;

  float* gradient(Tensor tensor) { return gradients_.data() + layout_.offset(tensor); }
  const T* parameter(Tensor tensor) const { return parameters_.data() + layout_.offset(tensor); }
  Weights weights(int l) const {
    return layer_tensors(static_cast<const T*>(parameters_.data()), layout_, l);
  }
  const Switches& switches() const { return options_.switches; }
  UnfusedAttentionShape attention_shape() const {
    return {.batch = options_.batch,
            .seq = options_.sequence,
            .heads = options_.config.heads,
            .head_size = options_.config.head_size()};
  }
  /// The residual stream that layer l leaves.
  T* residual_behind(int l) const {
    return l + 1 < options_.config.layers ? act_.layers[static_cast<std::size_t>(l) + 1].residual
                                          : act_.residual_last;
  }
  /// FP8 products leave partial sums to the tensor cores, which add with some 14 bits: forward alone.
  static constexpr bool kFastForward = true;
  static constexpr bool kFastBackward = false;
  /// Whether the values' bias gradient is formed from attproj's at the end of the backward pass. Micro-steps need
  /// nothing else: it is linear in attproj's, which accumulates.
  bool value_bias_behind_projection() const {
    return fp8_ ? attention_writes_dqkv_in_fp8() : switches().bias_gradient == BiasGradientKind::separate;
  }
  bool attention_writes_dqkv_in_fp8() const {
    const ModelConfig& config = options_.config;
    return switches().attention == AttentionKind::hopper &&
           hopper_attention_backward_fp8_supported(options_.batch, options_.sequence, config.heads,
                                                   config.head_size());
  }
  /// Where project leaves what the residual addition or the layernorm reads next.
  const T* left_by_projection(const T* residual) const {
    return switches().residual == ResidualKind::product ? residual : act_.projected;
  }
  /// Keeps a (B,T,C) tensor of the residual stream in L2, with --l2-persist residual.
  L2Window keep(const T* data) const {
    return L2Window(stream_.get(), data, rows_ * c_ * static_cast<std::int64_t>(sizeof(T)), l2_);
  }

  GpuModelOptions options_;
  ParameterLayout layout_;
  std::vector<TensorInstance> tensors_;
  std::vector<GradientRange> gradient_ranges_;  // of the same tensors
  std::int64_t rows_;                           // B*T
  int c_;
  std::vector<std::string> layer_names_;
  Stream stream_;
  L2Limits l2_;
  DeviceBuffer<T> parameters_;
  DeviceBuffer<float> master_;  // empty when T is float: the parameters are the master weights
  DeviceBuffer<float> gradients_, m_, v_;
  DeviceBuffer<std::byte> activation_memory_;
  Activations<T> act_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<std::byte> sums_memory_;
  PartialSums sums_;  // the layernorms' and biases' gradients, complete at the end of the backward pass
  DeviceBuffer<StepResult> result_;
  Matmul matmul_;  // products with epilogues, and the bare ones unless plain cuBLAS is asked for
  std::optional<CublasHandle> cublas_;
  std::unique_ptr<LinearProducts<T>> products_;
  std::optional<CudnnAttention> cudnn_;
  std::optional<UnfusedAttention> unfused_;
  std::optional<Fp8Layers> fp8_;
  /// Whether the product yields the bias gradient, by [accumulate].
  bool qkv_bias_fused_[2] = {false, false};
  bool fc_bias_fused_[2] = {false, false};
};

template <>
void GpuModelOf<bf16>::first_layernorm_fp8();
template <>
void GpuModelOf<bf16>::residual_layernorm_fp8(bf16* residual, const Fp8Output& normed, float* mean,
                                              float* rstd, const bf16* in1, const bf16* weight,
                                              const bf16* bias);
template <>
void GpuModelOf<bf16>::attention_fp8(const Layer& a, const Fp8Output& out);
template <>
void GpuModelOf<bf16>::forward_layer_fp8(int l);
template <>
void GpuModelOf<bf16>::classifier_product_fp8();
template <>
void GpuModelOf<bf16>::classifier_fp8(const std::int32_t* targets, float scale);
template <>
void GpuModelOf<bf16>::classifier_products_backward_fp8(bool accumulate);
template <>
void GpuModelOf<bf16>::linear_fp8(bf16* out, Fp8Tensor inp, const std::uint8_t* data, Tensor weight, int l,
                                  const bf16* bias, int c, int oc);
template <>
void GpuModelOf<bf16>::project_fp8(bf16* residual, const bf16* in1, Fp8Tensor inp, const std::uint8_t* data,
                                   Tensor weight, int l, const bf16* bias, int c);
template <>
void GpuModelOf<bf16>::mlp_up_fp8(int l);
template <>
void GpuModelOf<bf16>::mlp_down_backward_fp8(int l, bool accumulate);
template <>
void GpuModelOf<bf16>::weight_gradient_fp8(float* dweight, Fp8Tensor dout, Fp8Tensor inp,
                                           const std::uint8_t* inp_transposed, int l, int c, int oc,
                                           bool accumulate);
template <>
void GpuModelOf<bf16>::last_layernorm_backward_fp8();
template <>
void GpuModelOf<bf16>::linear_backward_fp8(bf16* dinp, float* dweight, Fp8Tensor dout, Fp8Tensor inp,
                                           const std::uint8_t* inp_transposed, Tensor weight, int l, int c,
                                           int oc, bool accumulate);
template <>
void GpuModelOf<bf16>::attention_backward_fp8(int l);
template <>
void GpuModelOf<bf16>::backward_layer_fp8(int l, bool accumulate);

}  // namespace ridgeline::gpt2
