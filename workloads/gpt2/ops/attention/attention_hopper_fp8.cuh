// attention_hopper_fp8.cuh: attention's output in E4M3 beside bfloat16, by the consumers of the forward kernel that
// have it in registers: as rows, and transposed. For attention_hopper_forward.cu alone.
//
// The bytes are those that a cast of the stored bfloat16 values would give. A consumer stages its 64 rows x 64
// columns both ways, and writes 64 bytes of each row and of each column.
#pragma once

#include <cstdint>

#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention_hopper.cuh"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/fp8/fp8.cuh"

namespace ridgeline::gpt2::hopper {

constexpr int kFp8Pitch = 80;  // bytes from one staged row or column of 64 to the next: few share a bank
constexpr int kFp8StagingBytes = 2 * kConsumerRows * kFp8Pitch;  // of a consumer: rows, then columns

/// The 64 rows of a head from `first_row` on that this warpgroup has, of which a thread gives its pairs of columns as
/// store_matrix_x4 takes them. Rows beyond the sequence, a multiple of 16 long, are left out. Adds to `largest` the
/// magnitudes before scaling.
__device__ inline void store_fp8(const Fp8Output& fp8, float scale, float& largest, std::uint32_t staging,
                                 const std::uint32_t (&words)[16], const Problem& problem, int head,
                                 int batch, int first_row, int barrier) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int lane = thread % 32;
  const std::uint32_t columns = staging + kConsumerRows * kFp8Pitch;
  named_barrier_sync(barrier, kWarpgroup);  // what was staged before has been read
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const std::uint32_t pair = words[4 * i + w];
      const float x = __uint_as_float(pair << 16);
      const float y = __uint_as_float(pair & 0xffff0000U);
      largest = fmaxf(largest, fmaxf(fabsf(x), fabsf(y)));
      const std::uint32_t bytes = fp8_pair<Fp8Format::e4m3>(x * scale, y * scale);
      const int row = thread / 32 * 16 + lane / 4 + w % 2 * 8;
      const int column = 16 * i + w / 2 * 8 + lane % 4 * 2;
      store_shared_two_bytes(staging + static_cast<std::uint32_t>(row * kFp8Pitch + column), bytes);
      store_shared_byte(columns + static_cast<std::uint32_t>(column * kFp8Pitch + row), bytes & 0xffU);
      store_shared_byte(columns + static_cast<std::uint32_t>((column + 1) * kFp8Pitch + row), bytes >> 8);
    }
  }
  named_barrier_sync(barrier, kWarpgroup);
  const std::int64_t positions = static_cast<std::int64_t>(batch) * problem.seq + first_row;
  const std::int64_t row_bytes = static_cast<std::int64_t>(problem.heads) * kPanel;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int which = (thread + i * kWarpgroup) / 4;  // row, and column
    const int piece = thread % 4 * 16;
    const auto from = static_cast<std::uint32_t>(which * kFp8Pitch + piece);
    if (first_row + which < problem.seq) {
      *reinterpret_cast<uint4*>(fp8.data + (positions + which) * row_bytes + head * kPanel + piece) =
          load_shared_128(staging + from);
    }
    if (first_row + piece < problem.seq) {
      *reinterpret_cast<uint4*>(
          fp8.transposed + (static_cast<std::int64_t>(head) * kPanel + which) * problem.batch * problem.seq +
          positions + piece) = load_shared_128(columns + from);
    }
  }
}

}  // namespace ridgeline::gpt2::hopper
