#include "gpt2/ops/matmul/reference_matmul.h"

#include "gpt2/common/parallel_parts.h"

namespace ridgeline::gpt2 {

template <typename Real>
void matmul_forward_cpu(Real* out, const Real* inp, const Real* weight, const Real* bias, std::int64_t rows,
                        int channels, int out_channels) {
  for_parts(rows, std::int64_t{channels} * out_channels, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (int o = 0; o < out_channels; ++o) {
        Real sum = bias != nullptr ? bias[o] : Real{0};
        for (int c = 0; c < channels; ++c) {
          sum += inp[n * channels + c] * weight[static_cast<std::int64_t>(o) * channels + c];
        }
        out[n * out_channels + o] = sum;
      }
    }
  });
}

template <typename Real>
void matmul_backward_cpu(Real* dinp, Real* dweight, Real* dbias, const Real* dout, const Real* inp,
                         const Real* weight, std::int64_t rows, int channels, int out_channels) {
  if (dinp != nullptr) {
    for_parts(rows, std::int64_t{channels} * out_channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        Real* dinp_row = dinp + n * channels;
        for (int c = 0; c < channels; ++c) dinp_row[c] = Real{0};
        for (int o = 0; o < out_channels; ++o) {
          const Real d = dout[n * out_channels + o];
          const Real* weight_row = weight + static_cast<std::int64_t>(o) * channels;
          for (int c = 0; c < channels; ++c) dinp_row[c] += d * weight_row[c];
        }
      }
    });
  }
  if (dweight == nullptr && dbias == nullptr) return;
  // By rows of the weight, each of which adds up in the order of the input's rows.
  for_parts(out_channels, rows * channels, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = 0; n < rows; ++n) {
      const Real* inp_row = inp + n * channels;
      for (std::int64_t o = begin; o < end; ++o) {
        const Real d = dout[n * out_channels + o];
        if (dbias != nullptr) dbias[o] += d;
        if (dweight == nullptr) continue;
        for (int c = 0; c < channels; ++c) dweight[o * channels + c] += d * inp_row[c];
      }
    }
  });
}

template void matmul_forward_cpu(float*, const float*, const float*, const float*, std::int64_t, int, int);
template void matmul_forward_cpu(double*, const double*, const double*, const double*, std::int64_t, int,
                                 int);
template void matmul_backward_cpu(float*, float*, float*, const float*, const float*, const float*,
                                  std::int64_t, int, int);
template void matmul_backward_cpu(double*, double*, double*, const double*, const double*, const double*,
                                  std::int64_t, int, int);

}  // namespace ridgeline::gpt2
