// value_bias_gradient.h: the gradient of the values' bias in attention, from that of the projection after attention.
//
// A row of probabilities sums to 1, so that the column sums of dV are those of attention's incoming gradient. That is
// the projection's incoming gradient times its weight, and so are its column sums: the projection's bias gradient times
// its weight. The column sums of dK are zero, since a row of score gradients sums to 0: a bias of the keys
// adds the same to all scores of a query, which softmax does not see. So only dQ has columns to be summed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// dqkvb[l][2][c] = sum over o of dprojb[l][o] * projw[l][o][c].  dqkvb (L,3,C), dprojb (L,C), projw (L,C,C). Written,
/// not accumulated; queries' and keys' parts are left as they are. Real is float or double.
template <typename Real>
void value_bias_gradient_cpu(Real* dqkvb, const Real* dprojb, const Real* projw, int layers, int channels);

template <typename T>
constexpr std::int64_t value_bias_gradient_bytes(std::int64_t layers, std::int64_t channels) {
  return layers * channels * (channels * std::int64_t{sizeof(T)} + 2 * std::int64_t{sizeof(float)});
}
constexpr std::int64_t value_bias_gradient_flops(std::int64_t layers, std::int64_t channels) {
  return 2 * layers * channels * channels;
}

/// How many elements one layer's tensors begin after those of the layer before.
struct LayerStrides {
  std::int64_t dqkvb;
  std::int64_t dprojb;
  std::int64_t projw;
};

/// Any C; in a fixed order: the same bits in every run.
template <typename T>
void launch_value_bias_gradient(float* dqkvb, const float* dprojb, const T* projw, int layers,
                                const LayerStrides& strides, int channels, cudaStream_t stream);

}  // namespace ridgeline::gpt2
