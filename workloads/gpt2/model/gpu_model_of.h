// gpu_model_of.h: the model in one precision: float, bf16, or fp8, which is bf16 but for the linear layers. Its passes
// are in gpu_forward.cpp and gpu_backward.cpp, the update in gpu_optimizer.cpp, what the host takes out and
// puts in again in gpu_state.cpp; gpu_model.cpp owns memory and lifecycle. What depends on the precision is Linear's
// (linear.h): the passes are written once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/cublas_handle.h"
#include "gpt2/libs/linear_gemms.h"
#include "gpt2/model/activations.h"
#include "gpt2/model/attention_layer.h"
#include "gpt2/model/device_layout.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/model/gradient_places.h"
#include "gpt2/model/l2_window.h"
#include "gpt2/model/linear.h"
#include "gpt2/model/parameter_gathers.h"
#include "gpt2/model/shards.h"
#include "gpt2/ops/bias/partial_sums.h"

namespace ridgeline::gpt2 {

template <class Precision>
class GpuModelOf final : public GpuModel {
 public:
  using T = Element<Precision>;

  explicit GpuModelOf(const GpuModelOptions& options);

  cudaStream_t stream() const override { return stream_.get(); }
  void load(const std::vector<float>& parameters) override;
  void micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) override;
  void optimizer_step(const OptimizerOptions& options) override;
  void evaluate(const std::int32_t* inputs, const std::int32_t* targets) override;
  void complete_parameters() override;
  std::vector<float> logits(const std::int32_t* inputs, std::int64_t row) override;
  std::int64_t state_bytes(StatePart part) const override;
  void download_state(StatePart part, std::int64_t begin, std::span<std::byte> out) const override;
  void upload_state(StatePart part, std::int64_t begin, std::span<const std::byte> in) override;
  bool is_shared_out(StatePart part) const override { return is_sharded(part); }
  const StepResult* device_result() const override { return result_.data(); }
  std::vector<float> download_parameters() const override;
  std::vector<float> download_gradients() const override;
  Matmul& matmul() override { return matmul_; }

 private:
  using Layer = LayerActivations<T>;
  using Operand = typename Linear<Precision>::Operand;

  /// Forward.
  /// With what ranks hand on beside it, if they do and it is to begin that.
  void forward_to_logits(const std::int32_t* inputs, bool gathers);
  void forward_layer(int l);
  /// What attproj and fcproj yield, inp x weight^T + bias: in narrow, or residual = in1 + that
  void project(T* residual, const T* in1, const Operand& inp, const Weight& weight, const T* bias);
  /// After project of the same two: residual = in1 + what it yields unless it is, and out = layernorm(residual), where
  /// out is a tensor or what a layernorm in FP8 writes.
  template <class Out>
  void residual_layernorm(T* residual, const Out& out, float* mean, float* rstd, const T* in1,
                          const T* weight, const T* bias);
  /// losses; fused, logits become their gradient at once
  void classifier(const std::int32_t* targets, float scale);
  /// losses alone
  void classifier_loss(const std::int32_t* targets);

  /// Backward.
  /// logits become their gradient, unless the classifier has seen to that
  void logits_backward(const std::int32_t* targets, float scale);
  void backward(const std::int32_t* inputs, bool accumulate);
  void backward_layer(int l, bool accumulate);
  void zero_small_gradients();
  /// Gradients that the other ranks add to: see GradientBucket::after.
  void completed(int after);

  void optimizer_step_per_tensor(const OptimizerOptions& options, GradientNorm* norm,
                                 const StochasticRounding& rounding);
  void optimizer_step_multi(const OptimizerOptions& options, GradientNorm* norm,
                            const StochasticRounding& rounding);

  /// Each rank its own part.
  void optimizer_step_sharded(const OptimizerOptions& options, GradientNorm* norm,
                              const StochasticRounding& rounding);
  /// T's copies of all parameters, from what the ranks keep of the FP32 ones; where those are shared out, of what is
  /// gathered at once.
  void convert_parameters();
  /// Of what the layers multiply; null: nothing is shared out.
  ParameterGathers* layer_gathers() {
    ParameterGathers* own = linear_->gathers();
    return own != nullptr || !gathers_ ? own : &*gathers_;
  }
  /// Of all layers' instances: who keeps what.
  std::vector<GatheredPiece> pieces_of(Tensor tensor) const;

