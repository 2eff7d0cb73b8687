// bench_attention: the Hopper attention beside cuDNN's and the portable own one, forward and backward, over
// sequence lengths.
//
// The tokens of a batch stay the same at every length (--tokens). Variants take turns in blocks of --block-ms
// (clocked_timing.cuh); contents are random, since power depends on them. FLOPs are counted causal. A variant's
// largest difference from the portable kernels stands beside its time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/bench/bench_main.h"
#include "gpt2/bench/clocked_timing.cuh"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/fp8/cast_transpose.h"

namespace {

using namespace ridgeline::gpt2;

constexpr double kFlopsPerClock = 4096.0;  // dense bf16, of one multiprocessor of sm_90

struct Settings {
  int tokens = 32768;
  int heads = 12;
  int head_size = 64;
  std::vector<int> lengths = {512, 1024, 2048, 4096, 8192};
  double block_ms = 60.0;
  int rounds = 5;
  std::string only;
};

struct Timed {
  Variant variant;
  double flops;
  const bf16* result;  // null: not compared
  std::int64_t result_size;
  const bf16* expected;
};

void print(std::vector<Timed>& all, int batch, int seq, const Settings& s, cudaStream_t stream) {
  std::printf("B %d T %d NH %d HS %d, %d blocks of %.0f ms each, in turn\n", batch, seq, s.heads, s.head_size,
              s.rounds, s.block_ms);
  std::printf("  %-30s%10s%18s%9s%7s%8s%12s\n", "attention", "us", "lowest..highest", "TFLOP/s", "GHz",
              "pipe", "difference");
  DeviceBuffer<float> difference(2);
  for (Timed& timed : all) {
    std::vector<double>& times_us = timed.variant.times_us;
    std::sort(times_us.begin(), times_us.end());
    const double time_us = times_us[times_us.size() / 2];
    const double peak = kFlopsPerClock * multiprocessor_count() * timed.variant.clock_hz;
    std::printf("  %-30s%10.1f%9.1f..%-7.1f%9.0f%7.3f%7.1f%%", timed.variant.name.c_str(), time_us,
                times_us.front(), times_us.back(), timed.flops / time_us / 1e6, timed.variant.clock_hz / 1e9,
                100.0 * timed.flops / (time_us * 1e-6) / peak);
    if (timed.result == nullptr) {
      std::printf("\n");
      continue;
    }
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(difference.data(), 0, 2 * sizeof(float), stream));
    timed.variant.launch(stream);
    launch_compare(difference.data(), timed.expected, timed.result, timed.result_size, stream);
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
    std::printf("%12.4f\n", static_cast<double>(difference.download()[1]));
  }
}

