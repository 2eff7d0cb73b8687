// products.h: GEMMs on the tensor pipe by cuBLASLt, on random data.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ceilings/core/machine_file.h"
#include "ceilings/core/plan.h"
#include "ceilings/device/bench.h"

namespace ridgeline::ceilings {

/// cuBLASLt's handle and memory for the operands of the largest shape. Not for several threads at once.
class Gemms {
 public:
  /// Throws std::runtime_error if cuBLASLt does not start.
  Gemms(const DeviceFacts& device, const std::vector<Shape>& shapes, cudaStream_t stream);
  ~Gemms();
  Gemms(const Gemms&) = delete;
  Gemms& operator=(const Gemms&) = delete;

  /// Benchmarks of D = A·B, A and B of `precision` ("bf16", "fp16", "tf32", "fp8", "int8", "fp64_tensor"), with
  /// the algorithms that cuBLASLt proposes for the shape, its best guess first. Empty: the GPU has no such
  /// product. `counted`: as for chains.
  [[nodiscard]] std::vector<Bench> candidates(const std::string& precision, const Shape& shape,
                                              double counted);

 private:
  struct State;
  std::unique_ptr<State> state_;
  const DeviceFacts& device_;
};

}  // namespace ridgeline::ceilings
