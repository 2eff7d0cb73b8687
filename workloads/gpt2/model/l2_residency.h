// l2_residency.h: which tensor L2 should keep while the ops that use it run.
//
// An access policy window covers one address range at a time, so that windows nest: the innermost holds, and
// when it ends the one around it does again. Kernels that are enqueued under a window carry it; while the
// stream is captured it is written into the captured kernel nodes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// What a device allows.
struct L2Limits {
  std::int64_t persisting_bytes = 0;  // of L2, for lines that persist; 0: none
  std::int64_t window_bytes = 0;      // the longest window
};

/// The window over `bytes` bytes at `data`: cut to the longest one; when it exceeds what may persist, only
/// that share of its lines is asked to stay, or they would evict each other.
cudaAccessPolicyWindow l2_window(const void* data, std::int64_t bytes, const L2Limits& limits);

class L2Residency {
 public:
  /// One window; ends where it leaves scope.
  class [[nodiscard]] Window {
   public:
    Window(Window&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Window& operator=(Window&&) = delete;
    ~Window() {
      if (owner_ != nullptr) owner_->pop();
    }

   private:
    friend class L2Residency;
    explicit Window(L2Residency* owner) : owner_(owner) {}
    L2Residency* owner_;
  };

  /// tensors: bits of L2Persist; 0 does nothing at all. `stream` must outlive this. Sets aside the part of L2
  /// that the current device offers; throws InputError when it offers none. The destructor gives it back.
  L2Residency(unsigned tensors, cudaStream_t stream);
  L2Residency(const L2Residency&) = delete;
  L2Residency& operator=(const L2Residency&) = delete;
  ~L2Residency();

  /// Keeps `data` if `tensor` is one of those chosen. Throws CudaError.
  Window hold(L2Persist tensor, const void* data, std::int64_t bytes);

 private:
  void push(const cudaAccessPolicyWindow& window);
  void pop() noexcept;
  /// The window in force is about to change: nodes captured under it get it.
  cudaError_t change() noexcept;
  cudaError_t apply() noexcept;

  unsigned tensors_;
  cudaStream_t stream_;
  L2Limits limits_;
  std::size_t previous_limit_bytes_ = 0;
  std::vector<cudaAccessPolicyWindow> windows_;  // innermost last
  cudaGraphNode_t marked_ = nullptr;             // the last captured node when the window in force began
};

}  // namespace ridgeline::gpt2
