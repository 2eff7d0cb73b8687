// cast_transpose.h: tensors stored as FP8 in both orientations at once, with what can be computed on the way: GELU, its
// derivative, a bias gradient.
//
// cuBLASLt multiplies FP8 on Hopper only where both operands lie along the sum: the forward GEMM and the one for
// the input's gradient take a tensor as it is, the one for the weight's gradient takes it transposed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpt2/common/dtype.h"
#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

class PartialSums;

/// Where a tensor goes: (rows, columns), and transposed (columns, rows), which launch_fp8_cast leaves out where it is
/// null. Both aligned to 16 bytes.
struct Fp8Output {
  std::uint8_t* data = nullptr;
  std::uint8_t* transposed = nullptr;
  Fp8Scale scale;
};

/// A tensor in FP8 as a kernel reads it: a value is its byte times `*inverse`. Aligned to 16 bytes.
struct Fp8Input {
  const std::uint8_t* data = nullptr;
  const float* inverse = nullptr;
  /// What the GEMM that wrote the tensor found to be its largest magnitude: the kernel adds it to `amax` by atomic
  /// maximum, which a GEMM itself would overwrite. `amax` null: nothing is added.
  const float* found = nullptr;
  std::uint32_t* amax = nullptr;
};

constexpr std::int64_t fp8_cast_bytes(std::int64_t rows, std::int64_t columns,
                                      std::int64_t input_element_bytes, int inputs, bool bias_gradient) {
  return rows * columns * (inputs * input_element_bytes + 2) +
         (bias_gradient ? 2 * columns * std::int64_t{sizeof(float)} : 0);
}
/// The scaling; with a bias gradient its additions.
constexpr std::int64_t fp8_cast_flops(std::int64_t rows, std::int64_t columns, bool bias_gradient) {
  return rows * columns * (bias_gradient ? 2 : 1);
}

/// Floats of partial sums that one bias gradient leaves.
std::int64_t fp8_partial_sums(std::int64_t rows, std::int64_t columns);

/// All throw std::invalid_argument unless fp8_size_supported(rows, columns) and every tensor is aligned to 16 bytes.
/// out = inp, in `format`. dbias (columns) FP32 += column sums of inp, complete when `sums` has been flushed;
/// null: none, and sums stays as it is.
void launch_fp8_cast(const Fp8Output& out, Fp8Format format, float* dbias, const bf16* inp, std::int64_t rows,
                     std::int64_t columns, PartialSums* sums, cudaStream_t stream);

/// The bytes of inp (rows, columns) transposed, whatever their format. Sizes and alignment as above.
constexpr std::int64_t fp8_transpose_bytes(std::int64_t rows, std::int64_t columns) {
  return 2 * rows * columns;
}
void launch_fp8_transpose(std::uint8_t* transposed, const std::uint8_t* inp, std::int64_t rows,
                          std::int64_t columns, cudaStream_t stream);

/// Several in one launch, for tensors too small to fill a device; at most kFp8TransposesAtOnce, or
/// std::invalid_argument.
struct Fp8Transpose {
  std::uint8_t* transposed = nullptr;
  const std::uint8_t* inp = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
inline constexpr std::size_t kFp8TransposesAtOnce = 4;
void launch_fp8_transpose(std::span<const Fp8Transpose> tensors, cudaStream_t stream);

/// out = inp in E4M3, of `tensors` tensors: those of inp `stride` elements apart, a multiple of 4, those of out one
/// after the other. out.scale.scale has one per tensor; no amax.
void launch_fp8_cast_weights(const Fp8Output& out, const float* inp, std::int64_t tensors,
                             std::int64_t stride, std::int64_t rows, std::int64_t columns,
                             cudaStream_t stream);

/// out = GELU(inp) in E4M3. An inp in FP8 is in E4M3 too.
void launch_fp8_gelu(const Fp8Output& out, const bf16* inp, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream);
void launch_fp8_gelu(const Fp8Output& out, const Fp8Input& inp, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream);

/// out = dout * GELU'(inp) in E5M2; dbias (columns) FP32 += its column sums before rounding, as above. In
/// FP8, inp is in E4M3 and dout in E5M2.
void launch_fp8_gelu_backward(const Fp8Output& out, float* dbias, const bf16* inp, const bf16* dout,
                              std::int64_t rows, std::int64_t columns, PartialSums& sums,
                              cudaStream_t stream);
void launch_fp8_gelu_backward(const Fp8Output& out, float* dbias, const Fp8Input& inp, const Fp8Input& dout,
                              std::int64_t rows, std::int64_t columns, PartialSums& sums,
                              cudaStream_t stream);

}  // namespace ridgeline::gpt2
