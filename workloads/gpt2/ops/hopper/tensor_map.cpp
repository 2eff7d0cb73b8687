#include "gpt2/ops/hopper/tensor_map.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "gpt2/common/cuda_check.h"

namespace ridgeline::gpt2::hopper {
namespace {

// Of a tensor of `rank` dimensions, innermost first; strides of all but the innermost. A box of kBoxColumns is swizzled
// by its whole width.
CUtensorMap encode(const void* tensor, CUtensorMapDataType type, int rank, const cuuint64_t* sizes,
                   const cuuint64_t* strides_bytes, const cuuint32_t* box) {
  // Through the runtime, so that the program does not link the driver's library.
  static const auto function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    RIDGELINE_CUDA_CHECK(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) {
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
    }
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  const cuuint32_t element_strides[4] = {1, 1, 1, 1};
  CUtensorMap map{};
  const CUtensorMapSwizzle swizzle =
      type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B;
  const CUresult result =
      function(&map, type, static_cast<cuuint32_t>(rank), const_cast<void*>(tensor), sizes, strides_bytes,
               box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::string shape;
    for (int i = rank - 1; i >= 0; --i) shape += std::to_string(sizes[i]) + (i > 0 ? " x " : "");
    throw std::runtime_error("cuTensorMapEncodeTiled failed with " + std::to_string(result) +
                             " for a tensor of " + shape);
  }
  return map;
}

CUtensorMap tensor_map_of(const void* matrix, CUtensorMapDataType type, std::int64_t element_bytes,
                          std::int64_t rows, std::int64_t columns, int box_rows) {
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides_bytes[1] = {static_cast<cuuint64_t>(columns * element_bytes)};
  const cuuint32_t box[2] = {kBoxColumns, static_cast<cuuint32_t>(box_rows)};
  return encode(matrix, type, 2, sizes, strides_bytes, box);
}

CUtensorMap heads_map_of(const void* tensor, CUtensorMapDataType type, std::int64_t element_bytes,
                         std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t head_size,
                         int box_rows) {
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(head_size), static_cast<cuuint64_t>(heads),
                               static_cast<cuuint64_t>(seq), static_cast<cuuint64_t>(batch)};
  const cuuint64_t head_bytes = static_cast<cuuint64_t>(head_size * element_bytes);
  const cuuint64_t row_bytes = static_cast<cuuint64_t>(heads) * head_bytes;
  const cuuint64_t strides_bytes[3] = {head_bytes, row_bytes, static_cast<cuuint64_t>(seq) * row_bytes};
  const cuuint32_t box[4] = {kBoxColumns, 1, static_cast<cuuint32_t>(box_rows), 1};
  return encode(tensor, type, 4, sizes, strides_bytes, box);
}

}  // namespace

CUtensorMap tensor_map(const bf16* matrix, std::int64_t rows, std::int64_t columns, int box_rows) {
  return tensor_map_of(matrix, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(bf16), rows, columns, box_rows);
}

CUtensorMap tensor_map(const std::uint8_t* matrix, std::int64_t rows, std::int64_t columns, int box_rows) {
  return tensor_map_of(matrix, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, rows, columns, box_rows);
}

CUtensorMap heads_map(const bf16* tensor, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                      std::int64_t head_size, int box_rows) {
  return heads_map_of(tensor, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(bf16), batch, seq, heads, head_size,
                      box_rows);
}

CUtensorMap heads_map(const std::uint8_t* tensor, std::int64_t batch, std::int64_t seq, std::int64_t heads,
                      std::int64_t head_size, int box_rows) {
  return heads_map_of(tensor, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, batch, seq, heads, head_size, box_rows);
}

CUtensorMap transposed_heads_map(const std::uint8_t* tensor, std::int64_t batch, std::int64_t seq,
                                 std::int64_t heads, std::int64_t head_size) {
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(seq), static_cast<cuuint64_t>(batch),
                               static_cast<cuuint64_t>(head_size), static_cast<cuuint64_t>(heads)};
  const cuuint64_t column_bytes = static_cast<cuuint64_t>(batch) * static_cast<cuuint64_t>(seq);
  const cuuint64_t strides_bytes[3] = {static_cast<cuuint64_t>(seq), column_bytes,
                                       static_cast<cuuint64_t>(head_size) * column_bytes};
  const cuuint32_t box[4] = {kBoxColumns, 1, kBoxColumns, 1};
  return encode(tensor, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, sizes, strides_bytes, box);
}

}  // namespace ridgeline::gpt2::hopper
