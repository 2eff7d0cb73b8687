#include "tiers/eviction.h"

namespace ridgeline::agent {

bool Eviction::prepare(std::string* why) noexcept {
  if (ready()) return true;
  if (!driver_.complete()) {
    *why = "the driver lacks the calls that evict the caches";
    return false;
  }
  RelaxedCapture relaxed(driver_);
  CUdevice device = 0;
  int cache_bytes = 0;
  if (driver_.ctx_get_device(&device) != CUDA_SUCCESS ||
      driver_.device_get_attribute(&cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device) != CUDA_SUCCESS ||
      cache_bytes <= 0) {
    *why = "the size of the L2 cache is not known";
    return false;
  }
  const std::size_t chunks =
      (kCacheSizes * static_cast<std::size_t>(cache_bytes) + kChunkBytes - 1) / kChunkBytes;
  const CUresult first = driver_.mem_alloc(&sink_, kChunkBytes);
  const CUresult second = first == CUDA_SUCCESS ? driver_.mem_alloc(&buffer_, chunks * kChunkBytes) : first;
  if (second != CUDA_SUCCESS) {
    if (first == CUDA_SUCCESS) driver_.mem_free(sink_);
    forget();
    *why = "no device memory is left to evict the caches with (" +
           std::to_string((chunks + 1) * kChunkBytes >> 20) + " MiB, CUDA error " +
           std::to_string(static_cast<int>(second)) + ")";
    return false;
  }
  chunks_ = chunks;
  return true;
}

bool Eviction::evict(CUstream stream) noexcept {
  RelaxedCapture relaxed(driver_);
  for (std::size_t i = 0; i < chunks_; ++i)
    if (driver_.memcpy_dtod_async(sink_, buffer_ + i * kChunkBytes, kChunkBytes, stream) != CUDA_SUCCESS)
      return false;
  return true;
}

void Eviction::release() noexcept {
  if (!ready()) return;
  RelaxedCapture relaxed(driver_);
  driver_.mem_free(buffer_);
  driver_.mem_free(sink_);
  forget();
}

}  // namespace ridgeline::agent
