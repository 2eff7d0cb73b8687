// activations.h: what the forward pass keeps for the backward pass, carved out of one allocation.
//
// Layer l reads residual(l), which is also what its ln1 normalised. The outputs of attproj and fcproj live
// only until the residual + layernorm kernel that follows, so that they share the backward pass's scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/config.h"

namespace ridgeline::gpt2 {

// Hands out 256-byte aligned pieces of one buffer; with no buffer yet it only counts.
class Arena {
 public:
  explicit Arena(std::byte* base = nullptr) : base_(base) {}

  template <typename E>
  E* take(std::int64_t count) {
    const std::int64_t begin = used_;
    used_ += (count * static_cast<std::int64_t>(sizeof(E)) + 255) / 256 * 256;
    return base_ == nullptr ? nullptr : reinterpret_cast<E*>(base_ + begin);
  }
  std::int64_t used_bytes() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

template <typename T>
struct LayerActivations {
  T* residual = nullptr;  // (B,T,C): what enters the layer
  T* ln1 = nullptr;       // (B,T,C)
  T* qkv = nullptr;       // (B,T,3,NH,HS)
  T* att = nullptr;       // (B,T,C)
  T* mid = nullptr;       // (B,T,C): residual + attention
  T* ln2 = nullptr;       // (B,T,C)
  T* fch = nullptr;       // (B,T,4C): the argument of the GELU
  T* gelu = nullptr;      // (B,T,4C)
  float* ln1_mean = nullptr;
  float* ln1_rstd = nullptr;  // (B,T)
  float* ln2_mean = nullptr;
  float* ln2_rstd = nullptr;  // (B,T)
  float* lse = nullptr;       // (B,NH,T)
};

template <typename T>
struct Activations {
  std::vector<LayerActivations<T>> layers;
  T* residual_last = nullptr;  // (B,T,C): what the last layer leaves
  T* lnf = nullptr;            // (B,T,C)
  float* lnf_mean = nullptr;
  float* lnf_rstd = nullptr;  // (B,T)
  T* logits = nullptr;        // (B,T,Vp), then the gradient of the logits
  float* losses = nullptr;    // (B,T)

  // Scratch of both passes.
  T* projected = nullptr;  // (B,T,C): output of attproj or fcproj; backward: gradient of a layernorm's output
  T* dresidual = nullptr;  // (B,T,C): gradient on the residual stream
  T* dwide = nullptr;      // (B,T,4C): gradient of fch or of qkv

  Activations() = default;
  Activations(Arena& arena, const ModelConfig& config, std::int64_t batch, std::int64_t sequence) {
    const std::int64_t rows = batch * sequence;
    const std::int64_t c = config.channels;
    for (int l = 0; l < config.layers; ++l) {
      LayerActivations<T> a;
      a.residual = arena.take<T>(rows * c);
      a.ln1 = arena.take<T>(rows * c);
      a.qkv = arena.take<T>(rows * 3 * c);
      a.att = arena.take<T>(rows * c);
      a.mid = arena.take<T>(rows * c);
      a.ln2 = arena.take<T>(rows * c);
      a.fch = arena.take<T>(rows * 4 * c);
      a.gelu = arena.take<T>(rows * 4 * c);
      a.ln1_mean = arena.take<float>(rows);
      a.ln1_rstd = arena.take<float>(rows);
      a.ln2_mean = arena.take<float>(rows);
      a.ln2_rstd = arena.take<float>(rows);
      a.lse = arena.take<float>(rows * config.heads);
      layers.push_back(a);
    }
    residual_last = arena.take<T>(rows * c);
    lnf = arena.take<T>(rows * c);
    lnf_mean = arena.take<float>(rows);
    lnf_rstd = arena.take<float>(rows);
    logits = arena.take<T>(rows * config.padded_vocab);
    losses = arena.take<float>(rows);
    projected = arena.take<T>(rows * c);
    dresidual = arena.take<T>(rows * c);
    dwide = arena.take<T>(rows * 4 * c);
  }
};

}  // namespace ridgeline::gpt2
