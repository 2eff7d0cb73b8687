// activations.h: what the forward pass keeps for the backward pass, carved out of one allocation.
//
// Layer l reads residual(l), which is also what its ln1 normalised. The outputs of attproj and fcproj, unless
// these add them to the residual stream themselves, live only until the residual addition that follows, so
// that they share the backward pass's scratch.
// What the backward pass computes again (recompute) lives in scratch that this pass has no other use for: the
// GELU in dwide, the layernorms' outputs forward in dresidual, backward in projected.
//
// In FP8 a tensor is multiplied as it is at once, and transposed in the backward pass: what is kept of the
// inputs of a layer's products are the transposed bytes; the others live in scratch until the product has
// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/switches.h"
#include "gpt2/libs/attention_unfused.h"
#include "gpt2/model/config.h"
#include "gpt2/ops/loss/cross_entropy.h"

namespace ridgeline::gpt2 {

/// Hands out 256-byte aligned pieces of one buffer; with no buffer yet it only counts.
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
  T* ln1 = nullptr;  // (B,T,C); recompute 2: valid until the next layernorm; not in FP8, nor ln2 and gelu
  T* qkv = nullptr;  // (B,T,3,NH,HS); unfused attention: valid until it has run
  T* att = nullptr;  // (B,T,C)
  T* mid = nullptr;  // (B,T,C): residual + attention
  T* ln2 = nullptr;  // (B,T,C); as ln1
  T* fch = nullptr;  // (B,T,4C): the argument of the GELU
  std::uint8_t* gelu_slope = nullptr;  // (B,T,4C): with GeluKind::own in place of fch (gelu_slope.h)
  T* gelu = nullptr;                   // (B,T,4C); recompute 1: valid until fcproj has run
  float* ln1_mean = nullptr;
  float* ln1_rstd = nullptr;  // (B,T)
  float* ln2_mean = nullptr;
  float* ln2_rstd = nullptr;  // (B,T)
  float* lse = nullptr;       // (B,NH,T); fused attention only
  /// FP8 only: transposed inputs of the four linear layers, and with Fp8Hidden::fp8 what fch is otherwise.
  std::uint8_t* ln1_transposed = nullptr;   // (C,B,T)
  std::uint8_t* att_transposed = nullptr;   // (C,B,T)
  std::uint8_t* ln2_transposed = nullptr;   // (C,B,T)
  std::uint8_t* gelu_transposed = nullptr;  // (4C,B,T)
  std::uint8_t* fch_fp8 = nullptr;          // (B,T,4C)
  /// Unfused attention only.
  T* heads = nullptr;          // (3,B,NH,T,HS): q, k, v head by head
  T* probabilities = nullptr;  // (B,NH,T,T)
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
  std::uint8_t* dlogits =
      nullptr;  // (B,T,Vp), with the classifier's products in FP8; transposed it lies in logits
  std::uint8_t* lnf_transposed = nullptr;  // (C,B,T), then too
  float* log_probs = nullptr;              // (B,T,Vp), with the classifier in separate steps only

  /// Scratch of both passes.
  T* projected = nullptr;  // (B,T,C): output of attproj or fcproj; backward: gradient of a layernorm's output
  T* dresidual = nullptr;  // (B,T,C): gradient on the residual stream
  T* dwide = nullptr;      // (B,T,4C): gradient of gelu, fch or qkv
  T* attention_scratch = nullptr;  // unfused attention only
  /// FP8 only: what the next products multiply.
  std::uint8_t* narrow =
      nullptr;  // (B,T,C): a layernorm's output, att, or the gradient on the residual stream
  std::uint8_t* narrow_transposed = nullptr;  // (C,B,T): of the latter
  std::uint8_t* wide = nullptr;               // (B,T,4C): gelu, or the gradient of fch or of qkv
  std::uint8_t* wide_transposed = nullptr;    // (4C,B,T): of the latter

  Activations() = default;
  Activations(Arena& arena, const ModelConfig& config, std::int64_t batch, std::int64_t sequence,
              const Switches& switches) {
    const std::int64_t rows = batch * sequence;
    const std::int64_t c = config.channels;
    const std::int64_t heads = config.heads;
    const std::int64_t head_size = config.head_size();
    const bool unfused = switches.attention == AttentionKind::unfused;
    projected = arena.take<T>(rows * c);
    dresidual = arena.take<T>(rows * c);
    dwide = arena.take<T>(rows * 4 * c);
    const bool fp8 = switches.precision == Precision::fp8;
    if (fp8) {
      narrow = arena.take<std::uint8_t>(rows * c);
      narrow_transposed = arena.take<std::uint8_t>(rows * c);
      wide = arena.take<std::uint8_t>(rows * 4 * c);
      wide_transposed = arena.take<std::uint8_t>(rows * 4 * c);
    }
    if (unfused) {
      attention_scratch =
          arena.take<T>(unfused_attention_scratch_elements(batch, sequence, heads, head_size));
    }
    for (int l = 0; l < config.layers; ++l) {
      LayerActivations<T> a;
      a.residual = arena.take<T>(rows * c);
      if (fp8) {
        a.ln1_transposed = arena.take<std::uint8_t>(rows * c);
        a.att_transposed = arena.take<std::uint8_t>(rows * c);
        a.ln2_transposed = arena.take<std::uint8_t>(rows * c);
        a.gelu_transposed = arena.take<std::uint8_t>(rows * 4 * c);
      } else {
        a.ln1 = switches.recompute >= 2 ? dresidual : arena.take<T>(rows * c);
        a.ln2 = switches.recompute >= 2 ? dresidual : arena.take<T>(rows * c);
        a.gelu = switches.recompute >= 1 ? dwide : arena.take<T>(rows * 4 * c);
      }
      a.qkv = unfused ? dwide : arena.take<T>(rows * 3 * c);
      a.att = arena.take<T>(rows * c);
      a.mid = arena.take<T>(rows * c);
      if (switches.fp8_hidden == Fp8Hidden::fp8) {
        a.fch_fp8 = arena.take<std::uint8_t>(rows * 4 * c);
      } else if (switches.gelu == GeluKind::own && switches.precision == Precision::bf16) {
        a.gelu_slope = arena.take<std::uint8_t>(rows * 4 * c);
      } else {
        a.fch = arena.take<T>(rows * 4 * c);
      }
      a.ln1_mean = arena.take<float>(rows);
      a.ln1_rstd = arena.take<float>(rows);
      a.ln2_mean = arena.take<float>(rows);
      a.ln2_rstd = arena.take<float>(rows);
      if (unfused) {
        a.heads = arena.take<T>(unfused_attention_heads_elements(batch, sequence, heads, head_size));
        a.probabilities = arena.take<T>(unfused_attention_score_elements(batch, sequence, heads));
      } else {
        a.lse = arena.take<float>(rows * heads);
      }
      layers.push_back(a);
    }
    residual_last = arena.take<T>(rows * c);
    lnf = arena.take<T>(rows * c);
    lnf_mean = arena.take<float>(rows);
    lnf_rstd = arena.take<float>(rows);
    logits = arena.take<T>(rows * config.padded_vocab);
    losses = arena.take<float>(rows);
    if (switches.fp8_classifier == Fp8Classifier::all) {
      dlogits = arena.take<std::uint8_t>(rows * config.padded_vocab);
      lnf_transposed = arena.take<std::uint8_t>(rows * c);
    }
    if (switches.classifier == ClassifierKind::separate) {
      log_probs = arena.take<float>(log_probs_size(rows, config.padded_vocab));
    }
  }
};

}  // namespace ridgeline::gpt2
