#include "gpt2/model/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/model/activations.h"
#include "gpt2/model/errors.h"
#include "gpt2/model/parameters.h"
#include "gpt2/ops/attention.h"
#include "gpt2/ops/bias_gradient.h"
#include "gpt2/ops/classifier.h"
#include "gpt2/ops/fill.h"
#include "gpt2/ops/gelu.h"
#include "gpt2/ops/layernorm.h"
#include "gpt2/ops/loss_sum.h"

namespace ridgeline::gpt2 {
namespace {

void check(const GpuModelOptions& o) {
  validate(o.config);
  if (o.batch < 1 || o.grad_accum < 1)
    throw InputError(fmt::format("B={} K={}: must be at least 1", o.batch, o.grad_accum));
  if (o.sequence < 1 || o.sequence > o.config.max_t) {
    throw InputError(fmt::format("T={}: the model's positions allow 1 to {}", o.sequence, o.config.max_t));
  }
  if (static_cast<std::int64_t>(o.batch) * o.sequence > (std::int64_t{1} << 30)) {
    throw InputError(fmt::format("B*T={} is beyond 2^30 positions: lower -B and raise --grad-accum",
                                 static_cast<std::int64_t>(o.batch) * o.sequence));
  }
  if (o.config.head_size() > 128)
    throw InputError(fmt::format("head size {}: attention supports up to 128", o.config.head_size()));
  if (o.attention == AttentionKind::cudnn) {
    if (o.precision != Precision::kBf16) {
      throw InputError(
          "--attention cudnn computes in bf16: use --attention own with --precision fp32 or tf32");
    }
    if (!cudnn_attention_available()) throw InputError("this build has no cuDNN: use --attention own");
    if (o.config.head_size() % 8 != 0) {
      throw InputError(fmt::format("head size {}: cuDNN needs a multiple of 8, use --attention own",
                                   o.config.head_size()));
    }
  }
}

// Scratch shared by ops that run one after the other on the stream.
std::int64_t scratch_bytes(const GpuModelOptions& o) {
  std::int64_t bytes = layernorm_backward_scratch_bytes(o.config.channels);
  bytes = std::max(bytes, global_norm_scratch_bytes());
  bytes = std::max(
      bytes, encoder_backward_scratch_bytes(o.batch, o.sequence, o.config.channels, o.encoder_backward));
  if (o.attention == AttentionKind::own) {
    bytes = std::max(bytes, attention_backward_scratch_bytes(o.batch, o.sequence, o.config.heads));
  }
  return bytes;
}

template <typename T>
std::int64_t activation_bytes(const GpuModelOptions& o) {
  Arena arena;
  const Activations<T> counted(arena, o.config, o.batch, o.sequence);
  return arena.used_bytes();
}

template <typename T>
class GpuModelOf final : public GpuModel {
 public:
  explicit GpuModelOf(const GpuModelOptions& options);

  cudaStream_t stream() const override { return stream_.get(); }
  void load(const std::vector<float>& parameters) override;
  void micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) override;
  void optimizer_step(const OptimizerOptions& options) override;
  void evaluate(const std::int32_t* inputs, const std::int32_t* targets) override;
  const StepResult* device_result() const override { return result_.data(); }
  std::vector<float> download_parameters() const override;
  std::vector<float> download_gradients() const override;
  Matmul& matmul() override { return matmul_; }

 private:
  void forward_to_logits(const std::int32_t* inputs);
  void forward_layer(int l);
  void backward(const std::int32_t* inputs, bool accumulate);
  void backward_layer(int l, bool accumulate);
  void zero_small_gradients();
  // dbias += column sums of dout, dweight = or += dout^T inp, in one product or two kernels.
  void weight_and_bias_gradient(float* dweight, float* dbias, const T* dout, const T* inp, int oc,
                                bool accumulate, bool fused);

  float* gradient(Tensor tensor) { return gradients_.data() + layout_.offset(tensor); }
  const T* parameter(Tensor tensor) const { return parameters_.data() + layout_.offset(tensor); }

