// bench_fp8: what a layer of GPT-2 costs in FP8: its twelve products with and without fast accumulation,
// beside those in bf16, two of them with results in FP8, and the kernels that write FP8. All take turns in
// blocks long enough for the power limit to act.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gpt2/bench/bench_main.h"
#include "gpt2/bench/clocked_timing.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/cast_kernel.cuh"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/norm/layernorm_fp8.h"

namespace ridgeline::gpt2 {
namespace {

struct Settings {
  std::int64_t rows = 32768;
  int channels = 768;
  double block_ms = 40.0;
  int rounds = 3;
  std::string only;
  std::string search = "off";
};

// A variant with what it does, of which a rate follows.
struct Work {
  Variant variant;
  double bytes;
  double flops;
};

int run(const Settings& s) {
  Stream owned;
  cudaStream_t stream = owned.get();
  const std::int64_t n = s.rows;
  const std::int64_t c = s.channels;
  const std::int64_t narrow = n * c;
  const std::int64_t wide = 4 * narrow;
  DeviceBuffer<bf16> x(wide), y(wide), z(narrow), weight(4 * c * c), bias(4 * c);
  DeviceBuffer<std::uint8_t> x8(wide), x8_transposed(wide), d8(wide), d8_transposed(wide), r8(wide),
      w8(4 * c * c);
  DeviceBuffer<float> mean(n), rstd(n), gradient(4 * c * c), sums_of_columns(3 * 4 * c), scale(1);
  DeviceBuffer<float> result_scale(1), found(1);
  DeviceBuffer<std::uint32_t> amax(1);
  const std::int64_t sums_bytes = std::max<std::int64_t>(
      fp8_partial_sums(n, 4 * c) * std::int64_t{sizeof(float)}, layernorm_backward_scratch_bytes(s.channels));
  DeviceBuffer<std::byte> sums_memory(sums_bytes);
  for (DeviceBuffer<bf16>* buffer : {&x, &y, &z, &weight, &bias}) {
    launch_fill_normal(buffer->data(), buffer->size(), 1.0F, 1, stream);
  }
  for (DeviceBuffer<std::uint8_t>* buffer : {&x8, &x8_transposed, &w8}) {
    launch_fill_normal_fp8(buffer->data(), buffer->size(), Fp8Format::e4m3, 2, stream);
  }
  for (DeviceBuffer<std::uint8_t>* buffer : {&d8, &d8_transposed}) {
    launch_fill_normal_fp8(buffer->data(), buffer->size(), Fp8Format::e5m2, 3, stream);
  }
  launch_fill_normal(mean.data(), n, 0.1F, 4, stream);
  launch_fill_normal(rstd.data(), n, 1.0F, 5, stream);
  owned.synchronize();
  scale.upload({1.0F});
  // Products of values of deviation 16: most of a result in FP8 would saturate without.
  result_scale.upload({0x1p-6F});
  amax.upload({0U});

  MatmulOptions options;
  options.search = matmul_search_from_name(s.search);
  Matmul matmul(options);
  std::vector<Work> all;
  const auto add = [&](const std::string& name, std::int64_t bytes, std::int64_t flops, Launch launch) {
    if (name.find(s.only) == std::string::npos) return;
    all.push_back(
        {{name, std::move(launch), {}, 0.0}, static_cast<double>(bytes), static_cast<double>(flops)});
  };

  struct Linear {
    const char* name;
    std::int64_t c, oc;
  };
  const Linear linears[] = {{"qkv", c, 3 * c}, {"attproj", c, c}, {"fc", c, 4 * c}, {"fcproj", 4 * c, c}};
  const Fp8Operand inp{x8.data(), scale.data()}, inp_transposed{x8_transposed.data(), scale.data()};
  const Fp8Operand dout{d8.data(), scale.data()}, dout_transposed{d8_transposed.data(), scale.data()};
  const Fp8Operand w{w8.data(), scale.data()};
  const Fp8Result result{r8.data(), result_scale.data(), found.data()};
  for (const Linear& l : linears) {
    const std::string name = std::string(l.name) + " ";
    const std::int64_t flops = matmul_flops(n, l.c, l.oc);
    add(name + "forward bf16", matmul_forward_bytes<bf16>(n, l.c, l.oc, true, false), flops,
        [&, l](cudaStream_t st) {
          matmul.forward(y.data(), static_cast<const bf16*>(x.data()),
                         static_cast<const bf16*>(weight.data()), static_cast<const bf16*>(bias.data()), n,
                         l.c, l.oc, st);
        });
    add(name + "backward_input bf16", matmul_backward_input_bytes<bf16>(n, l.c, l.oc, false, false), flops,
        [&, l](cudaStream_t st) {
          matmul.backward_input(y.data(), static_cast<const bf16*>(x.data()),
                                static_cast<const bf16*>(weight.data()), n, l.c, l.oc, st);
        });
    add(name + "backward_weight bf16", matmul_backward_weight_bytes<bf16>(n, l.c, l.oc, false, false), flops,
        [&, l](cudaStream_t st) {
          matmul.backward_weight(gradient.data(), static_cast<const bf16*>(x.data()),
                                 static_cast<const bf16*>(y.data()), n, l.c, l.oc, st, false);
        });
    for (const bool fast : {true, false}) {
      const std::string how = fast ? " fp8 fast" : " fp8";
      add(name + "forward" + how, matmul_fp8_forward_bytes(n, l.c, l.oc, true), flops,
          [&, l, fast](cudaStream_t st) {
            matmul.forward_fp8(y.data(), inp, w, bias.data(), n, l.c, l.oc, fast, st);
          });
      if (l.oc == c) {
        add(name + "forward residual" + how, matmul_fp8_forward_bytes(n, l.c, l.oc, true, false, true), flops,
            [&, l, fast](cudaStream_t st) {
              matmul.forward_residual_fp8(y.data(), z.data(), inp, w, bias.data(), n, l.c, l.oc, fast, st);
            });
      }
      add(name + "backward_input" + how, matmul_fp8_backward_input_bytes(n, l.c, l.oc), flops,
          [&, l, fast](cudaStream_t st) {
            matmul.backward_input_fp8(y.data(), dout, w, n, l.c, l.oc, fast, st);
          });
      add(name + "backward_weight" + how, matmul_fp8_backward_weight_bytes(n, l.c, l.oc, false), flops,
          [&, l, fast](cudaStream_t st) {
            matmul.backward_weight_fp8(gradient.data(), dout_transposed, inp_transposed, n, l.c, l.oc, fast,
                                       st, false);
          });
    }
  }

  // The two around GELU with their results in FP8.
  for (const bool fast : {true, false}) {
    const std::string how = fast ? " fp8 to fp8 fast" : " fp8 to fp8";
    add("fc forward" + how, matmul_fp8_forward_bytes(n, c, 4 * c, true, true), matmul_flops(n, c, 4 * c),
        [&, fast](cudaStream_t st) {
          matmul.forward_fp8(result, inp, w, bias.data(), n, c, 4 * c, fast, st);
        });
    add("fcproj backward_input" + how, matmul_fp8_backward_input_bytes(n, 4 * c, c, true),
        matmul_flops(n, 4 * c, c),
        [&, fast](cudaStream_t st) { matmul.backward_input_fp8(result, dout, w, n, 4 * c, c, fast, st); });
  }

  const Fp8Output out{d8.data(), d8_transposed.data(), {scale.data(), amax.data()}};
  const std::int64_t casts = fp8_cast_flops(n, c, false);
  add("kernel residual_layernorm_forward_fp8", layernorm_forward_fp8_bytes(n, c, true),
      layernorm_forward_fp8_flops(n, c, true), [&](cudaStream_t st) {
        launch_residual_layernorm_forward_fp8(z.data(), out, mean.data(), rstd.data(), x.data(), y.data(),
                                              weight.data(), bias.data(), n, s.channels, st);
      });
  add("kernel layernorm_forward_fp8", layernorm_forward_fp8_bytes(n, c, false),
      layernorm_forward_fp8_flops(n, c, false), [&](cudaStream_t st) {
        launch_layernorm_forward_fp8(out, mean.data(), rstd.data(), x.data(), weight.data(), bias.data(), n,
                                     s.channels, st);
      });
  add("kernel layernorm_backward_fp8", layernorm_backward_fp8_bytes(n, c, true),
      layernorm_backward_fp8_flops(n, c), [&](cudaStream_t st) {
        PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
        launch_layernorm_backward_fp8(z.data(), out, z.data(), sums_of_columns.data(),
                                      sums_of_columns.data() + c, sums_of_columns.data() + 2 * c, x.data(),
                                      y.data(), weight.data(), mean.data(), rstd.data(), n, s.channels, sums,
                                      st);
      });
  // The same in two passes each, for comparison.
  add("kernel residual_layernorm_forward, fp8_cast", layernorm_forward_fp8_bytes(n, c, true),
      layernorm_forward_fp8_flops(n, c, true), [&](cudaStream_t st) {
        launch_residual_layernorm_forward(
            z.data(), x.data() + narrow, mean.data(), rstd.data(), static_cast<const bf16*>(x.data()),
            static_cast<const bf16*>(y.data()), static_cast<const bf16*>(weight.data()),
            static_cast<const bf16*>(bias.data()), n, s.channels, st);
        launch_fp8_cast(out, Fp8Format::e4m3, nullptr, x.data() + narrow, n, c, nullptr, st);
      });
  add("kernel layernorm_backward, fp8_cast", layernorm_backward_fp8_bytes(n, c, true),
      layernorm_backward_fp8_flops(n, c), [&](cudaStream_t st) {
        PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
        launch_layernorm_backward(z.data(), static_cast<const bf16*>(z.data()), sums_of_columns.data(),
                                  sums_of_columns.data() + c, sums_of_columns.data() + 2 * c,
                                  static_cast<const bf16*>(x.data()), static_cast<const bf16*>(y.data()),
                                  static_cast<const bf16*>(weight.data()),
                                  static_cast<const float*>(mean.data()),
                                  static_cast<const float*>(rstd.data()), n, s.channels, sums, st);
        launch_fp8_cast(out, Fp8Format::e5m2, nullptr, z.data(), n, c, nullptr, st);
      });
  add("kernel fp8_cast of att", fp8_cast_bytes(n, c, sizeof(bf16), 1, false), casts,
      [&](cudaStream_t st) { launch_fp8_cast(out, Fp8Format::e4m3, nullptr, x.data(), n, c, nullptr, st); });
  add("kernel fp8_cast of dqkv", fp8_cast_bytes(n, 3 * c, sizeof(bf16), 1, true), 6 * casts,
      [&](cudaStream_t st) {
        PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
        launch_fp8_cast(out, Fp8Format::e5m2, sums_of_columns.data(), x.data(), n, 3 * c, &sums, st);
      });
  add("kernel fp8_gelu", fp8_cast_bytes(n, 4 * c, sizeof(bf16), 1, false), 4 * casts,
      [&](cudaStream_t st) { launch_fp8_gelu(out, x.data(), n, 4 * c, st); });
  add("kernel fp8_gelu_backward", fp8_cast_bytes(n, 4 * c, sizeof(bf16), 2, true), 8 * casts,
      [&](cudaStream_t st) {
        PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
        launch_fp8_gelu_backward(out, sums_of_columns.data(), x.data(), y.data(), n, 4 * c, sums, st);
      });

  const Fp8Input x_bytes{x8.data(), scale.data(), found.data(), amax.data()};
  const Fp8Input d_bytes{x8_transposed.data(), scale.data(), found.data(), amax.data()};
  add("kernel fp8_gelu of fp8", fp8_cast_bytes(n, 4 * c, 1, 1, false), 4 * casts,
      [&](cudaStream_t st) { launch_fp8_gelu(out, x_bytes, n, 4 * c, st); });
  add("kernel fp8_gelu_backward of fp8", fp8_cast_bytes(n, 4 * c, 1, 2, true), 8 * casts,
      [&](cudaStream_t st) {
        PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
        launch_fp8_gelu_backward(out, sums_of_columns.data(), x_bytes, d_bytes, n, 4 * c, sums, st);
      });

  // Forms of the casting kernel: rows in flight, blocks a multiprocessor, loads together or as the compiler likes.
  const auto add_form = [&]<typename T, int kRows, int kBlocks, bool kTogether>(
                            const char* of, const CastInput<T>& argument, const CastInput<T>& upstream) {
    using Form = CastForm<kRows, kBlocks, kTogether>;
    const std::string form = of + (" rows " + std::to_string(kRows)) + " blocks " + std::to_string(kBlocks) +
                             (kTogether ? " together" : "");
    float* partials = reinterpret_cast<float*>(sums_memory.data());
    add("form fp8_gelu" + form, fp8_cast_bytes(n, 4 * c, sizeof(T), 1, false), 4 * casts,
        [&, argument](cudaStream_t st) {
          launch_cast<Form, T, Fp8Format::e4m3, CastFunction::gelu, false>(out, nullptr, argument, {}, 1, n,
                                                                           4 * c, st);
        });
    add("form fp8_gelu_backward" + form, fp8_cast_bytes(n, 4 * c, sizeof(T), 2, true), 8 * casts,
        [&, argument, upstream, partials](cudaStream_t st) {
          launch_cast<Form, T, Fp8Format::e5m2, CastFunction::gelu_backward, true>(out, partials, argument,
                                                                                   upstream, 1, n, 4 * c, st);
        });
    if constexpr (std::is_same_v<T, bf16>) {
      add("form fp8_cast of dqkv" + form, fp8_cast_bytes(n, 3 * c, sizeof(T), 1, true), 6 * casts,
          [&, argument, partials](cudaStream_t st) {
            launch_cast<Form, T, Fp8Format::e5m2, CastFunction::identity, true>(out, partials, argument, {},
                                                                                1, n, 3 * c, st);
          });
    }
  };
  const auto add_bf16 = [&]<int kRows, int kBlocks, bool kTogether>() {
    add_form.template operator()<bf16, kRows, kBlocks, kTogether>("", {x.data()}, {y.data()});
  };
  const auto add_bytes = [&]<int kRows, int kBlocks, bool kTogether>() {
    add_form.template operator()<std::uint8_t, kRows, kBlocks, kTogether>(" of fp8", {x_bytes}, {d_bytes});
  };
  add_bf16.template operator()<4, 2, false>();
  add_bf16.template operator()<8, 2, false>();
  add_bf16.template operator()<16, 2, false>();
  add_bf16.template operator()<4, 3, false>();
  add_bf16.template operator()<8, 3, false>();
  add_bf16.template operator()<4, 4, false>();
  add_bf16.template operator()<8, 2, true>();
  add_bytes.template operator()<8, 2, false>();
  add_bytes.template operator()<16, 2, false>();
  add_bytes.template operator()<8, 3, false>();
  add_bytes.template operator()<4, 4, false>();
  add_bytes.template operator()<8, 2, true>();
  add_bytes.template operator()<8, 3, true>();

  for (Work& work : all) work.variant.launch(stream);  // cuBLASLt's search
  owned.synchronize();
  for (int round = 0; round < s.rounds; ++round) {
    for (Work& work : all) measure(work.variant, s.block_ms, stream);
  }
  std::printf("N %lld C %d, %d blocks of %.0f ms each, in turn; --matmul-search %s\n",
              static_cast<long long>(n), s.channels, s.rounds, s.block_ms, s.search.c_str());
  std::printf("%-44s%10s%18s%9s%9s%7s\n", "product or kernel", "us", "lowest..highest", "TFLOP/s", "GB/s",
              "GHz");
  for (Work& work : all) {
    Variant& variant = work.variant;
    std::sort(variant.times_us.begin(), variant.times_us.end());
    const double time_us = variant.times_us[variant.times_us.size() / 2];
    std::printf("%-44s%10.1f%9.1f..%-7.1f%9.0f%9.0f%7.3f\n", variant.name.c_str(), time_us,
                variant.times_us.front(), variant.times_us.back(), work.flops / time_us / 1e6,
                work.bytes / time_us / 1e3, variant.clock_hz / 1e9);
  }
  return 0;
}

}  // namespace
}  // namespace ridgeline::gpt2

int main(int argc, char** argv) {
  using namespace ridgeline::gpt2;
  Settings s;
  CLI::App app("Times the products and kernels of a layer in FP8");
  app.add_option("--rows", s.rows, "N: batch times sequence, a multiple of 16")->check(CLI::PositiveNumber);
  app.add_option("--channels", s.channels, "C, a multiple of 16")->check(CLI::PositiveNumber);
  app.add_option("--block-ms", s.block_ms, "length of one timed block")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "blocks of a variant")->check(CLI::PositiveNumber);
  app.add_option("--only", s.only, "variants whose name contains this");
  app.add_option("--matmul-search", s.search, "off, fast or full")
      ->check(CLI::IsMember({"off", "fast", "full"}));
  CLI11_PARSE(app, argc, argv);
  return bench_main("bench_fp8", [&] { return run(s); });
}
