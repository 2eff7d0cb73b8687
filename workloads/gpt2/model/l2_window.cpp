#include "gpt2/model/l2_window.h"

#include <algorithm>

#include "gpt2/common/cuda_check.h"
#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {

L2Limits set_l2_aside() {
  int device = 0, persisting = 0, window = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&persisting, cudaDevAttrMaxPersistingL2CacheSize, device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, device));
  if (persisting <= 0 || window <= 0) {
    throw InputError("--l2-persist: this GPU sets no part of its L2 cache aside; use --l2-persist none");
  }
  RIDGELINE_CUDA_CHECK(
      cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(persisting)));
  return {.persisting_bytes = persisting, .window_bytes = window};
}

cudaAccessPolicyWindow l2_window(const void* data, std::int64_t bytes, const L2Limits& limits) {
  cudaAccessPolicyWindow window{};
  const std::int64_t covered = std::min(bytes, limits.window_bytes);
  window.base_ptr = const_cast<void*>(data);
  window.num_bytes = static_cast<std::size_t>(covered);
  window.hitRatio = covered <= limits.persisting_bytes
                        ? 1.0F
                        : static_cast<float>(limits.persisting_bytes) / static_cast<float>(covered);
  window.hitProp = cudaAccessPropertyPersisting;
  window.missProp = cudaAccessPropertyNormal;
  return window;
}

L2Window::L2Window(cudaStream_t stream, const void* data, std::int64_t bytes, const L2Limits& limits)
    : stream_(limits.window_bytes > 0 ? stream : nullptr) {
  if (stream_ == nullptr) return;
  cudaStreamAttrValue value{};
  value.accessPolicyWindow = l2_window(data, bytes, limits);
  RIDGELINE_CUDA_CHECK(cudaStreamSetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &value));
}

L2Window::~L2Window() {
  if (stream_ == nullptr) return;
  cudaStreamAttrValue none{};  // a window of no bytes
  RIDGELINE_CUDA_CHECK_NOEXCEPT(
      cudaStreamSetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &none));
}

}  // namespace ridgeline::gpt2