void bench_length(const Settings& s, int seq, cudaStream_t stream) {
  const int batch = std::max(1, s.tokens / seq);
  const std::int64_t n = static_cast<std::int64_t>(batch) * seq * s.heads * s.head_size;
  const std::int64_t rows = static_cast<std::int64_t>(batch) * seq * s.heads;
  DeviceBuffer<bf16> qkv(3 * n), dout(n), out(n), out_expected(n), dqkv(3 * n), dqkv_expected(3 * n);
  DeviceBuffer<float> lse(rows), lse_expected(rows);
  DeviceBuffer<char> scratch(attention_backward_scratch_bytes(batch, seq, s.heads));
  launch_fill_normal(qkv.data(), 3 * n, 1.0F, 1, stream);
  launch_fill_normal(dout.data(), n, 1.0F, 2, stream);
  const bf16* q = qkv.data();
  const bf16* d = dout.data();
  const bf16* y = out_expected.data();
  const auto own_forward = [&](bf16* to, float* statistics, cudaStream_t st) {
    launch_attention_forward(to, statistics, q, batch, seq, s.heads, s.head_size, st);
  };
  const auto own_backward = [&](bf16* to, cudaStream_t st) {
    launch_attention_backward(to, d, q, y, static_cast<const float*>(lse_expected.data()), batch, seq,
                              s.heads, s.head_size, scratch.data(), st);
  };
  own_forward(out_expected.data(), lse_expected.data(), stream);
  own_backward(dqkv_expected.data(), stream);

  const double forward_flops = static_cast<double>(attention_forward_flops(batch, seq, s.heads, s.head_size));
  std::vector<Timed> all;
  const auto add = [&](const std::string& name, bool forward, Launch launch) {
    if (name.find(s.only) == std::string::npos) return;
    all.push_back({{name, std::move(launch)},
                   forward ? forward_flops : 2.5 * forward_flops,
                   forward ? out.data() : dqkv.data(),
                   forward ? n : 3 * n,
                   forward ? out_expected.data() : dqkv_expected.data()});
  };
  const auto add_uncompared = [&](const std::string& name, Launch launch) {
    if (name.find(s.only) == std::string::npos) return;
    all.push_back({{name, std::move(launch)}, 2.5 * forward_flops, nullptr, 0, nullptr});
  };
  std::unique_ptr<CudnnAttention> cudnn;
  if (cudnn_attention_available()) {
    cudnn = std::make_unique<CudnnAttention>(false);
    cudnn->prepare(batch, seq, s.heads, s.head_size);
    add("forward cuDNN", true, [&](cudaStream_t st) {
      cudnn->forward(out.data(), lse.data(), q, batch, seq, s.heads, s.head_size, st);
    });
  }
  const bool hopper = hopper_attention_supported(batch, seq, s.heads, s.head_size);
  if (hopper) {
    add("forward Hopper", true, [&](cudaStream_t st) {
      launch_hopper_attention_forward(out.data(), lse.data(), q, batch, seq, s.heads, s.head_size, st);
    });
  }
  add("forward portable", true, [&](cudaStream_t st) { own_forward(out.data(), lse.data(), st); });
  if (cudnn != nullptr) {
    add("backward cuDNN", false, [&](cudaStream_t st) {
      cudnn->backward(dqkv.data(), d, q, y, lse_expected.data(), batch, seq, s.heads, s.head_size, st);
    });
  }
  DeviceBuffer<char> hopper_scratch;
  if (hopper_attention_backward_supported(batch, seq, s.heads, s.head_size)) {
    hopper_scratch =
        DeviceBuffer<char>(hopper_attention_backward_scratch_bytes(batch, seq, s.heads, s.head_size));
    for (const bool deterministic : {false, true}) {
      add(deterministic ? "backward Hopper, deterministic" : "backward Hopper", false,
          [&, deterministic](cudaStream_t st) {
            launch_hopper_attention_backward(dqkv.data(), d, q, y, lse_expected.data(), batch, seq, s.heads,
                                             s.head_size, hopper_scratch.data(), deterministic, st);
          });
    }
  }
  add("backward portable", false, [&](cudaStream_t st) { own_backward(dqkv.data(), st); });
  // With what the FP8 step needs behind it: dqkv in E5M2 both ways, and the queries' or the whole bias gradient.
  const std::int64_t positions = static_cast<std::int64_t>(batch) * seq;
  const int columns = 3 * s.heads * s.head_size;
  DeviceBuffer<std::uint8_t> bytes, transposed;
  DeviceBuffer<float> scale(1), dbias(columns), sums_memory;
  if (hopper_attention_backward_fp8_supported(batch, seq, s.heads, s.head_size)) {
    bytes = DeviceBuffer<std::uint8_t>(3 * n);
    transposed = DeviceBuffer<std::uint8_t>(3 * n);
    sums_memory = DeviceBuffer<float>(fp8_partial_sums(positions, columns));
    scale.upload({1024.0F});
    dbias.upload(std::vector<float>(static_cast<std::size_t>(columns)));
    const Fp8Output target{bytes.data(), transposed.data(), {scale.data(), nullptr}};
    const auto in_e5m2 = [&, target](cudaStream_t st) {
      launch_hopper_attention_backward_fp8(target, d, q, y, lse_expected.data(), batch, seq, s.heads,
                                           s.head_size, hopper_scratch.data(), false, st);
    };
    add_uncompared("backward Hopper, E5M2", in_e5m2);
    add_uncompared("backward Hopper, E5M2, sums", [&, in_e5m2](cudaStream_t st) {
      in_e5m2(st);
      launch_bias_gradient_fp8(dbias.data(), transposed.data(), scale.data(), positions, columns / 3, st);
    });
    add("backward Hopper, then cast", false, [&, target](cudaStream_t st) {
      launch_hopper_attention_backward(dqkv.data(), d, q, y, lse_expected.data(), batch, seq, s.heads,
                                       s.head_size, hopper_scratch.data(), false, st);
      PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
      launch_fp8_cast(target, Fp8Format::e5m2, dbias.data(), dqkv.data(), positions, columns, &sums, st);
    });
  }

  for (const Timed& timed : all) timed.variant.launch(stream);  // first use
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  for (int round = 0; round < s.rounds; ++round) {
    for (Timed& timed : all) measure(timed.variant, s.block_ms, stream);
  }
  print(all, batch, seq, s, stream);
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Times the Hopper attention beside cuDNN's and the portable own one");
  app.add_option("--tokens", s.tokens, "batch times sequence")->check(CLI::PositiveNumber);
  app.add_option("--heads", s.heads, "NH")->check(CLI::PositiveNumber);
  app.add_option("--head-size", s.head_size, "HS: 64 or 128")->check(CLI::Range(1, 128));
  app.add_option("--lengths", s.lengths, "T, several")->check(CLI::PositiveNumber);
  app.add_option("--block-ms", s.block_ms, "length of one timed block")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "blocks of a variant")->check(CLI::PositiveNumber);
  app.add_option("--only", s.only, "variants whose name contains this");
  CLI11_PARSE(app, argc, argv);
  return bench_main("bench_attention", [&] {
    const Stream stream;
    for (const int length : s.lengths) bench_length(s, length, stream.get());
    return 0;
  });
}
