// linear_gemms.h: the three bare GEMMs of a linear layer, whichever library computes them. Shapes,
// bytes and FLOPs are those of matmul.h; nothing is fused to them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/libs/matmul.h"

namespace ridgeline::gpt2 {

/// T is float or __nv_bfloat16. Pointers are device memory, aligned to 16 bytes. One thread, one stream.
template <class T>
class LinearGemms {
 public:
  LinearGemms() = default;
  LinearGemms(const LinearGemms&) = delete;
  LinearGemms& operator=(const LinearGemms&) = delete;
  virtual ~LinearGemms() = default;

  /// out (N, OC) = inp (N, C) x weight (OC, C)^T
  virtual void forward(T* out, const T* inp, const T* weight, std::int64_t n, std::int64_t c, std::int64_t oc,
                       cudaStream_t stream) = 0;
  /// dinp (N, C) = dout (N, OC) x weight (OC, C)
  virtual void backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                              std::int64_t oc, cudaStream_t stream) = 0;
  /// dweight (OC, C) FP32 = or += dout (N, OC)^T x inp (N, C)
  virtual void backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n, std::int64_t c,
                               std::int64_t oc, cudaStream_t stream, bool accumulate) = 0;
};

/// Through cuBLASLt, with the algorithms that `matmul` finds; it must outlive this.
template <class T>
class CublasLtGemms final : public LinearGemms<T> {
 public:
  explicit CublasLtGemms(Matmul& matmul) : matmul_(matmul) {}

  void forward(T* out, const T* inp, const T* weight, std::int64_t n, std::int64_t c, std::int64_t oc,
               cudaStream_t stream) override {
    matmul_.forward(out, inp, weight, static_cast<const T*>(nullptr), n, c, oc, stream);
  }
  void backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                      std::int64_t oc, cudaStream_t stream) override {
    matmul_.backward_input(dinp, dout, weight, n, c, oc, stream);
  }
  void backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n, std::int64_t c,
                       std::int64_t oc, cudaStream_t stream, bool accumulate) override {
    matmul_.backward_weight(dweight, dout, inp, n, c, oc, stream, accumulate);
  }

 private:
  Matmul& matmul_;
};

}  // namespace ridgeline::gpt2
