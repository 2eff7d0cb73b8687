// encoder.h: token and position embedding, the first op of the forward pass and the last of the backward.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// out[b,t,:] = wte[tokens[b,t],:] + wpe[t,:].  out (B,T,C), tokens (B,T), wte (>=V,C), wpe (>=T,C).
/// Tokens must lie in [0, V): the data loader checks them, the kernels do not.
/// Real is float or double.
template <typename Real>
void encoder_forward_cpu(Real* out, const std::int32_t* tokens, const Real* wte, const Real* wpe, int batch,
                         int seq, int channels);
/// dwte and dwpe accumulate.
template <typename Real>
void encoder_backward_cpu(Real* dwte, Real* dwpe, const Real* dout, const std::int32_t* tokens, int batch,
                          int seq, int channels);

/// out written once; `distinct_tokens` rows of wte and seq rows of wpe read once. The launchers declare one
/// distinct token, since a least that depends on the tokens is not known on the host: more moves, never less.
template <typename T>
constexpr std::int64_t encoder_forward_bytes(std::int64_t batch, std::int64_t seq, std::int64_t channels,
                                             std::int64_t distinct_tokens) {
  const std::int64_t elem = sizeof(T);
  return batch * seq * (channels * elem + std::int64_t{sizeof(std::int32_t)}) +
         (distinct_tokens + seq) * channels * elem;
}
constexpr std::int64_t encoder_forward_flops(std::int64_t batch, std::int64_t seq, std::int64_t channels) {
  return batch * seq * channels;
}
/// dout read once; FP32 gradient rows read and written once: `distinct_tokens` rows of dwte, seq rows of dwpe.
template <typename T>
constexpr std::int64_t encoder_backward_bytes(std::int64_t batch, std::int64_t seq, std::int64_t channels,
                                              std::int64_t distinct_tokens) {
  return batch * seq * (channels * std::int64_t{sizeof(T)} + std::int64_t{sizeof(std::int32_t)}) +
         2 * (distinct_tokens + seq) * channels * std::int64_t{sizeof(float)};
}
constexpr std::int64_t encoder_backward_flops(std::int64_t batch, std::int64_t seq, std::int64_t channels) {
  return 2 * batch * seq * channels;
}

/// T is float or bf16.
template <typename T>
void launch_encoder_forward(T* out, const std::int32_t* tokens, const T* wte, const T* wpe, int batch,
                            int seq, int channels, cudaStream_t stream,
                            KernelWidth width = KernelWidth::packed);

enum class EncoderBackward {
  atomic,         // one kernel; FP32 atomics into dwte, so that sums over equal tokens vary in the last bits
  deterministic,  // sorts the positions by token on the device first; bit-identical from run to run
};

/// Device bytes that launch_encoder_backward needs for its scratch (16-byte aligned, contents irrelevant). The
/// deterministic mode asks the current device.
std::int64_t encoder_backward_scratch_bytes(int batch, int seq, int channels, EncoderBackward mode);

/// Accumulates into FP32 dwte (V,C) and dwpe (>=T,C). vocab <= 65536.
template <typename T>
void launch_encoder_backward(float* dwte, float* dwpe, const T* dout, const std::int32_t* tokens, int batch,
                             int seq, int channels, int vocab, EncoderBackward mode, void* scratch,
                             cudaStream_t stream, KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
