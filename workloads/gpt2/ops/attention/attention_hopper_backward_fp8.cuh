// attention_hopper_backward_fp8.cuh: dqkv in E5M2 by those of the backward kernel who have it in registers:
// as rows, and transposed. For attention_hopper_backward.cu alone.
//
// A warpgroup stages 64 x 64 bytes both ways, where bfloat16 rows would have been, and the copy engine stores them.
#pragma once

#include <cstdint>

#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/fp8/fp8.cuh"

namespace ridgeline::gpt2::hopper {

constexpr std::uint32_t kFp8Bytes = kPanel * kPanel;  // of 64 x 64 values, one way

/// What a thread knows of the tensor.
struct Fp8Gradients {
  float scale;
  float largest = 0.0F;  // of the magnitudes it has stored, scaled

  template <bool kFp8>
  __device__ static Fp8Gradients begin(const Fp8Scale& of) {
    return {kFp8 ? *of.scale : 0.0F};
  }
  template <bool kFp8>
  __device__ void commit(const Fp8Scale& of, int lane) const {
    if constexpr (kFp8) commit_warp_amax(of.amax, largest / scale, lane);
  }
};

/// A warpgroup's accumulators of 64 x 64 values, times `factor` and the scale: their rows at `along`, their columns at
/// `across`, in lines of 64 bytes whose 16-byte pieces are exclusive-or (line / 2) % 4.
__device__ inline void stage_fp8(Fp8Gradients& fp8, std::uint32_t along, std::uint32_t across,
                                 const float (&d)[32], float factor, int warp, int lane) {
  const auto row = static_cast<std::uint32_t>(lane) / 4;
  const auto pair = static_cast<std::uint32_t>(lane) % 4;
  const auto of_warp = static_cast<std::uint32_t>(warp);
  const std::uint32_t to_row = along + (16 * of_warp + row) * kPanel + (row / 2 % 4 << 4) + 2 * pair;
  const std::uint32_t to_column = across + 2 * pair * kPanel + ((of_warp ^ pair) << 4) + row;
  const float scaled = factor * fp8.scale;
#pragma unroll
  for (std::uint32_t j = 0; j < 8; ++j) {
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
      const float x = d[4 * j + 2 * half] * scaled;
      const float y = d[4 * j + 2 * half + 1] * scaled;
      fp8.largest = fmaxf(fp8.largest, fmaxf(fabsf(x), fabsf(y)));
      const std::uint32_t bytes = fp8_pair<Fp8Format::e5m2>(x, y);
      store_shared_two_bytes((to_row ^ (j / 2 << 4)) + 8 * half * kPanel + j % 2 * 8, bytes);
      store_shared_byte(to_column + 8 * j * kPanel + 8 * half, bytes & 0xffU);
      store_shared_byte(to_column + (8 * j + 1) * kPanel + 8 * half, bytes >> 8);
    }
  }
}

/// Has the copy engine store 64 positions of a head from there. One thread.
__device__ inline void store_fp8_gradient(const BackwardMaps& maps, std::uint32_t rows, std::uint32_t columns,
                                          int head, int position, int batch) {
  tma_store_heads(&maps.fp8_rows, rows, 0, head, position, batch);
  tma_store_heads(&maps.fp8_columns, columns, position, batch, 0, head);
}

}  // namespace ridgeline::gpt2::hopper