  GpuModelOptions options_;
  ParameterLayout layout_;
  std::int64_t rows_;  // B*T
  int c_;
  std::vector<std::string> layer_names_;
  Stream stream_;
  DeviceBuffer<T> parameters_;
  DeviceBuffer<float> master_;  // empty when T is float: the parameters are the master weights
  DeviceBuffer<float> gradients_, m_, v_;
  DeviceBuffer<std::byte> activation_memory_;
  Activations<T> act_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<std::byte> bias_scratch_;
  DeviceBuffer<StepResult> result_;
  Matmul matmul_;
  std::optional<CudnnAttention> cudnn_;
  // Whether the product yields the bias gradient, by [accumulate].
  bool qkv_bias_fused_[2] = {false, false};
  bool fc_bias_fused_[2] = {false, false};
};

template <typename T>
GpuModelOf<T>::GpuModelOf(const GpuModelOptions& o)
    : options_(o),
      layout_(o.config),
      rows_(static_cast<std::int64_t>(o.batch) * o.sequence),
      c_(o.config.channels),
      parameters_(layout_.total()),
      gradients_(layout_.total()),
      m_(layout_.total()),
      v_(layout_.total()),
      activation_memory_(activation_bytes<T>(o)),
      scratch_(scratch_bytes(o)),
      bias_scratch_(bias_gradient_scratch_bytes(4 * o.config.channels)),
      result_(1),
      matmul_(o.matmul) {
  if constexpr (!std::is_same_v<T, float>) master_ = DeviceBuffer<float>(layout_.total());
  Arena arena(activation_memory_.data());
  act_ = Activations<T>(arena, o.config, o.batch, o.sequence);
  for (int l = 0; l < o.config.layers; ++l) layer_names_.push_back("layer " + std::to_string(l));
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(bias_scratch_.data(), 0,
                                       static_cast<std::size_t>(bias_scratch_.size_bytes()), stream_.get()));
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(result_.data(), 0, sizeof(StepResult), stream_.get()));
  if (o.attention == AttentionKind::cudnn) {
    cudnn_.emplace();
    cudnn_->prepare(o.batch, o.sequence, o.config.heads, o.config.head_size());
  }
  if (o.bias_gradient == BiasGradientKind::fused) {
    for (int accumulate = 0; accumulate < (o.grad_accum > 1 ? 2 : 1); ++accumulate) {
      qkv_bias_fused_[accumulate] =
          matmul_.template bias_gradient_fused<T>(rows_, c_, 3 * c_, accumulate != 0);
      fc_bias_fused_[accumulate] =
          matmul_.template bias_gradient_fused<T>(rows_, c_, 4 * c_, accumulate != 0);
    }
  }
  stream_.synchronize();
}

template <typename T>
void GpuModelOf<T>::load(const std::vector<float>& parameters) {
  if (static_cast<std::int64_t>(parameters.size()) != layout_.total()) {
    throw std::invalid_argument("GpuModel::load: wrong number of parameters");
  }
  stream_.synchronize();
  if constexpr (std::is_same_v<T, float>) {
    parameters_.upload(parameters);
  } else {
    master_.upload(parameters);
    launch_convert(parameters_.data(), master_.data(), layout_.total(), stream_.get());
  }
  launch_zero(m_.data(), m_.size_bytes(), stream_.get());
  launch_zero(v_.data(), v_.size_bytes(), stream_.get());
  stream_.synchronize();
}

