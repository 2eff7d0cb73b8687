// l2_window.h: asks L2 to keep one tensor while the ops that use it are enqueued.
//
// An access policy window of the stream: kernels that are launched under it carry it. Kernels of a captured step do
// not, so that it needs a step that is launched kernel by kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// What a device allows.
struct L2Limits {
  std::int64_t persisting_bytes = 0;  // of L2, for lines that persist; 0: none
  std::int64_t window_bytes = 0;      // the longest window
};

/// Sets aside the part of L2 that the current device offers, until the program ends. Throws InputError when it offers
/// none.
L2Limits set_l2_aside();

/// The window over `bytes` bytes at `data`: cut to the longest one; when it exceeds what may persist, only
/// that share of its lines is asked to stay, or they would evict each other.
cudaAccessPolicyWindow l2_window(const void* data, std::int64_t bytes, const L2Limits& limits);

/// One window of the stream, from construction to destruction. They do not nest. Limits of 0: does nothing.
class L2Window {
 public:
  L2Window(cudaStream_t stream, const void* data, std::int64_t bytes, const L2Limits& limits);
  L2Window(const L2Window&) = delete;
  L2Window& operator=(const L2Window&) = delete;
  ~L2Window();

 private:
  cudaStream_t stream_;  // null: does nothing
};

}  // namespace ridgeline::gpt2
