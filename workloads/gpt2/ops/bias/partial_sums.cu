// partial_sums.cu: target[c] += sum over b of partials[b * stride + c], for a list of such sums in one launch
// shapes  partials (blocks, stride) FP32, the first `columns` of each row used; target (columns) FP32
// bytes   (blocks + 2) * columns * 4 a sum
// flops   blocks * columns a sum
// check   |gpu-ref| <= 1e-6 * sum of magnitudes; a non-finite mismatch fails
// bound   latency; DRAM when many sums wait
#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/reduce.cuh"
#include "gpt2/ops/bias/partial_sums.h"

namespace ridgeline::gpt2 {

template <typename Real>
void add_partials_cpu(Real* target, const Real* partials, int blocks, std::int64_t stride, int columns) {
  for (int b = 0; b < blocks; ++b) {
    for (int c = 0; c < columns; ++c) target[c] += partials[b * stride + c];
  }
}

namespace {

struct PendingTable {
  PartialSum sums[PartialSums::kMaxPending];
};
static_assert(sizeof(PendingTable) <= 4000, "kernel parameters end at 4 KiB");

// One block: 32 columns of one sum, blockIdx.y. A thread adds every 32nd row, then the slices are added.
constexpr int kSlices = 32;
__global__ void __launch_bounds__(kWarpSize* kSlices)
    add_partials_kernel(const __grid_constant__ PendingTable table) {
  __shared__ float shared[kSlices][kWarpSize + 1];
  const PartialSum& sum = table.sums[blockIdx.y];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kWarpSize + x;
  if (static_cast<int>(blockIdx.x) * kWarpSize >= sum.columns) return;  // the whole block
  float part = 0.0F;
  if (column < sum.columns) {
#pragma unroll 8
    for (int b = y; b < sum.blocks; b += kSlices) part += sum.partials[b * sum.stride + column];
  }
  shared[y][x] = part;
  __syncthreads();
  if (y != 0 || column >= sum.columns) return;
  float total = 0.0F;
#pragma unroll
  for (int slice = 0; slice < kSlices; ++slice) total += shared[slice][x];
  sum.target[column] += total;
}

}  // namespace

PartialSums::PartialSums(void* device_memory, std::int64_t bytes)
    : memory_(static_cast<float*>(device_memory)), capacity_(bytes / std::int64_t{sizeof(float)}) {
  pending_.reserve(kMaxPending);
}

float* PartialSums::reserve(std::int64_t count, int sums, cudaStream_t stream) {
  const std::int64_t rounded = ceil_div(count, 4) * 4;
  if (rounded > capacity_ || sums > kMaxPending) {
    throw std::invalid_argument("PartialSums::reserve: " + std::to_string(count) + " floats for " +
                                std::to_string(sums) + " sums, of " + std::to_string(capacity_) + " for " +
                                std::to_string(kMaxPending));
  }
  if (used_ + rounded > capacity_ || static_cast<int>(pending_.size()) + sums > kMaxPending) flush(stream);
  float* room = memory_ + used_;
  used_ += rounded;
  return room;
}

void PartialSums::flush(cudaStream_t stream) {
  used_ = 0;
  if (pending_.empty()) return;
  PendingTable table{};
  OpCost cost;
  int columns = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const PartialSum& sum = pending_[i];
    table.sums[i] = sum;
    columns = std::max(columns, sum.columns);
    cost.bytes += partial_sum_bytes(sum.blocks, sum.columns);
    cost.flops += partial_sum_flops(sum.blocks, sum.columns);
  }
  const NvtxRange range("partial_sums", cost);
  const dim3 grid(static_cast<unsigned>(ceil_div(columns, kWarpSize)),
                  static_cast<unsigned>(pending_.size()));
  pending_.clear();
  add_partials_kernel<<<grid, dim3(kWarpSize, kSlices), 0, stream>>>(table);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void add_partials_cpu(float*, const float*, int, std::int64_t, int);
template void add_partials_cpu(double*, const double*, int, std::int64_t, int);

}  // namespace ridgeline::gpt2
