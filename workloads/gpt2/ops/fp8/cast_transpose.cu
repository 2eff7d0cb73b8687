// cast_transpose.cu: out, out^T = fp8(f(inp)) for f = identity, GELU, or GELU's derivative times dout
// shapes  inp,dout (R,C) bf16 (weights: (tensors,R,C) FP32; GELU also of one byte), out (R,C) and out^T (C,R) of one
//         byte; dbias (C) FP32; R and C multiples of 16
// bytes   R*C*(2*inputs + 2), of inputs in bytes R*C*(inputs + 2), weights R*C*6; with a bias gradient 8*C more
// flops   R*C; GELU 8*R*C more, its derivative 16*R*C; a bias gradient R*C; an argument in bytes R*C
// check   each value within half a step of its format (a step where GELU's fast exponential decides) of the FP64
//         reference times the scale; the transposed copy is the same bytes; amax and sums as FP32 has them
// bound   DRAM
//
// transpose_tile.h divides the work: a thread transposes 16 x 8 bytes in its registers. Shared memory has
// only a table of what GELU, or its derivative, makes of each byte.
#include <stdexcept>
#include <string>

#include "gpt2/common/nvtx.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/fp8/cast_kernel.cuh"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace ridgeline::gpt2 {
namespace {

__device__ inline void transpose_piece(std::uint8_t* transposed, const std::uint8_t* inp, std::int64_t rows,
                                       std::int64_t columns, const TransposeTile& tile) {
  if (tile.row >= rows || tile.column >= columns) return;
  const std::uint8_t* from = inp + tile.row * columns + tile.column;
  uint2 x[kTransposeRows];
#pragma unroll
  for (int r = 0; r < kTransposeRows; ++r) x[r] = __ldg(reinterpret_cast<const uint2*>(from + r * columns));
  std::uint32_t turned[8][kTransposeRows / 4];
#pragma unroll
  for (int four = 0; four < kTransposeRows; four += 4) {
    std::uint32_t low[4] = {x[four].x, x[four + 1].x, x[four + 2].x, x[four + 3].x};
    std::uint32_t high[4] = {x[four].y, x[four + 1].y, x[four + 2].y, x[four + 3].y};
    transpose_bytes(low);
    transpose_bytes(high);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      turned[k][four / 4] = low[k];
      turned[4 + k][four / 4] = high[k];
    }
  }
  std::uint8_t* column = transposed + tile.column * rows + tile.row;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    *reinterpret_cast<uint4*>(column + k * rows) =
        make_uint4(turned[k][0], turned[k][1], turned[k][2], turned[k][3]);
  }
}

__global__ void __launch_bounds__(kTransposeBlock, 3)
    fp8_transpose_kernel(std::uint8_t* transposed, const std::uint8_t* inp, std::int64_t rows,
                         std::int64_t columns, std::int64_t column_tiles) {
  transpose_piece(transposed, inp, rows, columns,
                  transpose_tile(blockIdx.x, static_cast<int>(threadIdx.x), column_tiles));
}

struct Transposes {
  Fp8Transpose of[kFp8TransposesAtOnce];
  std::int64_t column_tiles[kFp8TransposesAtOnce];
  unsigned end[kFp8TransposesAtOnce];  // the first block that is not the tensor's
};

__global__ void __launch_bounds__(kTransposeBlock, 3)
    fp8_transposes_kernel(const __grid_constant__ Transposes all) {
  int at = 0;
  unsigned begin = 0;
#pragma unroll
  for (int i = 0; i + 1 < static_cast<int>(kFp8TransposesAtOnce); ++i) {
    if (blockIdx.x < all.end[i]) break;
    begin = all.end[i];
    at = i + 1;
  }
  const Fp8Transpose& tensor = all.of[at];
  transpose_piece(tensor.transposed, tensor.inp, tensor.rows, tensor.columns,
                  transpose_tile(blockIdx.x - begin, static_cast<int>(threadIdx.x), all.column_tiles[at]));
}

