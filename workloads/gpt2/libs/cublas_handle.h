// cublas_handle.h: owner of a cuBLAS handle and its workspace.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "gpt2/common/cuda_raii.h"

namespace ridgeline::gpt2 {

/// cuBLAS would allocate workspaces of its own by stream; one from here is counted in the model's memory plan
/// and can be used while a stream is captured.
class CublasHandle {
 public:
  /// What NVIDIA recommends for Hopper.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  CublasHandle();

  /// The handle, enqueuing on `stream` from now on. Calls of one object must be ordered on one stream at a
  /// time (they share the workspace); one thread.
  cublasHandle_t on(cudaStream_t stream);

 private:
  struct Deleter {
    using pointer = cublasHandle_t;
    void operator()(cublasHandle_t handle) const noexcept { cublasDestroy(handle); }
  };

  DeviceBuffer<unsigned char> workspace_;
  std::unique_ptr<cublasHandle_t, Deleter> handle_;  // destroyed before the workspace it uses
  cudaStream_t stream_ = nullptr;
  bool bound_ = false;
};

}  // namespace ridgeline::gpt2