template <typename T>
void GpuModelOf<T>::forward_layer(int l) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  const ModelConfig& config = options_.config;
  cudaStream_t s = stream_.get();
  LayerActivations<T>& a = act_.layers[static_cast<std::size_t>(l)];
  const auto p = layer_tensors(static_cast<const T*>(parameters_.data()), layout_, l);

  matmul_.forward(a.qkv, static_cast<const T*>(a.ln1), p.qkvw, p.qkvb, rows_, c_, 3 * c_, s);
  if constexpr (std::is_same_v<T, bf16>) {
    if (cudnn_)
      cudnn_->forward(a.att, a.lse, a.qkv, options_.batch, options_.sequence, config.heads,
                      config.head_size(), s);
  }
  if (!cudnn_) {
    launch_attention_forward(a.att, a.lse, static_cast<const T*>(a.qkv), options_.batch, options_.sequence,
                             config.heads, config.head_size(), s);
  }
  matmul_.forward(act_.projected, static_cast<const T*>(a.att), p.attprojw, p.attprojb, rows_, c_, c_, s);
  launch_residual_layernorm_forward(a.mid, a.ln2, a.ln2_mean, a.ln2_rstd, static_cast<const T*>(a.residual),
                                    static_cast<const T*>(act_.projected), p.ln2w, p.ln2b, rows_, c_, s);
  if (options_.gelu == GeluKind::fused) {
    matmul_.forward(a.gelu, static_cast<const T*>(a.ln2), p.fcw, p.fcb, rows_, c_, 4 * c_, s,
                    MatmulEpilogue::gelu, a.fch);
  } else {
    matmul_.forward(a.fch, static_cast<const T*>(a.ln2), p.fcw, p.fcb, rows_, c_, 4 * c_, s);
    launch_gelu_forward(a.gelu, static_cast<const T*>(a.fch), rows_ * 4 * c_, s);
  }
  matmul_.forward(act_.projected, static_cast<const T*>(a.gelu), p.fcprojw, p.fcprojb, rows_, 4 * c_, c_, s);
  if (l + 1 < config.layers) {
    LayerActivations<T>& next = act_.layers[static_cast<std::size_t>(l) + 1];
    const auto q = layer_tensors(static_cast<const T*>(parameters_.data()), layout_, l + 1);
    launch_residual_layernorm_forward(next.residual, next.ln1, next.ln1_mean, next.ln1_rstd,
                                      static_cast<const T*>(a.mid), static_cast<const T*>(act_.projected),
                                      q.ln1w, q.ln1b, rows_, c_, s);
  } else {
    launch_residual_layernorm_forward(act_.residual_last, act_.lnf, act_.lnf_mean, act_.lnf_rstd,
                                      static_cast<const T*>(a.mid), static_cast<const T*>(act_.projected),
                                      parameter(Tensor::lnfw), parameter(Tensor::lnfb), rows_, c_, s);
  }
}

template <typename T>
void GpuModelOf<T>::forward_to_logits(const std::int32_t* inputs) {
  cudaStream_t s = stream_.get();
  const ModelConfig& config = options_.config;
  LayerActivations<T>& first = act_.layers.front();
  const auto p = layer_tensors(static_cast<const T*>(parameters_.data()), layout_, 0);
  launch_encoder_forward(first.residual, inputs, parameter(Tensor::wte), parameter(Tensor::wpe),
                         options_.batch, options_.sequence, c_, s);
  launch_layernorm_forward(first.ln1, first.ln1_mean, first.ln1_rstd, static_cast<const T*>(first.residual),
                           p.ln1w, p.ln1b, rows_, c_, s);
  for (int l = 0; l < config.layers; ++l) forward_layer(l);
  matmul_.forward(act_.logits, static_cast<const T*>(act_.lnf), parameter(Tensor::wte),
                  static_cast<const T*>(nullptr), rows_, c_, config.padded_vocab, s);
}

template <typename T>
void GpuModelOf<T>::micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) {
  const float scale = 1.0F / (static_cast<float>(rows_) * static_cast<float>(options_.grad_accum));
  const bool accumulate = micro > 0;
  {
    const NvtxRange range("forward");
    forward_to_logits(inputs);
    launch_fused_classifier(act_.logits, act_.losses, targets, scale, rows_, options_.config.vocab,
                            options_.config.padded_vocab, stream_.get());
    launch_loss_sum(&result_.data()->loss, act_.losses, rows_, scale, accumulate, stream_.get());
  }
  {
    const NvtxRange range("backward");
    if (!accumulate) zero_small_gradients();
    backward(inputs, accumulate);
  }
}

// The first micro-step's weight products overwrite the matrices' gradients; whatever only ever accumulates
// starts at zero. wte's gradient is overwritten by the classifier's product before the encoder adds to it.
template <typename T>
void GpuModelOf<T>::zero_small_gradients() {
  const auto zero = [&](Tensor first, Tensor last) {
    const std::int64_t end = layout_.offset(last) + layout_.count(last);
    launch_zero(gradient(first), (end - layout_.offset(first)) * static_cast<std::int64_t>(sizeof(float)),
                stream_.get());
  };
  zero(Tensor::wpe, Tensor::ln1b);
  zero(Tensor::qkvb, Tensor::qkvb);
  zero(Tensor::attprojb, Tensor::ln2b);
  zero(Tensor::fcb, Tensor::fcb);
  zero(Tensor::fcprojb, Tensor::lnfb);
}

