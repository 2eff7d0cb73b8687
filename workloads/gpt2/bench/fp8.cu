// The kernels that write FP8, what they take the place of, and forms of the casting kernel: rows in flight, blocks a
// multiprocessor, loads together or as the compiler likes.
#include <utility>
#include <vector>

#include "gpt2/bench/bench.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/cast_kernel.cuh"
#include "gpt2/ops/fp8/cast_parts.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2::bench {

namespace {

struct Tensors {
  std::int64_t n;
  int c;
  DeviceBuffer<bf16> x{4 * n * c}, y{4 * n * c}, z{n * c}, weight{c}, bias{c};
  DeviceBuffer<std::uint8_t> x8{4 * n * c}, g8{4 * n * c}, o8{4 * n * c}, o8_transposed{4 * n * c};
  DeviceBuffer<float> mean{n}, rstd{n}, columns{12 * std::int64_t{c}}, scale{1}, found{1};
  DeviceBuffer<std::uint32_t> amax{1};
  DeviceBuffer<std::byte> memory{std::max<std::int64_t>(
      fp8_partial_sums(n, 4 * c) * std::int64_t{sizeof(float)}, layernorm_backward_scratch_bytes(c))};
  Fp8Output out{o8.data(), o8_transposed.data(), {scale.data(), amax.data()}};

