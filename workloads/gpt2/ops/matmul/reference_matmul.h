// reference_matmul.h: GEMMs with bias on the CPU, the yardstick for the GPU matmuls.
#pragma once

#include <cstdint>

namespace ridgeline::gpt2 {

/// out (N,OC) = inp (N,C) * weight (OC,C)^T + bias (OC); bias may be null. Real is float or double.
template <typename Real>
void matmul_forward_cpu(Real* out, const Real* inp, const Real* weight, const Real* bias, std::int64_t rows,
                        int channels, int out_channels);
/// dinp (N,C) is written (null: skipped); dweight (OC,C) and dbias (OC) accumulate (null: skipped).
template <typename Real>
void matmul_backward_cpu(Real* dinp, Real* dweight, Real* dbias, const Real* dout, const Real* inp,
                         const Real* weight, std::int64_t rows, int channels, int out_channels);

}  // namespace ridgeline::gpt2
