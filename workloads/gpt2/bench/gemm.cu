// The GEMMs of a layer and of the classifier: by cuBLASLt in BF16 and FP8, the own ones with GELU in every
// configuration of the kernel, and what stands in their place without them. In sm_90a's instructions, like the latter.
#include <cmath>

#include "gpt2/bench/bench.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/matmul/hopper_matmul.cuh"
#include "gpt2/ops/matmul/hopper_matmul.h"

namespace ridgeline::gpt2::bench {
namespace {

using hopper::Gemm;

struct Layer {
  const char* name;
  std::int64_t c, oc;
};

void libraries(Bench& bench, Matmul& matmul) {
  const Settings& s = bench.settings();
  const std::int64_t n = s.rows();
  const std::int64_t c = s.channels;
  DeviceBuffer<bf16> x(4 * n * c), y(4 * n * c), z(n * c), weight(4 * c * c), bias(4 * c);
  DeviceBuffer<std::uint8_t> x8(4 * n * c), d8(4 * n * c), r8(4 * n * c), w8(4 * c * c);
  DeviceBuffer<float> gradient(4 * c * c), scale(1), result_scale(1), found(1);
  for (DeviceBuffer<bf16>* buffer : {&x, &y, &z, &weight, &bias}) {
    launch_fill_normal(buffer->data(), buffer->size(), 1.0F, 1, nullptr);
  }
  for (DeviceBuffer<std::uint8_t>* buffer : {&x8, &w8}) {
    launch_fill_normal_fp8(buffer->data(), buffer->size(), Fp8Format::e4m3, 2, nullptr);
  }
  launch_fill_normal_fp8(d8.data(), d8.size(), Fp8Format::e5m2, 3, nullptr);
  scale.upload({1.0F});
  // Results of values of deviation 16: most of one in FP8 would saturate without.
  result_scale.upload({0x1p-6F});
  const bf16* inp = x.data();
  const bf16* dout = y.data();
  const bf16* w = weight.data();
  const bf16* b = bias.data();
  const Fp8Operand inp8{x8.data(), scale.data()}, dout8{d8.data(), scale.data()},
      weight8{w8.data(), scale.data()};
  const Fp8Result result{r8.data(), result_scale.data(), found.data()};
  for (const Layer& l :
       {Layer{"qkv", c, 3 * c}, Layer{"attproj", c, c}, Layer{"fc", c, 4 * c}, Layer{"fcproj", 4 * c, c}}) {
    const std::string name = std::string(l.name) + " ";
    const std::int64_t flops = matmul_flops(n, l.c, l.oc);
    bench.add(name + "forward bf16", matmul_forward_bytes<bf16>(n, l.c, l.oc, true, false), flops,
              [&, l](int, cudaStream_t st) { matmul.forward(y.data(), inp, w, b, n, l.c, l.oc, st); });
    bench.add(name + "backward_input bf16", matmul_backward_input_bytes<bf16>(n, l.c, l.oc, false, false),
              flops,
              [&, l](int, cudaStream_t st) { matmul.backward_input(x.data(), dout, w, n, l.c, l.oc, st); });
    bench.add(name + "backward_weight bf16", matmul_backward_weight_bytes<bf16>(n, l.c, l.oc, false, false),
              flops, [&, l](int, cudaStream_t st) {
                matmul.backward_weight(gradient.data(), dout, inp, n, l.c, l.oc, st, false);
              });
    bench.add(name + "forward fp8", matmul_fp8_forward_bytes(n, l.c, l.oc, true), flops,
              [&, l](int, cudaStream_t st) {
                matmul.forward_fp8(y.data(), inp8, weight8, b, n, l.c, l.oc, true, st);
              });
    if (l.oc == c) {
      bench.add(name + "forward residual fp8", matmul_fp8_forward_bytes(n, l.c, l.oc, true, false, true),
                flops, [&, l](int, cudaStream_t st) {
                  matmul.forward_residual_fp8(y.data(), z.data(), inp8, weight8, b, n, l.c, l.oc, true, st);
                });
    }
    bench.add(name + "backward_input fp8", matmul_fp8_backward_input_bytes(n, l.c, l.oc), flops,
              [&, l](int, cudaStream_t st) {
                matmul.backward_input_fp8(y.data(), dout8, weight8, n, l.c, l.oc, false, st);
              });
    bench.add(name + "backward_weight fp8", matmul_fp8_backward_weight_bytes(n, l.c, l.oc, false), flops,
              [&, l](int, cudaStream_t st) {
                matmul.backward_weight_fp8(gradient.data(), dout8, inp8, n, l.c, l.oc, false, st, false);
              });
  }
  bench.add(
      "fc forward fp8 to fp8", matmul_fp8_forward_bytes(n, c, 4 * c, true, true), matmul_flops(n, c, 4 * c),
      [&](int, cudaStream_t st) { matmul.forward_fp8(result, inp8, weight8, b, n, c, 4 * c, true, st); });
  bench.add("fcproj backward_input fp8 to fp8", matmul_fp8_backward_input_bytes(n, 4 * c, c, true),
            matmul_flops(n, 4 * c, c), [&](int, cudaStream_t st) {
              matmul.backward_input_fp8(result, dout8, weight8, n, 4 * c, c, false, st);
            });
  bench.measure();
}

void with_gelu(Bench& bench, Matmul& matmul) {
  const Settings& s = bench.settings();
  const std::int64_t n = s.rows();
  const int c = s.channels, h = 4 * s.channels;
  if (!hopper_matmul_supported(n, c, h)) return;
  DeviceBuffer<bf16> inp(n * c), weight(std::int64_t{c} * h), bias(h), pre(n * h), out(n * h);
  DeviceBuffer<std::uint8_t> slope(n * h);
  DeviceBuffer<float> dbias(h), memory(hopper_matmul_partial_sums(n, h));
  PartialSums sums(memory.data(), memory.size_bytes());
  launch_fill_normal(inp.data(), inp.size(), 1.0F, 1, nullptr);
  launch_fill_normal(weight.data(), weight.size(), 1.0F / std::sqrt(static_cast<float>(c)), 2, nullptr);
  launch_fill_normal(bias.data(), h, 1.0F, 3, nullptr);
  launch_fill_normal(pre.data(), pre.size(), 1.0F, 4, nullptr);
  const bf16* x = inp.data();
  const bf16* w = weight.data();
  const bf16* b = bias.data();
  launch_hopper_matmul_forward(out.data(), slope.data(), x, w, b, n, c, h, nullptr);
  const std::int64_t forward_bytes = hopper_matmul_forward_bytes(n, c, h);
  const std::int64_t backward_bytes = hopper_matmul_backward_input_bytes(n, c, h, true);
  const std::int64_t flops = hopper_matmul_forward_flops(n, c, h);
  const auto own = [&]<Gemm kGemm, int kCluster>(const std::string& name) {
    bench.add(name, hopper::is_forward(kGemm) ? forward_bytes : backward_bytes, flops,
              [&](int, cudaStream_t st) {
                hopper::Arguments args;
                args.bias = b;
                args.column_sums = memory.data();
                args.rows = n;
                args.columns = h;
                hopper::launch_gemm<kGemm, hopper::Config<kGemm, kCluster>>(out.data(), slope.data(), x, w,
                                                                            args, c, st);
              });
  };
  own.template operator()<Gemm::forward, 2>("gelu forward own, cluster 2");
  own.template operator()<Gemm::forward, 1>("gelu forward own, cluster 1");
  bench.add("gelu forward cuBLASLt", matmul_forward_bytes<bf16>(n, c, h, true, true), flops,
            [&](int, cudaStream_t st) {
              matmul.forward(out.data(), x, w, b, n, c, h, st, MatmulEpilogue::gelu, pre.data());
            });
  own.template operator()<Gemm::backward_input, 2>("gelu backward own, cluster 2");
  own.template operator()<Gemm::backward_input, 1>("gelu backward own, cluster 1");
  bench.add("gelu backward cuBLASLt", matmul_backward_input_bytes<bf16>(n, h, c, true, false), flops,
            [&](int, cudaStream_t st) {
              matmul.backward_input(out.data(), x, w, n, h, c, st, static_cast<const bf16*>(pre.data()));
            });
  bench.add("gelu backward cuBLASLt, then GELU' and bias gradient",
            matmul_backward_input_bytes<bf16>(n, h, c, false, false) + gelu_bias_backward_bytes<bf16>(n, h),
            flops, [&](int, cudaStream_t st) {
              matmul.backward_input(out.data(), x, w, n, h, c, st);
              launch_gelu_bias_backward(out.data(), dbias.data(), static_cast<const bf16*>(pre.data()),
                                        static_cast<const bf16*>(out.data()), n, h, sums, st);
              sums.flush(st);
            });
  bench.measure();
}

}  // namespace

void bench_gemm(Bench& bench) {
  MatmulOptions options;
  options.search = bench.settings().search;
  options.cache_path = bench.settings().cache;
  Matmul matmul(options);
  libraries(bench, matmul);
  with_gelu(bench, matmul);
}

}  // namespace ridgeline::gpt2::bench