  /// The FP32 parameters, which T's copies follow.
  float* master() const;
  /// A part of the state on the device, and bytes of its elements; scaling is one piece.
  std::byte* state_data(StatePart part) const;
  static std::int64_t element_bytes(StatePart part);
  /// Calls copy(device, at, bytes, rank) for the pieces that bytes [begin, begin + size) of a part, in the order of
  /// files, are made of; `at` counts from begin, and `device` is an address of the rank that keeps the piece, -1 for
  /// all. Throws std::out_of_range outside the part.
  template <class Copy>
  void for_pieces(StatePart part, std::int64_t begin, std::size_t size, const Copy& copy) const;

  /// Of embeddings, and of vectors of the first layer.
  float* gradient(Tensor tensor) {
    const std::int64_t at = layout_.offset(tensor);
    return gradients_.data() + (at < layout_.vectors_start() ? at : at + places_.vectors_shift());
  }
  const T* parameter(Tensor tensor) const { return parameters_.data() + layout_.offset(tensor); }
  LayerTensors<const T> weights(int l) const {
    return layer_tensors(static_cast<const T*>(parameters_.data()), layout_, l);
  }
  LayerTensors<float> gradients(int l) { return gradient_tensors(gradients_.data(), places_, layout_, l); }
  /// Whether a part of the state is kept in shards.
  bool is_sharded(StatePart part) const {
    if (shards_.empty()) return false;
    return part == StatePart::moment1 || part == StatePart::moment2 ||
           (part == StatePart::master && !std::is_same_v<T, float>);
  }
  /// Elements of a buffer of master weights or moments.
  std::int64_t kept_elements() const { return shards_.empty() ? layout_.total() : shards_.packed_elements(); }
  const Switches& switches() const { return options_.switches; }
  /// What a token's loss is multiplied by, so that those of all ranks' `micro_steps` add up to their mean.
  float loss_scale(int micro_steps) const {
    return 1.0F / (static_cast<float>(rows_ * options_.ranks) * static_cast<float>(micro_steps));
  }
  const Layer& layer(int l) const { return act_.layers[static_cast<std::size_t>(l)]; }
  /// The residual stream that layer l leaves.
  T* residual_after(int l) const {
    return (l + 1 < options_.config.layers ? layer(l + 1).residual : act_.residual_last).data;
  }
  /// Keeps a (B*T,C) tensor of the residual stream in L2, with --l2-persist residual.
  L2Window keep(const T* data) const {
    return L2Window(stream_.get(), data, rows_ * c_ * static_cast<std::int64_t>(sizeof(T)), l2_);
  }
  /// Where project leaves what the residual addition or the layernorm reads next.
  const T* left_by_projection(const T* residual) {
    return switches().residual == ResidualKind::gemm
               ? residual
               : act_.narrow.template begin<T>(live::projection, rows_, c_).data;
  }

  GpuModelOptions options_;
  DeviceLayout layout_;
  std::vector<TensorInstance> tensors_;
  std::int64_t rows_;  // B*T
  int c_;
  std::vector<std::string> layer_names_;
  Stream stream_;
  L2Limits l2_;
  Shards shards_;
  GradientPlaces places_;
  DeviceBuffer<T> parameters_;
  DeviceBuffer<float> master_;  // empty when T is float: the parameters are the master weights
  DeviceBuffer<float> gradients_, m_, v_;
  DeviceBuffer<std::byte> activation_memory_;
  Activations<T> act_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<std::byte> sums_memory_;
  PartialSums sums_;  // the layernorms' and biases' gradients, complete at the end of the backward pass
  DeviceBuffer<StepResult> result_;
  MicroStep micro_step_;  // that runs
  Matmul matmul_;         // GEMMs with epilogues, and the bare ones unless plain cuBLAS is asked for
  std::optional<CublasHandle> cublas_;
  std::unique_ptr<LinearGemms<T>> gemms_;
  std::optional<Attention<T>> attention_;
  std::optional<Linear<Precision>> linear_;
  std::optional<GradientReduction> reduction_;  // with other ranks
  std::optional<ParameterGathers> gathers_;     // of shards
  std::vector<Shards::Part> own_parts_;         // without what lies beyond the parameters
  DeviceBuffer<double> squared_sum_;            // of the shards' gradients
  mutable DeviceBuffer<std::byte> staging_;     // for shards on their way to rank 0
};

}  // namespace ridgeline::gpt2
