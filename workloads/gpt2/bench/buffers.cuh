// buffers.cuh: device memory of the benchmarks: several buffers of one kind in turn, with random values.
#pragma once

#include <algorithm>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/launch.h"
#include "gpt2/libs/device_fill.h"

namespace ridgeline::gpt2::bench {

/// Use number i takes the i-th in turn.
template <typename T>
class Rotating {
 public:
  Rotating(std::int64_t size, int count, float deviation = 1.0F) {
    for (int i = 0; i < count; ++i) {
      buffers_.emplace_back(size);
      launch_fill_normal(buffers_.back().data(), size, deviation, static_cast<std::uint64_t>(i + 1), nullptr);
    }
  }
  T* operator[](int i) { return buffers_[static_cast<std::size_t>(i) % buffers_.size()].data(); }

 private:
  std::vector<DeviceBuffer<T>> buffers_;
};

__global__ inline void random_tokens_kernel(std::int32_t* tokens, std::int64_t n, unsigned vocab) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = static_cast<unsigned>(i) * 0x9e3779b9U + 77U;
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  // The probability of rank r falls about as 1/r, as in text.
  const float u = static_cast<float>((x ^ (x >> 16)) >> 8) * 0x1p-24F;
  tokens[i] = static_cast<std::int32_t>(min(expf(u * logf(static_cast<float>(vocab))), vocab - 1.0F));
}
inline DeviceBuffer<std::int32_t> random_tokens(std::int64_t n, int vocab) {
  DeviceBuffer<std::int32_t> tokens(n);
  random_tokens_kernel<<<static_cast<unsigned>(ceil_div(n, 256)), 256>>>(tokens.data(), n,
                                                                         static_cast<unsigned>(vocab));
  RIDGELINE_CUDA_CHECK_LAUNCH();
  return tokens;
}

}  // namespace ridgeline::gpt2::bench
