// activations.h: what the forward pass keeps for the backward pass, carved out of one allocation, and the scratch of
// both.
//
// Layer l reads residual(l), which is also what its ln1 normalised. The outputs of attproj and fcproj, unless
// these add them to the residual stream themselves, live only until the residual addition that follows, so
// that they share the backward pass's scratch.
// What the backward pass computes again (recompute) lives in scratch that this pass has no other use for: the
// GELU in wide, the layernorms' outputs forward in stream, backward in narrow. What scratch holds at a time is
// scratch.h's to check.
//
// In FP8 a tensor is multiplied as it is at once, and transposed in the backward pass: what is kept of the
// inputs of a layer's GEMMs are the transposed bytes; the others live in scratch until the GEMM has
// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/switches.h"
#include "gpt2/libs/attention_unfused.h"
#include "gpt2/model/config.h"
#include "gpt2/model/scratch.h"
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
  template <typename E>
  Matrix<E> take(std::int64_t rows, std::int64_t columns) {
    return {take<E>(rows * columns), rows, columns};
  }
  Scratch take_scratch(std::int64_t bytes) { return {take<std::byte>(bytes), bytes}; }
  std::int64_t used_bytes() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

using Bytes = Matrix<std::uint8_t>;

/// A field without data is not kept, but for those that say where it lies instead.
template <typename T>
struct LayerActivations {
  Matrix<T> residual;  // (B*T,C): what enters the layer
  Matrix<T> ln1;  // (B*T,C); recompute 2: in scratch until the next layernorm; not in FP8, nor ln2 and gelu
  Matrix<T> qkv;  // (B*T,3C), as (B,T,3,NH,HS); unfused attention: in scratch until it has run
  Matrix<T> att;  // (B*T,C)
  Matrix<T> mid;  // (B*T,C): residual + attention
  Matrix<T> ln2;  // (B*T,C); as ln1
  Matrix<T> fch;  // (B*T,4C): the argument of the GELU
  Bytes gelu_slope;  // (B*T,4C): with GeluKind::own in place of fch (gelu_slope.h)
  Matrix<T> gelu;    // (B*T,4C); recompute 1: in scratch until fcproj has run
  float* ln1_mean = nullptr;
  float* ln1_rstd = nullptr;  // (B*T)
  float* ln2_mean = nullptr;
  float* ln2_rstd = nullptr;  // (B*T)
  float* lse = nullptr;       // (B,NH,T); fused attention only
  /// FP8 only: transposed inputs of the four linear layers, and with Fp8Hidden::fp8 what fch is otherwise.
  Bytes ln1_transposed;   // (C,B*T)
  Bytes att_transposed;   // (C,B*T)
  Bytes ln2_transposed;   // (C,B*T)
  Bytes gelu_transposed;  // (4C,B*T)
  Bytes fch_fp8;          // (B*T,4C)
  /// Unfused attention only.
  T* heads = nullptr;          // (3,B,NH,T,HS): q, k, v head by head
  T* probabilities = nullptr;  // (B,NH,T,T)
};

template <typename T>
struct Activations {
  std::vector<LayerActivations<T>> layers;
  Matrix<T> residual_last;  // (B*T,C): what the last layer leaves
  Matrix<T> lnf;            // (B*T,C)
  float* lnf_mean = nullptr;
  float* lnf_rstd = nullptr;   // (B*T)
  Scratch logits;              // (B*T,Vp), then their gradient; in FP8, that transposed
  float* losses = nullptr;     // (B*T)
  Bytes dlogits;               // (B*T,Vp), with the classifier's GEMMs in FP8
  Bytes lnf_transposed;        // (C,B*T), then too
  float* log_probs = nullptr;  // (B*T,Vp), with the classifier in separate steps only

  /// Scratch of both passes, of (B*T,C), (B*T,C) and (B*T,4C).
  Scratch narrow;                  // a projection; backward: the gradient of a layernorm's output
  Scratch stream;                  // the gradient on the residual stream
  Scratch wide;                    // the gradient of gelu, fch or qkv
  T* attention_scratch = nullptr;  // unfused attention only
  /// FP8 only: what the next GEMMs multiply, and gradients transposed.
  Scratch narrow_operand;   // (B*T,C)
  Bytes narrow_transposed;  // (C,B*T)
  Scratch wide_operand;     // (B*T,4C)
  Bytes wide_transposed;    // (4C,B*T)

  Activations() = default;
  Activations(Arena& arena, const ModelConfig& config, std::int64_t batch, std::int64_t sequence,
              const Switches& switches) {
    const std::int64_t rows = batch * sequence;
    const std::int64_t c = config.channels;
    const std::int64_t heads = config.heads;
    const std::int64_t head_size = config.head_size();
    const std::int64_t element = sizeof(T);
    const bool unfused = switches.attention == AttentionKind::unfused;
    narrow = arena.take_scratch(rows * c * element);
    stream = arena.take_scratch(rows * c * element);
    wide = arena.take_scratch(rows * 4 * c * element);
    const bool fp8 = switches.precision == Precision::fp8;
    if (fp8) {
      narrow_operand = arena.take_scratch(rows * c);
      narrow_transposed = arena.take<std::uint8_t>(c, rows);
      wide_operand = arena.take_scratch(rows * 4 * c);
      wide_transposed = arena.take<std::uint8_t>(4 * c, rows);
    }
    if (unfused) {
      attention_scratch =
          arena.take<T>(unfused_attention_scratch_elements(batch, sequence, heads, head_size));
    }
    for (int l = 0; l < config.layers; ++l) {
      LayerActivations<T> a;
      a.residual = arena.take<T>(rows, c);
      if (fp8) {
        a.ln1_transposed = arena.take<std::uint8_t>(c, rows);
        a.att_transposed = arena.take<std::uint8_t>(c, rows);
        a.ln2_transposed = arena.take<std::uint8_t>(c, rows);
        a.gelu_transposed = arena.take<std::uint8_t>(4 * c, rows);
      } else {
        if (switches.recompute < 2) a.ln1 = arena.take<T>(rows, c);
        if (switches.recompute < 2) a.ln2 = arena.take<T>(rows, c);
        if (switches.recompute < 1) a.gelu = arena.take<T>(rows, 4 * c);
      }
      if (!unfused) a.qkv = arena.take<T>(rows, 3 * c);
      a.att = arena.take<T>(rows, c);
      a.mid = arena.take<T>(rows, c);
      if (switches.fp8_hidden == Fp8Hidden::fp8) {
        a.fch_fp8 = arena.take<std::uint8_t>(rows, 4 * c);
      } else if (switches.gelu == GeluKind::own && switches.precision == Precision::bf16) {
        a.gelu_slope = arena.take<std::uint8_t>(rows, 4 * c);
      } else {
        a.fch = arena.take<T>(rows, 4 * c);
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
    residual_last = arena.take<T>(rows, c);
    lnf = arena.take<T>(rows, c);
    lnf_mean = arena.take<float>(rows);
    lnf_rstd = arena.take<float>(rows);
    logits = arena.take_scratch(rows * config.padded_vocab * element);
    losses = arena.take<float>(rows);
    if (switches.fp8_classifier == Fp8Classifier::all) {
      dlogits = arena.take<std::uint8_t>(rows, config.padded_vocab);
      lnf_transposed = arena.take<std::uint8_t>(c, rows);
    }
    if (switches.classifier == ClassifierKind::separate) {
      log_probs = arena.take<float>(log_probs_size(rows, config.padded_vocab));
    }
  }
};

}  // namespace ridgeline::gpt2
