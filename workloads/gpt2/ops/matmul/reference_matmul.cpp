#include "gpt2/ops/matmul/reference_matmul.h"

namespace ridgeline::gpt2 {

template <typename Real>
void matmul_forward_cpu(Real* out, const Real* inp, const Real* weight, const Real* bias, std::int64_t rows,
                        int channels, int out_channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (int o = 0; o < out_channels; ++o) {
      Real sum = bias != nullptr ? bias[o] : Real{0};
      for (int c = 0; c < channels; ++c) {
        sum += inp[n * channels + c] * weight[static_cast<std::int64_t>(o) * channels + c];
      }
      out[n * out_channels + o] = sum;
    }
  }
}

template <typename Real>
void matmul_backward_cpu(Real* dinp, Real* dweight, Real* dbias, const Real* dout, const Real* inp,
                         const Real* weight, std::int64_t rows, int channels, int out_channels) {
  for (std::int64_t n = 0; n < rows; ++n) {
    const Real* dout_row = dout + n * out_channels;
    const Real* inp_row = inp + n * channels;
    Real* dinp_row = dinp != nullptr ? dinp + n * channels : nullptr;
    if (dinp_row != nullptr) {
      for (int c = 0; c < channels; ++c) dinp_row[c] = Real{0};
    }
    for (int o = 0; o < out_channels; ++o) {
      const Real d = dout_row[o];
      const std::int64_t weight_row = static_cast<std::int64_t>(o) * channels;
      if (dbias != nullptr) dbias[o] += d;
      for (int c = 0; c < channels; ++c) {
        if (dinp_row != nullptr) dinp_row[c] += d * weight[weight_row + c];
        if (dweight != nullptr) dweight[weight_row + c] += d * inp_row[c];
      }
    }
  }
}

template void matmul_forward_cpu(float*, const float*, const float*, const float*, std::int64_t, int, int);
template void matmul_forward_cpu(double*, const double*, const double*, const double*, std::int64_t, int,
                                 int);
template void matmul_backward_cpu(float*, float*, float*, const float*, const float*, const float*,
                                  std::int64_t, int, int);
template void matmul_backward_cpu(double*, double*, double*, const double*, const double*, const double*,
                                  std::int64_t, int, int);

}  // namespace ridgeline::gpt2