template <typename T>
void GpuModelOf<T>::weight_and_bias_gradient(float* dweight, float* dbias, const T* dout, const T* inp,
                                             int oc, bool accumulate, bool fused) {
  if (!fused) launch_bias_gradient(dbias, dout, rows_, oc, bias_scratch_.data(), stream_.get());
  matmul_.backward_weight(dweight, dout, inp, rows_, c_, oc, stream_.get(), accumulate,
                          fused ? dbias : nullptr);
}

template <typename T>
void GpuModelOf<T>::backward_layer(int l, bool accumulate) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  const ModelConfig& config = options_.config;
  cudaStream_t s = stream_.get();
  const LayerActivations<T>& a = act_.layers[static_cast<std::size_t>(l)];
  const auto p = layer_tensors(static_cast<const T*>(parameters_.data()), layout_, l);
  const auto g = layer_tensors(gradients_.data(), layout_, l);
  T* dres = act_.dresidual;
  T* dln = act_.projected;
  T* dwide = act_.dwide;
  const auto in = [](const T* pointer) { return pointer; };

  matmul_.backward_weight(g.fcprojw, in(dres), in(a.gelu), rows_, 4 * c_, c_, s, accumulate);
  if (options_.gelu == GeluKind::fused) {
    matmul_.backward_input(dwide, in(dres), p.fcprojw, rows_, 4 * c_, c_, s, in(a.fch));
  } else {
    matmul_.backward_input(dwide, in(dres), p.fcprojw, rows_, 4 * c_, c_, s);
    launch_gelu_backward(dwide, in(a.fch), in(dwide), rows_ * 4 * c_, s);
  }
  weight_and_bias_gradient(g.fcw, g.fcb, dwide, a.ln2, 4 * c_, accumulate, fc_bias_fused_[accumulate]);
  matmul_.backward_input(dln, in(dwide), p.fcw, rows_, c_, 4 * c_, s);
  // The column sums of the gradient that leaves a layernorm's backward are the gradient of the bias of the
  // projection that had written into the residual stream just before it.
  launch_layernorm_backward(dres, in(dres), g.ln2w, g.ln2b, g.attprojb, in(dln), in(a.mid), p.ln2w,
                            a.ln2_mean, a.ln2_rstd, rows_, c_, scratch_.data(), s);
  matmul_.backward_weight(g.attprojw, in(dres), in(a.att), rows_, c_, c_, s, accumulate);
  matmul_.backward_input(dln, in(dres), p.attprojw, rows_, c_, c_, s);
  if constexpr (std::is_same_v<T, bf16>) {
    if (cudnn_) {
      cudnn_->backward(dwide, dln, a.qkv, a.att, a.lse, options_.batch, options_.sequence, config.heads,
                       config.head_size(), s);
    }
  }
  if (!cudnn_) {
    launch_attention_backward(dwide, in(dln), in(a.qkv), in(a.att), a.lse, options_.batch, options_.sequence,
                              config.heads, config.head_size(), scratch_.data(), s);
  }
  weight_and_bias_gradient(g.qkvw, g.qkvb, dwide, a.ln1, 3 * c_, accumulate, qkv_bias_fused_[accumulate]);
  matmul_.backward_input(dln, in(dwide), p.qkvw, rows_, c_, 3 * c_, s);
  float* below = l > 0 ? layer_tensors(gradients_.data(), layout_, l - 1).fcprojb : nullptr;
  launch_layernorm_backward(dres, in(dres), g.ln1w, g.ln1b, below, in(dln), in(a.residual), p.ln1w,
                            a.ln1_mean, a.ln1_rstd, rows_, c_, scratch_.data(), s);
}

