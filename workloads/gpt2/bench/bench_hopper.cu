// bench_hopper: the own Hopper products of the MLP beside cuBLASLt's with the same epilogues, in every
// configuration of the kernel.
//
// Variants take turns in blocks of --block-ms (clocked_timing.cuh); contents are random, since power depends on
// them. Beside the time stands the clock that the multiprocessors had meanwhile, and the share of the tensor
// cores' rate at that clock.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/bench/bench_main.h"
#include "gpt2/bench/clocked_timing.cuh"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/matmul/hopper_matmul.cuh"
#include "gpt2/ops/matmul/hopper_matmul.h"

namespace {

using namespace ridgeline::gpt2;
using hopper::Product;

constexpr double kFlopsPerClock = 4096.0;  // dense bf16, of one multiprocessor of sm_90

struct Settings {
  std::int64_t rows = 32768;
  int channels = 768;
  int hidden = 3072;
  double block_ms = 60.0;
  int rounds = 5;
  std::string only;
};

int run(const Settings& s) {
  if (!hopper_matmul_supported(s.rows, s.channels, s.hidden)) {
    std::fprintf(stderr, "bench_hopper: the own products do not support this GPU or these sizes\n");
    return 4;
  }
  const Stream owned;
  cudaStream_t stream = owned.get();
  const std::int64_t small = s.rows * s.channels;
  const std::int64_t wide = s.rows * s.hidden;
  const std::int64_t weights = static_cast<std::int64_t>(s.channels) * s.hidden;
  DeviceBuffer<bf16> inp(small), weight(weights), bias(s.hidden), pre(wide), out(wide), dpre(wide);
  DeviceBuffer<std::uint8_t> slope(wide);
  DeviceBuffer<float> dbias(s.hidden);
  DeviceBuffer<float> sums_memory(hopper_matmul_partial_sums(s.rows, s.hidden));
  PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
  DeviceBuffer<std::byte> bias_scratch(bias_gradient_scratch_bytes(s.hidden));
  launch_fill_normal(inp.data(), small, 1.0F, 1, stream);
  launch_fill_normal(weight.data(), weights, 1.0F / std::sqrt(static_cast<float>(s.channels)), 2, stream);
  launch_fill_normal(bias.data(), s.hidden, 1.0F, 3, stream);
  launch_fill_normal(pre.data(), wide, 1.0F, 4, stream);
  for (const auto& [memory, bytes] :
       {std::pair<void*, std::int64_t>(dbias.data(), dbias.size_bytes()),
        std::pair<void*, std::int64_t>(bias_scratch.data(), bias_scratch.size_bytes())}) {
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream));
  }
  Matmul matmul;
  const bf16* x = inp.data();
  const bf16* w = weight.data();
  launch_hopper_matmul_forward(out.data(), {.argument = nullptr, .slope = slope.data()}, x, w, bias.data(),
                               s.rows, s.channels, s.hidden, stream);

  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, Launch launch) {
    if (name.find(s.only) != std::string::npos) variants.push_back({name, std::move(launch), {}, 0.0});
  };
  add("forward cuBLASLt", [&](cudaStream_t st) {
    matmul.forward(out.data(), x, w, static_cast<const bf16*>(bias.data()), s.rows, s.channels, s.hidden, st,
                   MatmulEpilogue::gelu, pre.data());
  });
  const auto add_own = [&]<Product kProduct, int kCluster>(const std::string& name) {
    add((hopper::is_forward(kProduct) ? "forward own, " : "backward own, ") + name, [&](cudaStream_t st) {
      hopper::Arguments args;
      args.bias = bias.data();
      args.column_sums = sums_memory.data();
      args.rows = s.rows;
      args.columns = s.hidden;
      hopper::Kept<kProduct>* kept = nullptr;
      if constexpr (kProduct == Product::gelu_forward) {
        kept = pre.data();
      } else {
        kept = slope.data();
      }
      hopper::launch_product<kProduct, hopper::Config<kProduct, kCluster>>(
          hopper::is_forward(kProduct) ? out.data() : dpre.data(), kept, x, w, args, s.channels, st);
    });
  };
  add("forward cuBLASLt, product and bias alone", [&](cudaStream_t st) {
    matmul.forward(out.data(), x, w, static_cast<const bf16*>(bias.data()), s.rows, s.channels, s.hidden, st);
  });
  add_own.template operator()<Product::gelu_forward, 2>("cluster 2");
  add_own.template operator()<Product::gelu_slope_forward, 2>("slope, cluster 2");
  add_own.template operator()<Product::gelu_slope_forward, 1>("slope, cluster 1");
  add("backward cuBLASLt, product alone",
      [&](cudaStream_t st) { matmul.backward_input(dpre.data(), x, w, s.rows, s.hidden, s.channels, st); });
  add("backward cuBLASLt, product, then GELU' and bias gradient", [&](cudaStream_t st) {
    matmul.backward_input(dpre.data(), x, w, s.rows, s.hidden, s.channels, st);
    launch_gelu_bias_backward(dpre.data(), dbias.data(), static_cast<const bf16*>(pre.data()),
                              static_cast<const bf16*>(dpre.data()), s.rows, s.hidden, sums, st);
    sums.flush(st);
  });
  add("backward cuBLASLt", [&](cudaStream_t st) {
    matmul.backward_input(dpre.data(), x, w, s.rows, s.hidden, s.channels, st,
                          static_cast<const bf16*>(pre.data()));
  });
  add("backward cuBLASLt + bias gradient", [&](cudaStream_t st) {
    matmul.backward_input(dpre.data(), x, w, s.rows, s.hidden, s.channels, st,
                          static_cast<const bf16*>(pre.data()));
    launch_bias_gradient(dbias.data(), static_cast<const bf16*>(dpre.data()), s.rows, s.hidden,
                         bias_scratch.data(), st);
  });
  add_own.template operator()<Product::slope_backward_input, 2>("cluster 2");
  add_own.template operator()<Product::slope_backward_input, 1>("cluster 1");
  add("backward own + bias gradient, as the trainer runs it", [&](cudaStream_t st) {
    launch_hopper_matmul_backward_input(dpre.data(), dbias.data(), x, w, slope.data(), s.rows, s.channels,
                                        s.hidden, sums, st);
    sums.flush(st);
  });

  for (const Variant& variant : variants) variant.launch(stream);  // cuBLASLt's search
  owned.synchronize();
  for (int round = 0; round < s.rounds; ++round) {
    for (Variant& variant : variants) measure(variant, s.block_ms, stream);
  }
  const double flops = static_cast<double>(hopper_matmul_forward_flops(s.rows, s.channels, s.hidden));
  std::printf("N %lld C %d H %d, %d blocks of %.0f ms each, in turn\n", static_cast<long long>(s.rows),
              s.channels, s.hidden, s.rounds, s.block_ms);
  std::printf("%-52s%10s%18s%9s%7s%8s\n", "product", "us", "lowest..highest", "TFLOP/s", "GHz", "pipe");
  for (Variant& variant : variants) {
    std::sort(variant.times_us.begin(), variant.times_us.end());
    const double time_us = variant.times_us[variant.times_us.size() / 2];
    const double peak = kFlopsPerClock * multiprocessor_count() * variant.clock_hz;
    std::printf("%-52s%10.1f%9.1f..%-7.1f%9.0f%7.3f%7.1f%%\n", variant.name.c_str(), time_us,
                variant.times_us.front(), variant.times_us.back(), flops / time_us / 1e6,
                variant.clock_hz / 1e9, 100.0 * flops / (time_us * 1e-6) / peak);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Times the own Hopper products with GELU beside cuBLASLt's");
  app.add_option("--rows", s.rows, "N: batch times sequence")->check(CLI::PositiveNumber);
  app.add_option("--channels", s.channels, "C")->check(CLI::PositiveNumber);
  app.add_option("--hidden", s.hidden, "H, 4C in GPT-2")->check(CLI::PositiveNumber);
  app.add_option("--block-ms", s.block_ms, "length of one timed block")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "blocks of a variant")->check(CLI::PositiveNumber);
  app.add_option("--only", s.only, "variants whose name contains this");
  CLI11_PARSE(app, argc, argv);
  return bench_main("bench_hopper", [&] { return run(s); });
}