void check(const char* what, const Fp8Output& out, const void* inp, const void* dout, std::int64_t rows,
           std::int64_t columns) {
  const bool aligned =
      is_aligned_16(out.data) && is_aligned_16(out.transposed) && is_aligned_16(inp) && is_aligned_16(dout);
  if (fp8_size_supported(rows, columns) && aligned) return;
  throw std::invalid_argument(
      std::string(what) + " (" + std::to_string(rows) + ", " + std::to_string(columns) + ")" +
      (aligned ? ": sizes must be multiples of 16" : ": a tensor is not aligned to 16 bytes"));
}

template <typename T, Fp8Format kFormat, CastFunction kFunction, bool kSums>
void launch(const Fp8Output& out, float* partials, const T* inp, const T* dout, std::int64_t tensors,
            std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  launch_cast<UsualForm<T, kFunction>, T, kFormat, kFunction, kSums>(out, partials, {inp}, {dout}, tensors,
                                                                     rows, columns, stream);
}

void add_sums(PartialSums& sums, float* dbias, const float* partials, std::int64_t rows,
              std::int64_t columns) {
  sums.add(
      {dbias, partials, columns, static_cast<int>(transpose_row_tiles(rows)), static_cast<int>(columns)});
}

}  // namespace

std::int64_t fp8_partial_sums(std::int64_t rows, std::int64_t columns) {
  return transpose_row_tiles(rows) * columns;
}

void launch_fp8_cast(const Fp8Output& out, Fp8Format format, float* dbias, const bf16* inp, std::int64_t rows,
                     std::int64_t columns, PartialSums* sums, cudaStream_t stream) {
  check("fp8_cast", out, inp, nullptr, rows, columns);
  const bool bias_gradient = dbias != nullptr;
  // Before the range opens: a flush is no part of this op.
  float* partials = bias_gradient ? sums->reserve(fp8_partial_sums(rows, columns), 1, stream) : nullptr;
  const NvtxRange range("fp8_cast", {fp8_cast_bytes(rows, columns, sizeof(bf16), 1, bias_gradient),
                                     fp8_cast_flops(rows, columns, bias_gradient)});
  const bf16* none = nullptr;
  constexpr CastFunction kFunction = CastFunction::identity;
  if (format == Fp8Format::e4m3) {
    if (bias_gradient) {
      launch<bf16, Fp8Format::e4m3, kFunction, true>(out, partials, inp, none, 1, rows, columns, stream);
    } else {
      launch<bf16, Fp8Format::e4m3, kFunction, false>(out, partials, inp, none, 1, rows, columns, stream);
    }
  } else if (bias_gradient) {
    launch<bf16, Fp8Format::e5m2, kFunction, true>(out, partials, inp, none, 1, rows, columns, stream);
  } else {
    launch<bf16, Fp8Format::e5m2, kFunction, false>(out, partials, inp, none, 1, rows, columns, stream);
  }
  if (bias_gradient) add_sums(*sums, dbias, partials, rows, columns);
}