  Tensors(std::int64_t rows, int channels) : n(rows), c(channels) {
    for (DeviceBuffer<bf16>* buffer : {&x, &y, &z, &weight, &bias}) {
      launch_fill_normal(buffer->data(), buffer->size(), 1.0F, 1, nullptr);
    }
    for (DeviceBuffer<std::uint8_t>* buffer : {&x8, &g8}) {
      launch_fill_normal_fp8(buffer->data(), buffer->size(), Fp8Format::e4m3, 2, nullptr);
    }
    launch_fill_normal(mean.data(), n, 0.1F, 4, nullptr);
    launch_fill_normal(rstd.data(), n, 1.0F, 5, nullptr);
    scale.upload({1.0F});
    amax.upload({0U});
  }
};

void bench_layernorms(Bench& bench, Tensors& t) {
  const std::int64_t n = t.n;
  const int c = t.c;
  const bf16* in = t.x.data();
  const bf16* in2 = t.y.data();
  const bf16* w = t.weight.data();
  const bf16* b = t.bias.data();
  bf16* z = t.z.data();
  float* mean = t.mean.data();
  float* rstd = t.rstd.data();
  float* sum = t.columns.data();
  const Fp8Output out = t.out;
  const auto sums = [&] { return PartialSums(t.memory.data(), t.memory.size_bytes()); };

  bench.add("residual_layernorm_forward_fp8", layernorm_forward_fp8_bytes(n, c, true),
            layernorm_forward_fp8_flops(n, c, true), [&](int, cudaStream_t st) {
              launch_residual_layernorm_forward(z, out, mean, rstd, in, in2, w, b, n, c, st);
            });
  bench.add("layernorm_forward_fp8", layernorm_forward_fp8_bytes(n, c, false),
            layernorm_forward_fp8_flops(n, c, false),
            [&](int, cudaStream_t st) { launch_layernorm_forward(out, mean, rstd, in, w, b, n, c, st); });
  bench.add("layernorm_forward, fp8_cast", layernorm_forward_fp8_bytes(n, c, false),
            layernorm_forward_fp8_flops(n, c, false), [&](int, cudaStream_t st) {
              launch_layernorm_forward(z, mean, rstd, in, w, b, n, c, st);
              launch_fp8_cast(out, Fp8Format::e4m3, nullptr, z, n, c, nullptr, st);
            });
  bench.add("layernorm_backward_fp8", layernorm_backward_fp8_bytes(n, c, true),
            layernorm_backward_fp8_flops(n, c), [&](int, cudaStream_t st) {
              PartialSums of = sums();
              launch_layernorm_backward(z, out, z, sum, sum + c, sum + 2 * c, in, in2, w, mean, rstd, n, c,
                                        of, st);
            });
  bench.add("layernorm_backward, fp8_cast", layernorm_backward_fp8_bytes(n, c, true),
            layernorm_backward_fp8_flops(n, c), [&](int, cudaStream_t st) {
              PartialSums of = sums();
              launch_layernorm_backward(z, static_cast<const bf16*>(z), sum, sum + c, sum + 2 * c, in, in2, w,
                                        mean, rstd, n, c, of, st);
              launch_fp8_cast(out, Fp8Format::e5m2, nullptr, z, n, c, nullptr, st);
            });
  bench.measure();
}

void bench_casts(Bench& bench, Tensors& t) {
  const std::int64_t n = t.n;
  const int c = t.c;
  const Fp8Output out = t.out;
  const Fp8Input x_bytes{t.x8.data(), t.scale.data(), t.found.data(), t.amax.data()};
  const Fp8Input g_bytes{t.g8.data(), t.scale.data(), t.found.data(), t.amax.data()};
  const auto forms = [&]<typename T, int kRows, int kBlocks, bool kTogether>(const CastInput<T>& argument,
                                                                             const CastInput<T>& upstream) {
    using Form = CastForm<kRows, kBlocks, kTogether>;
    const std::string form = std::string(sizeof(T) == 1 ? " of fp8" : " of bf16") + ", rows " +
                             std::to_string(kRows) + " blocks " + std::to_string(kBlocks) +
                             (kTogether ? " together" : "");
    auto* partials = reinterpret_cast<float*>(t.memory.data());
    bench.add("fp8_gelu" + form, fp8_cast_bytes(n, 4 * c, sizeof(T), 1, false),
              fp8_cast_flops(n, 4 * c, false), [&, argument](int, cudaStream_t st) {
                launch_cast<Form, T, Fp8Format::e4m3, CastFunction::gelu, false>(out, nullptr, argument, {},
                                                                                 1, n, 4 * c, st);
              });
    bench.add("fp8_gelu_backward" + form, fp8_cast_bytes(n, 4 * c, sizeof(T), 2, true),
              fp8_cast_flops(n, 4 * c, true), [&, argument, upstream, partials](int, cudaStream_t st) {
                launch_cast<Form, T, Fp8Format::e5m2, CastFunction::gelu_backward, true>(
                    out, partials, argument, upstream, 1, n, 4 * c, st);
              });
    if constexpr (sizeof(T) == 2) {
      bench.add("fp8_cast of dqkv" + form, fp8_cast_bytes(n, 3 * c, sizeof(T), 1, true),
                fp8_cast_flops(n, 3 * c, true), [&, argument, partials](int, cudaStream_t st) {
                  launch_cast<Form, T, Fp8Format::e5m2, CastFunction::identity, true>(out, partials, argument,
                                                                                      {}, 1, n, 3 * c, st);
                });
    }
  };
  const auto of_bf16 = [&]<int kRows, int kBlocks, bool kTogether>() {
    forms.template operator()<bf16, kRows, kBlocks, kTogether>({t.x.data()}, {t.y.data()});
  };
  const auto of_bytes = [&]<int kRows, int kBlocks, bool kTogether>() {
    forms.template operator()<std::uint8_t, kRows, kBlocks, kTogether>({x_bytes}, {g_bytes});
  };
  of_bf16.template operator()<4, 3, false>();
  of_bf16.template operator()<8, 2, false>();
  of_bf16.template operator()<8, 3, false>();
  of_bf16.template operator()<8, 2, true>();
  of_bytes.template operator()<8, 2, false>();
  of_bytes.template operator()<8, 3, false>();
  of_bytes.template operator()<8, 2, true>();
  of_bytes.template operator()<8, 3, true>();
  bench.measure();
}

// What a rank does with its part of a layer's weights, and with all of them once they have been gathered.
void bench_weights(Bench& bench, std::int64_t c) {
  const std::int64_t elements = 12 * c * c;
  DeviceBuffer<float> master(elements), scale(4);
  DeviceBuffer<std::uint8_t> bytes(elements), transposed(elements);
  DeviceBuffer<std::uint32_t> amax(4);
  launch_fill_normal(master.data(), elements, 0.02F, 6, nullptr);
  scale.upload(std::vector<float>(4, 4096.0F));
  amax.upload(std::vector<std::uint32_t>(4, 0U));
  std::vector<Fp8Part> list;
  std::vector<Fp8Transpose> tensors;
  std::int64_t at = 0;
  for (const auto& [rows, columns] :
       {std::pair{3 * c, c}, std::pair{c, c}, std::pair{4 * c, c}, std::pair{c, 4 * c}}) {
    append_fp8_parts(list, at, at, rows * columns, static_cast<std::int32_t>(tensors.size()));
    tensors.push_back({transposed.data() + at, bytes.data() + at, rows, columns});
    at += rows * columns;
  }
  DeviceBuffer<Fp8Part> memory(static_cast<std::int64_t>(list.size()));
  memory.upload(list);
  const Fp8Parts parts{memory.data(), memory.size(), elements};
  bench.add("fp8_amax_parts", fp8_amax_parts_bytes(parts.count, elements), elements,
            [&](int, cudaStream_t st) { launch_fp8_amax_parts(amax.data(), master.data(), parts, st); });
  bench.add("fp8_cast_parts", fp8_cast_parts_bytes(parts.count, elements), elements,
            [&](int, cudaStream_t st) {
              launch_fp8_cast_parts(bytes.data(), master.data(), scale.data(), parts, st);
            });
  bench.add("fp8_transpose of a layer", fp8_transpose_bytes(elements, 1), 0,
            [&](int, cudaStream_t st) { launch_fp8_transpose(tensors, st); });
  bench.measure();
}

}  // namespace

void bench_fp8(Bench& bench) {
  if (!layernorm_fp8_supported(bench.settings().rows(), bench.settings().channels)) return;
  Tensors tensors(bench.settings().rows(), bench.settings().channels);
  bench_layernorms(bench, tensors);
  bench_casts(bench, tensors);
  bench_weights(bench, bench.settings().channels);
}

}  // namespace ridgeline::gpt2::bench
