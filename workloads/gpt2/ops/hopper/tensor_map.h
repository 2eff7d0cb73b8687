// tensor_map.h: tensors of bfloat16 and of bytes as Hopper's copy engine sees them.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2::hopper {

/// Columns of every box: 128 bytes of BF16 or 64 bytes, the span that the swizzle of that width permutes.
constexpr int kBoxColumns = 64;

/// A row-major matrix in boxes of box_rows x kBoxColumns, swizzled.
CUtensorMap tensor_map(const bf16* matrix, std::int64_t rows, std::int64_t columns, int box_rows);
CUtensorMap tensor_map(const std::uint8_t* matrix, std::int64_t rows, std::int64_t columns, int box_rows);

/// A tensor (B, T, heads, head_size) in boxes of box_rows positions x kBoxColumns of one head,
/// swizzled. Coordinates, innermost first: column, head, position, batch. Positions beyond T arrive
/// as zeros and are not stored.
CUtensorMap heads_map(const bf16* tensor, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                      std::int64_t head_size, int box_rows);
CUtensorMap heads_map(const std::uint8_t* tensor, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                      std::int64_t head_size, int box_rows);

/// The same tensor transposed, (heads, head_size, B, T), T a multiple of 16, in boxes of kBoxColumns columns
/// of a head x as many positions, swizzled. Coordinates, innermost first: position, batch, column, head.
CUtensorMap transposed_heads_map(const std::uint8_t* tensor, std::int64_t batch, std::int64_t seq,
                                 std::int64_t heads, std::int64_t head_size);

}  // namespace ridgeline::gpt2::hopper
