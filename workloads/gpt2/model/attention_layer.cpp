#include "gpt2/model/attention_layer.h"

#include <type_traits>

#include "gpt2/common/dtype.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"

namespace ridgeline::gpt2 {

template <typename T>
Attention<T>::Attention(const GpuModelOptions& options, CublasHandle* cublas, std::byte* scratch,
                        cudaStream_t stream)
    : options_(options), scratch_(scratch), stream_(stream) {
  if (options.switches.attention == AttentionKind::unfused) {
    unfused_.emplace(*cublas, options.matmul.fp32_math);
  }
  if (options.switches.attention == AttentionKind::cudnn) {
    cudnn_.emplace(options.switches.deterministic);
    cudnn_->prepare(options.batch, options.sequence, options.config.heads, options.config.head_size());
  }
}

template <typename T>
void Attention<T>::forward(const LayerActivations<T>& a, const T* qkv, Activations<T>& act) {
  const int b = options_.batch, t = options_.sequence;
  const int nh = options_.config.heads, hs = options_.config.head_size();
  if (unfused_) {
    unfused_->forward(a.att.data, a.heads, a.probabilities, qkv, act.attention_scratch, shape(), stream_);
    return;
  }
  if constexpr (std::is_same_v<T, bf16>) {  // the others have no FP32
    if (cudnn_) {
      cudnn_->forward(a.att.data, a.lse, qkv, b, t, nh, hs, stream_);
      return;
    }
    if (options_.switches.attention == AttentionKind::hopper) {
      launch_hopper_attention_forward(a.att.data, a.lse, qkv, b, t, nh, hs, stream_);
      return;
    }
  }
  launch_attention_forward(a.att.data, a.lse, qkv, b, t, nh, hs, stream_);
}

template <typename T>
void Attention<T>::backward(T* dqkv, const T* dout, const LayerActivations<T>& a, Activations<T>& act) {
  const int b = options_.batch, t = options_.sequence;
  const int nh = options_.config.heads, hs = options_.config.head_size();
  const T* heads = a.heads;
  const T* probabilities = a.probabilities;
  const T* qkv = a.qkv.data;
  const T* att = a.att.data;
  if (unfused_) {
    unfused_->backward(dqkv, dout, heads, probabilities, act.attention_scratch, shape(), stream_);
    return;
  }
  if constexpr (std::is_same_v<T, bf16>) {
    if (cudnn_) {
      cudnn_->backward(dqkv, dout, qkv, att, a.lse, b, t, nh, hs, stream_);
      return;
    }
    if (options_.switches.attention == AttentionKind::hopper) {
      launch_hopper_attention_backward(dqkv, dout, qkv, att, a.lse, b, t, nh, hs, scratch_,
                                       options_.switches.deterministic, stream_);
      return;
    }
  }
  launch_attention_backward(dqkv, dout, qkv, att, a.lse, b, t, nh, hs, scratch_, stream_);
}

template class Attention<float>;
template class Attention<bf16>;

}  // namespace ridgeline::gpt2
