// cuda_check.h: turn a failed CUDA runtime call into one error that names the call and the place.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace ridgeline::gpt2 {

/// A CUDA runtime call failed. `what()` is one line: the call, CUDA's name and text of the error, file:line.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line)
      : std::runtime_error(std::string(call) + " failed: " + cudaGetErrorName(code) + " (" +
                           cudaGetErrorString(code) + ") at " + file + ":" + std::to_string(line)),
        code_(code) {}

  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

inline void cuda_check(cudaError_t code, const char* call, const char* file, int line) {
  if (code != cudaSuccess) throw CudaError(code, call, file, line);
}

/// For destructors. At process exit the runtime may already be gone; that is not worth a line.
inline void cuda_check_noexcept(cudaError_t code, const char* call, const char* file, int line) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;
  std::fprintf(stderr, "%s failed: %s (%s) at %s:%d\n", call, cudaGetErrorName(code),
               cudaGetErrorString(code), file, line);
}

}  // namespace ridgeline::gpt2

// Throws CudaError unless the call succeeds.
#define RIDGELINE_CUDA_CHECK(call) ::ridgeline::gpt2::cuda_check((call), #call, __FILE__, __LINE__)

// Reports on stderr and goes on: the twin for destructors.
#define RIDGELINE_CUDA_CHECK_NOEXCEPT(call) \
  ::ridgeline::gpt2::cuda_check_noexcept((call), #call, __FILE__, __LINE__)

// After a kernel launch: bad configurations and earlier sticky errors surface here, not at the next sync.
#define RIDGELINE_CUDA_CHECK_LAUNCH() RIDGELINE_CUDA_CHECK(cudaGetLastError())