void launch_fp8_transpose(std::uint8_t* transposed, const std::uint8_t* inp, std::int64_t rows,
                          std::int64_t columns, cudaStream_t stream) {
  Fp8Output out;
  out.transposed = transposed;
  check("fp8_transpose", out, inp, nullptr, rows, columns);
  const NvtxRange range("fp8_transpose", {fp8_transpose_bytes(rows, columns), 0});
  const std::int64_t column_tiles = transpose_column_tiles(columns);
  fp8_transpose_kernel<<<static_cast<unsigned>(column_tiles * transpose_row_tiles(rows)), kTransposeBlock, 0,
                         stream>>>(transposed, inp, rows, columns, column_tiles);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_transpose(std::span<const Fp8Transpose> tensors, cudaStream_t stream) {
  if (tensors.size() > kFp8TransposesAtOnce) throw std::invalid_argument("fp8_transpose: too many tensors");
  Transposes all{};
  unsigned blocks = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < kFp8TransposesAtOnce; ++i) {
    if (i < tensors.size()) {
      const Fp8Transpose& tensor = tensors[i];
      Fp8Output out;
      out.transposed = tensor.transposed;
      check("fp8_transpose", out, tensor.inp, nullptr, tensor.rows, tensor.columns);
      all.of[i] = tensor;
      all.column_tiles[i] = transpose_column_tiles(tensor.columns);
      blocks += static_cast<unsigned>(all.column_tiles[i] * transpose_row_tiles(tensor.rows));
      bytes += fp8_transpose_bytes(tensor.rows, tensor.columns);
    }
    all.end[i] = blocks;
  }
  const NvtxRange range("fp8_transpose", {bytes, 0});
  if (blocks == 0) return;
  fp8_transposes_kernel<<<blocks, kTransposeBlock, 0, stream>>>(all);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_cast_weights(const Fp8Output& out, const float* inp, std::int64_t tensors,
                             std::int64_t stride, std::int64_t rows, std::int64_t columns,
                             cudaStream_t stream) {
  check("fp8_cast_weights", out, inp, nullptr, rows, columns);
  if (out.scale.amax != nullptr)
    throw std::invalid_argument("fp8_cast_weights: scales are current, amax is not taken");
  const NvtxRange range("fp8_cast_weights", {tensors * fp8_cast_bytes(rows, columns, sizeof(float), 1, false),
                                             tensors * fp8_cast_flops(rows, columns, false)});
  launch_cast<UsualForm<float, CastFunction::identity>, float, Fp8Format::e4m3, CastFunction::identity,
              false>(out, nullptr, {inp, stride}, {}, tensors, rows, columns, stream);
}

void launch_fp8_gelu(const Fp8Output& out, const bf16* inp, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream) {
  check("fp8_gelu", out, inp, nullptr, rows, columns);
  const NvtxRange range("fp8_gelu",
                        {fp8_cast_bytes(rows, columns, sizeof(bf16), 1, false),
                         fp8_cast_flops(rows, columns, false) + gelu_forward_flops(rows * columns)});
  const bf16* none = nullptr;
  launch<bf16, Fp8Format::e4m3, CastFunction::gelu, false>(out, nullptr, inp, none, 1, rows, columns, stream);
}

void launch_fp8_gelu(const Fp8Output& out, const Fp8Input& inp, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream) {
  check("fp8_gelu", out, inp.data, nullptr, rows, columns);
  const NvtxRange range("fp8_gelu", {fp8_cast_bytes(rows, columns, 1, 1, false),
                                     fp8_cast_flops(rows, columns, false) + rows * columns +
                                         gelu_forward_flops(rows * columns)});
  launch_cast<UsualForm<std::uint8_t, CastFunction::gelu>, std::uint8_t, Fp8Format::e4m3, CastFunction::gelu,
              false>(out, nullptr, {inp}, {}, 1, rows, columns, stream);
}

void launch_fp8_gelu_backward(const Fp8Output& out, float* dbias, const bf16* inp, const bf16* dout,
                              std::int64_t rows, std::int64_t columns, PartialSums& sums,
                              cudaStream_t stream) {
  check("fp8_gelu_backward", out, inp, dout, rows, columns);
  float* partials = sums.reserve(fp8_partial_sums(rows, columns), 1, stream);
  const NvtxRange range("fp8_gelu_backward",
                        {fp8_cast_bytes(rows, columns, sizeof(bf16), 2, true),
                         fp8_cast_flops(rows, columns, true) + gelu_backward_flops(rows * columns)});
  launch<bf16, Fp8Format::e5m2, CastFunction::gelu_backward, true>(out, partials, inp, dout, 1, rows, columns,
                                                                   stream);
  add_sums(sums, dbias, partials, rows, columns);
}

void launch_fp8_gelu_backward(const Fp8Output& out, float* dbias, const Fp8Input& inp, const Fp8Input& dout,
                              std::int64_t rows, std::int64_t columns, PartialSums& sums,
                              cudaStream_t stream) {
  check("fp8_gelu_backward", out, inp.data, dout.data, rows, columns);
  float* partials = sums.reserve(fp8_partial_sums(rows, columns), 1, stream);
  const NvtxRange range("fp8_gelu_backward", {fp8_cast_bytes(rows, columns, 1, 2, true),
                                              fp8_cast_flops(rows, columns, true) + rows * columns +
                                                  gelu_backward_flops(rows * columns)});
  launch_cast<UsualForm<std::uint8_t, CastFunction::gelu_backward>, std::uint8_t, Fp8Format::e5m2,
              CastFunction::gelu_backward, true>(out, partials, {inp}, {dout}, 1, rows, columns, stream);
  add_sums(sums, dbias, partials, rows, columns);
}

}  // namespace ridgeline::gpt2
