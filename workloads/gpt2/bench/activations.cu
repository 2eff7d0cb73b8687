// The kernels on activations, in BF16 and FP32, 128 bits and one element per access. "written" before a row: its last
// input is written just before, as in a step, and the time and bytes of that are part of the row. Partial sums are
// added once for many launches, as in the trainer.
#include "gpt2/bench/bench.h"
#include "gpt2/bench/buffers.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2::bench {
namespace {

constexpr std::int64_t kSumsBytes = std::int64_t{40} << 20;  // as the trainer has

template <typename T>
void narrow(Bench& bench) {
  const Settings& s = bench.settings();
  const std::int64_t n = s.rows();
  const int c = s.channels;
  const std::int64_t size = n * c;
  const std::int64_t bytes = size * std::int64_t{sizeof(T)};
  constexpr int kSets = 4;
  Rotating<T> a(size, kSets), b(size, kSets), x(size, kSets), d(size, kSets), weight(c, 1), bias(c, 1);
  Rotating<float> mean(n, kSets), rstd(n, kSets), dweight(c, 1), dbias(c, 1), colsum(c, 1);
  DeviceBuffer<char> memory(kSumsBytes);
  PartialSums sums(memory.data(), memory.size_bytes());
  const std::string type = std::string(" ") + dtype_name<T>();
  bench.add("copy" + type, 2 * bytes, 0, [&](int i, cudaStream_t st) {
    RIDGELINE_CUDA_CHECK(
        cudaMemcpyAsync(a[i], b[i], static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, st));
  });
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    const std::string what = type + (width == KernelWidth::scalar ? " scalar" : "");
    const auto forward = [&, width](int i, cudaStream_t st) {
      launch_residual_layernorm_forward(a[i], d[i], mean[i], rstd[i], b[i], x[i], weight[i], bias[i], n, c,
                                        st, width);
    };
    const auto backward = [&, width](int i, cudaStream_t st) {
      launch_layernorm_backward(a[i], a[i], dweight[i], dbias[i], colsum[i], d[i], x[i], weight[i], mean[i],
                                rstd[i], n, c, sums, st, width);
    };
    bench.add(
        "residual_forward" + what, residual_forward_bytes<T>(size), residual_forward_flops(size),
        [&, width](int i, cudaStream_t st) { launch_residual_forward(a[i], b[i], x[i], size, st, width); });
    bench.add("layernorm_forward" + what, layernorm_forward_bytes<T>(n, c), layernorm_forward_flops(n, c),
              [&, width](int i, cudaStream_t st) {
                launch_layernorm_forward(a[i], mean[i], rstd[i], b[i], weight[i], bias[i], n, c, st, width);
              });
    bench.add("residual_layernorm_forward" + what, residual_layernorm_forward_bytes<T>(n, c),
              residual_layernorm_forward_flops(n, c), forward);
    bench.add("layernorm_backward, column sums" + what, layernorm_backward_bytes<T>(n, c),
              layernorm_backward_flops(n, c), backward);
    bench.add("bias_gradient C" + what, bias_gradient_bytes<T>(n, c), bias_gradient_flops(n, c),
              [&, width](int i, cudaStream_t st) {
                launch_bias_gradient(dbias[i], b[i], n, c, c, sums, st, width);
              });
    if (width == KernelWidth::scalar) continue;
    bench.add("written residual_layernorm_forward" + what, bytes + residual_layernorm_forward_bytes<T>(n, c),
              residual_layernorm_forward_flops(n, c), [&, forward](int i, cudaStream_t st) {
                launch_zero(x[i], bytes, st);
                forward(i, st);
              });
    bench.add("written layernorm_backward, column sums" + what, bytes + layernorm_backward_bytes<T>(n, c),
              layernorm_backward_flops(n, c), [&, backward](int i, cudaStream_t st) {
                launch_zero(d[i], bytes, st);
                backward(i, st);
              });
  }
  bench.measure();
}

template <typename T>
void wide(Bench& bench) {
  const std::int64_t n = bench.settings().rows();
  const int c = 4 * bench.settings().channels;
  const std::int64_t size = n * c;
  Rotating<T> a(size, 2), b(size, 2);
  Rotating<float> dbias(c, 1);
  DeviceBuffer<char> memory(kSumsBytes);
  PartialSums sums(memory.data(), memory.size_bytes());
  const std::string type = std::string(" ") + dtype_name<T>();
  for (const KernelWidth width : {KernelWidth::packed, KernelWidth::scalar}) {
    const std::string what = type + (width == KernelWidth::scalar ? " scalar" : "");
    bench.add("gelu_forward 4C" + what, gelu_forward_bytes<T>(size), gelu_forward_flops(size),
              [&, width](int i, cudaStream_t st) { launch_gelu_forward(a[i], b[i], size, st, width); });
    bench.add(
        "gelu_backward 4C" + what, gelu_backward_bytes<T>(size), gelu_backward_flops(size),
        [&, width](int i, cudaStream_t st) { launch_gelu_backward(a[i], b[i], a[i], size, st, width); });
    bench.add("bias_gradient 4C" + what, bias_gradient_bytes<T>(n, c), bias_gradient_flops(n, c),
              [&, width](int i, cudaStream_t st) {
                launch_bias_gradient(dbias[i], b[i], n, c, c, sums, st, width);
              });
  }
  bench.add(
      "gelu_bias_backward 4C" + type, gelu_bias_backward_bytes<T>(n, c), gelu_bias_backward_flops(n, c),
      [&](int i, cudaStream_t st) { launch_gelu_bias_backward(a[i], dbias[i], b[i], a[i], n, c, sums, st); });
  bench.add("bias_gradient 4C naive" + type, bias_gradient_bytes<T>(n, c), bias_gradient_flops(n, c),
            [&](int i, cudaStream_t st) { launch_bias_gradient_naive(dbias[i], b[i], n, c, st); });
  bench.measure();
}

}  // namespace

void bench_activations(Bench& bench) {
  narrow<bf16>(bench);
  narrow<float>(bench);
  wide<bf16>(bench);
  wide<float>(bench);
}

}  // namespace ridgeline::gpt2::bench