template <typename T>
void GpuModelOf<T>::backward(const std::int32_t* inputs, bool accumulate) {
  cudaStream_t s = stream_.get();
  const ModelConfig& config = options_.config;
  const int vp = config.padded_vocab;
  const T* dlogits = act_.logits;
  matmul_.backward_weight(gradient(Tensor::wte), dlogits, static_cast<const T*>(act_.lnf), rows_, c_, vp, s,
                          accumulate);
  matmul_.backward_input(act_.projected, dlogits, parameter(Tensor::wte), rows_, c_, vp, s);
  const auto last = layer_tensors(gradients_.data(), layout_, config.layers - 1);
  launch_layernorm_backward(act_.dresidual, static_cast<const T*>(nullptr), gradient(Tensor::lnfw),
                            gradient(Tensor::lnfb), last.fcprojb, static_cast<const T*>(act_.projected),
                            static_cast<const T*>(act_.residual_last), parameter(Tensor::lnfw), act_.lnf_mean,
                            act_.lnf_rstd, rows_, c_, scratch_.data(), s);
  for (int l = config.layers - 1; l >= 0; --l) backward_layer(l, accumulate);
  launch_encoder_backward(gradient(Tensor::wte), gradient(Tensor::wpe), static_cast<const T*>(act_.dresidual),
                          inputs, options_.batch, options_.sequence, c_, config.vocab,
                          options_.encoder_backward, scratch_.data(), s);
}

template <typename T>
void GpuModelOf<T>::optimizer_step(const OptimizerOptions& o) {
  const NvtxRange range("optimizer");
  GradientNorm* norm = &result_.data()->gradient;
  launch_global_norm(norm, gradients_.data(), layout_.total(), o.clip, scratch_.data(), stream_.get());
  std::array<WeightDecayRange, kTensorCount> ranges;
  std::size_t count = 0;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    if (!tensor_is_matrix(tensor)) continue;
    ranges[count++] = {layout_.offset(tensor), layout_.offset(tensor) + layout_.count(tensor),
                       o.weight_decay};
  }
  launch_adamw(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
               layout_.total(), std::span<const WeightDecayRange>(ranges.data(), count), o.adamw,
               stream_.get(), o.step_factors);
}

template <typename T>
void GpuModelOf<T>::evaluate(const std::int32_t* inputs, const std::int32_t* targets) {
  const NvtxRange range("evaluate");
  forward_to_logits(inputs);
  launch_classifier_loss(act_.losses, static_cast<const T*>(act_.logits), targets, rows_,
                         options_.config.vocab, options_.config.padded_vocab, stream_.get());
  launch_loss_sum(&result_.data()->loss, act_.losses, rows_, 1.0F / static_cast<float>(rows_), false,
                  stream_.get());
}

template <typename T>
std::vector<float> GpuModelOf<T>::download_parameters() const {
  stream_.synchronize();
  if constexpr (std::is_same_v<T, float>) {
    return parameters_.download();
  } else {
    return master_.download();
  }
}

template <typename T>
std::vector<float> GpuModelOf<T>::download_gradients() const {
  stream_.synchronize();
  return gradients_.download();
}

}  // namespace

MemoryPlan GpuModel::memory_plan(const GpuModelOptions& o) {
  check(o);
  const bool narrow = o.precision == Precision::kBf16;
  const std::int64_t n = ParameterLayout(o.config).total();
  MemoryPlan plan;
  plan.parameters_bytes = n * (narrow ? 2 + 4 : 4);
  plan.optimizer_bytes = n * 3 * 4;
  plan.activations_bytes = narrow ? activation_bytes<bf16>(o) : activation_bytes<float>(o);
  plan.workspace_bytes = scratch_bytes(o) + bias_gradient_scratch_bytes(4 * o.config.channels) +
                         static_cast<std::int64_t>(o.matmul.workspace_bytes);
  return plan;
}

std::unique_ptr<GpuModel> GpuModel::create(const GpuModelOptions& options) {
  check(options);
  GpuModelOptions o = options;
  o.matmul.fp32_math = o.precision == Precision::kTf32 ? Fp32Math::tf32 : Fp32Math::fp32;
  if (o.precision == Precision::kBf16) return std::make_unique<GpuModelOf<bf16>>(o);
  return std::make_unique<GpuModelOf<float>>(o);
}

}  // namespace ridgeline::gpt2
