// bench_ops: time, bandwidth and FLOP rate of every op of the trainer at the size of GPT-2 124M.
//
//   bench_ops [NAME]     only the ops whose name contains NAME; "slow": the slow sides of the switches
//
// Each op runs back to back over several sets of buffers, so that a launch does not find its inputs in L2
// from the launch before; the figure is the median over blocks of launches, between two events. Bytes and
// FLOPs are the algorithmic minimum from the op's header, so the percentage understates the traffic of an op
// that moves more. Two-kernel ops include the gap between their kernels; partial sums are added once for many
// launches, as in the trainer. "written" before an op: its last input is written just before, as in a step,
// and the time and bytes of that are part of the row. The first rows are the yardstick: a device copy.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gpt2/bench/bench_main.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/bias/partial_sums.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "gpt2/ops/norm/layernorm.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/global_norm.h"

namespace {

using namespace ridgeline::gpt2;

constexpr double kPeakBytesPerS = 4.8e12;  // H200, specification
constexpr double kPeakFlops = 989e12;      // H200 dense bf16, specification
constexpr int kBatch = 32;
constexpr int kSeq = 1024;
constexpr int kChannels = 768;
constexpr int kHeads = 12;
constexpr int kVocab = 50257;
constexpr int kPaddedVocab = 50304;
constexpr std::int64_t kRows = std::int64_t{kBatch} * kSeq;
constexpr std::int64_t kParameters = 124'475'904;
constexpr std::int64_t kSumsBytes = std::int64_t{40} << 20;  // as the trainer has

__device__ unsigned scramble(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

template <typename T>
__global__ void random_kernel(T* data, std::int64_t n, float scale, unsigned seed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned bits = scramble(static_cast<unsigned>(i) ^ scramble(static_cast<unsigned>(i >> 32) + seed));
  data[i] = from_float<T>((static_cast<float>(bits >> 8) * 0x1p-23F - 1.0F) * scale);
}

__global__ void random_tokens_kernel(std::int32_t* tokens, std::int64_t n, unsigned vocab, bool skewed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned bits = scramble(static_cast<unsigned>(i) + 77U);
  const float u = static_cast<float>(bits >> 8) * 0x1p-24F;
  // Skewed: the probability of rank r falls about as 1/r, as in text.
  tokens[i] = skewed ? static_cast<std::int32_t>(min(expf(u * logf(static_cast<float>(vocab))), vocab - 1.0F))
                     : static_cast<std::int32_t>(bits % vocab);
}

// Several buffers of one kind; use number i takes the i-th in turn.
template <typename T>
class Rotating {
 public:
  Rotating(std::int64_t size, int count, float scale = 1.0F) {
    for (int i = 0; i < count; ++i) {
      buffers_.emplace_back(size);
      random_kernel<<<static_cast<unsigned>(ceil_div(size, 256)), 256>>>(buffers_.back().data(), size, scale,
                                                                         static_cast<unsigned>(i + 1));
      RIDGELINE_CUDA_CHECK_LAUNCH();
    }
  }
  T* operator[](int i) { return buffers_[static_cast<std::size_t>(i) % buffers_.size()].data(); }

 private:
  std::vector<DeviceBuffer<T>> buffers_;
};

class Bench {
 public:
  explicit Bench(std::string only) : only_(std::move(only)) {}

  void run(const std::string& name, std::int64_t bytes, std::int64_t flops,
           const std::function<void(int, cudaStream_t)>& op) {
    if (name.find(only_) == std::string::npos) return;
    constexpr int kWarmUp = 4;
    constexpr int kBlocks = 15;
    Event start;
    Event stop;
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    int use = 0;
    for (int i = 0; i < kWarmUp; ++i) op(use++, stream_.get());
    start.record(stream_.get());
    for (int i = 0; i < kWarmUp; ++i) op(use++, stream_.get());
    stop.record(stream_.get());
    stop.synchronize();
    const double estimate_ms = static_cast<double>(stop.elapsed_ms_since(start)) / kWarmUp;
    const int launches = std::clamp(static_cast<int>(4.0 / std::max(estimate_ms, 1e-4)), 2, 200);
    std::vector<double> times_us;
    for (int block = 0; block < kBlocks; ++block) {
      start.record(stream_.get());
      for (int i = 0; i < launches; ++i) op(use++, stream_.get());
      stop.record(stream_.get());
      stop.synchronize();
      times_us.push_back(static_cast<double>(stop.elapsed_ms_since(start)) * 1e3 / launches);
    }
    std::sort(times_us.begin(), times_us.end());
    const double time_us = times_us[times_us.size() / 2];
    const double bytes_per_s = static_cast<double>(bytes) / time_us * 1e6;
    const double flops_per_s = static_cast<double>(flops) / time_us * 1e6;
    std::printf("%-44s %10.1f %10.0f %7.1f %10.1f %7.1f\n", name.c_str(), time_us, bytes_per_s / 1e9,
                100.0 * bytes_per_s / kPeakBytesPerS, flops_per_s / 1e12, 100.0 * flops_per_s / kPeakFlops);
    std::fflush(stdout);
  }

 private:
  std::string only_;
  Stream stream_;
};

template <typename T>
void bench_activations(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  constexpr std::int64_t kSize = kRows * kChannels;
  constexpr int kSets = 4;
  Rotating<T> a(kSize, kSets), b(kSize, kSets), c(kSize, kSets), d(kSize, kSets);
  Rotating<T> weight(kChannels, 1), bias(kChannels, 1);
  Rotating<float> mean(kRows, kSets), rstd(kRows, kSets), dweight(kChannels, 1), dbias(kChannels, 1),
      colsum(kChannels, 1);
  DeviceBuffer<char> sums_memory(kSumsBytes);
  PartialSums sums(sums_memory.data(), sums_memory.size_bytes());

  bench.run("copy (N,C)" + suffix, 2 * kSize * std::int64_t{sizeof(T)}, 0, [&](int i, cudaStream_t s) {
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(a[i], b[i], kSize * sizeof(T), cudaMemcpyDeviceToDevice, s));
  });
  bench.run("residual_forward" + suffix, residual_forward_bytes<T>(kSize), residual_forward_flops(kSize),
            [&](int i, cudaStream_t s) { launch_residual_forward(a[i], b[i], c[i], kSize, s); });
  bench.run("layernorm_forward" + suffix, layernorm_forward_bytes<T>(kRows, kChannels),
            layernorm_forward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_layernorm_forward(a[i], mean[i], rstd[i], b[i], weight[i], bias[i], kRows, kChannels, s);
            });
  bench.run("residual_layernorm_forward" + suffix, residual_layernorm_forward_bytes<T>(kRows, kChannels),
            residual_layernorm_forward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_residual_layernorm_forward(a[i], d[i], mean[i], rstd[i], b[i], c[i], weight[i], bias[i],
                                                kRows, kChannels, s);
            });
  constexpr std::int64_t kBytes = kSize * std::int64_t{sizeof(T)};
  bench.run("write (N,C)" + suffix, kBytes, 0, [&](int i, cudaStream_t s) { launch_zero(c[i], kBytes, s); });
  bench.run("written residual_layernorm_forward" + suffix,
            kBytes + residual_layernorm_forward_bytes<T>(kRows, kChannels),
            residual_layernorm_forward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_zero(c[i], kBytes, s);
              launch_residual_layernorm_forward(a[i], d[i], mean[i], rstd[i], b[i], c[i], weight[i], bias[i],
                                                kRows, kChannels, s);
            });
  bench.run("written layernorm_backward + colsum" + suffix,
            kBytes + layernorm_backward_bytes<T>(kRows, kChannels),
            layernorm_backward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_zero(d[i], kBytes, s);
              launch_layernorm_backward(a[i], a[i], dweight[i], dbias[i], colsum[i], d[i], c[i], weight[i],
                                        mean[i], rstd[i], kRows, kChannels, sums, s);
            });
  bench.run("bias_gradient C" + suffix, bias_gradient_bytes<T>(kRows, kChannels),
            bias_gradient_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_bias_gradient(dbias[i], b[i], kRows, kChannels, kChannels, sums, s);
            });
  for (const bool with_sum : {false, true}) {
    bench.run(std::string("layernorm_backward") + (with_sum ? " + colsum" : "") + suffix,
              layernorm_backward_bytes<T>(kRows, kChannels), layernorm_backward_flops(kRows, kChannels),
              [&](int i, cudaStream_t s) {
                launch_layernorm_backward(a[i], a[i], dweight[i], dbias[i], with_sum ? colsum[i] : nullptr,
                                          b[i], c[i], weight[i], mean[i], rstd[i], kRows, kChannels, sums, s);
              });
  }
  bench.run("layernorm_backward, no residual" + suffix, layernorm_backward_bytes<T>(kRows, kChannels, false),
            layernorm_backward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_layernorm_backward<T>(a[i], nullptr, dweight[i], dbias[i], nullptr, b[i], c[i],
                                           weight[i], mean[i], rstd[i], kRows, kChannels, sums, s);
            });
}

// The widths of the larger GPT-2s, as many rows as make the tensors of the 124M model.
template <typename T>
void bench_layernorm_widths(Bench& bench) {
  constexpr std::int64_t kSize = kRows * kChannels;
  constexpr int kSets = 4;
  Rotating<T> a(kSize, kSets), b(kSize, kSets), c(kSize, kSets), d(kSize, kSets);
  Rotating<float> mean(kRows, kSets), rstd(kRows, kSets);
  for (const int channels : {1024, 1280, 1600}) {
    const std::string suffix = " C=" + std::to_string(channels) + " " + dtype_name<T>();
    const std::int64_t rows = kSize / channels;
    Rotating<T> weight(channels, 1), bias(channels, 1);
    Rotating<float> dweight(channels, 1), dbias(channels, 1), colsum(channels, 1);
    DeviceBuffer<char> sums_memory(kSumsBytes);
    PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
    bench.run("residual_layernorm_forward" + suffix, residual_layernorm_forward_bytes<T>(rows, channels),
              residual_layernorm_forward_flops(rows, channels), [&](int i, cudaStream_t s) {
                launch_residual_layernorm_forward(a[i], d[i], mean[i], rstd[i], b[i], c[i], weight[i],
                                                  bias[i], rows, channels, s);
              });
    bench.run("layernorm_backward + colsum" + suffix, layernorm_backward_bytes<T>(rows, channels),
              layernorm_backward_flops(rows, channels), [&](int i, cudaStream_t s) {
                launch_layernorm_backward(a[i], a[i], dweight[i], dbias[i], colsum[i], b[i], c[i], weight[i],
                                          mean[i], rstd[i], rows, channels, sums, s);
              });
  }
}

template <typename T>
void bench_wide(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  constexpr std::int64_t kSize = kRows * 4 * kChannels;
  Rotating<T> a(kSize, 2), b(kSize, 2);
  Rotating<float> dbias(4 * kChannels, 1);
  DeviceBuffer<char> sums_memory(kSumsBytes);
  PartialSums sums(sums_memory.data(), sums_memory.size_bytes());
  bench.run("gelu_forward (N,4C)" + suffix, gelu_forward_bytes<T>(kSize), gelu_forward_flops(kSize),
            [&](int i, cudaStream_t s) { launch_gelu_forward(a[i], b[i], kSize, s); });
  bench.run("gelu_backward in place (N,4C)" + suffix, gelu_backward_bytes<T>(kSize),
            gelu_backward_flops(kSize),
            [&](int i, cudaStream_t s) { launch_gelu_backward(a[i], b[i], a[i], kSize, s); });
  bench.run("gelu_backward, bias_gradient in place (N,4C)" + suffix,
            gelu_backward_bytes<T>(kSize) + bias_gradient_bytes<T>(kRows, 4 * kChannels),
            gelu_backward_flops(kSize) + bias_gradient_flops(kRows, 4 * kChannels),
            [&](int i, cudaStream_t s) {
              launch_gelu_backward(a[i], b[i], a[i], kSize, s);
              launch_bias_gradient(dbias[i], a[i], kRows, 4 * kChannels, 4 * kChannels, sums, s);
            });
  bench.run("gelu_bias_backward in place (N,4C)" + suffix, gelu_bias_backward_bytes<T>(kRows, 4 * kChannels),
            gelu_bias_backward_flops(kRows, 4 * kChannels), [&](int i, cudaStream_t s) {
              launch_gelu_bias_backward(a[i], dbias[i], b[i], a[i], kRows, 4 * kChannels, sums, s);
            });
  for (const int factor : {3, 4}) {
    bench.run("bias_gradient " + std::to_string(factor) + "C" + suffix,
              bias_gradient_bytes<T>(kRows, factor * kChannels),
              bias_gradient_flops(kRows, factor * kChannels), [&](int i, cudaStream_t s) {
                launch_bias_gradient(dbias[i], b[i], kRows, factor * kChannels, factor * kChannels, sums, s);
              });
  }
}

std::int64_t distinct_count(const DeviceBuffer<std::int32_t>& tokens) {
  auto sorted = tokens.download();
  std::sort(sorted.begin(), sorted.end());
  return std::unique(sorted.begin(), sorted.end()) - sorted.begin();
}

template <typename T>
void bench_encoder(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  Rotating<T> out(kRows * kChannels, 4), wte(std::int64_t{kPaddedVocab} * kChannels, 2),
      wpe(kSeq * kChannels, 1);
  Rotating<float> dwte(std::int64_t{kPaddedVocab} * kChannels, 2), dwpe(kSeq * kChannels, 1);
  DeviceBuffer<std::int32_t> tokens(kRows);
  DeviceBuffer<char> scratch(
      encoder_backward_scratch_bytes(kBatch, kSeq, kChannels, EncoderBackward::deterministic));
  for (const bool skewed : {false, true}) {
    random_tokens_kernel<<<static_cast<unsigned>(ceil_div(kRows, 256)), 256>>>(tokens.data(), kRows, kVocab,
                                                                               skewed);
    RIDGELINE_CUDA_CHECK_LAUNCH();
    const std::int64_t count = distinct_count(tokens);
    const std::string what = std::string(skewed ? ", skewed" : ", uniform") + suffix;
    bench.run("encoder_forward" + what, encoder_forward_bytes<T>(kBatch, kSeq, kChannels, count),
              encoder_forward_flops(kBatch, kSeq, kChannels), [&](int i, cudaStream_t s) {
                launch_encoder_forward(out[i], tokens.data(), wte[i], wpe[i], kBatch, kSeq, kChannels, s);
              });
    for (const auto mode : {EncoderBackward::atomic, EncoderBackward::deterministic}) {
      bench.run(
          std::string("encoder_backward ") + (mode == EncoderBackward::atomic ? "atomic" : "sorted") + what,
          encoder_backward_bytes<T>(kBatch, kSeq, kChannels, count),
          encoder_backward_flops(kBatch, kSeq, kChannels), [&](int i, cudaStream_t s) {
            launch_encoder_backward(dwte[i], dwpe[i], out[i], tokens.data(), kBatch, kSeq, kChannels, kVocab,
                                    mode, scratch.data(), s);
          });
    }
  }
}

template <typename T>
void bench_classifier(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  Rotating<T> logits(kRows * kPaddedVocab, 1, 5.0F);
  Rotating<float> losses(kRows, 1), mean(1, 1);
  DeviceBuffer<std::int32_t> targets(kRows);
  random_tokens_kernel<<<static_cast<unsigned>(ceil_div(kRows, 256)), 256>>>(targets.data(), kRows, kVocab,
                                                                             false);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  bench.run("classifier_loss" + suffix, classifier_loss_bytes<T>(kRows, kVocab),
            classifier_loss_flops(kRows, kVocab), [&](int i, cudaStream_t s) {
              launch_classifier_loss(losses[i], logits[i], targets.data(), kRows, kVocab, kPaddedVocab, s);
            });
  bench.run("fused_classifier" + suffix, fused_classifier_bytes<T>(kRows, kPaddedVocab),
            fused_classifier_flops(kRows, kVocab), [&](int i, cudaStream_t s) {
              launch_fused_classifier(logits[i], losses[i], targets.data(), 1.0F / kRows, kRows, kVocab,
                                      kPaddedVocab, s);
            });
  bench.run("loss_sum" + suffix, loss_sum_bytes(kRows), loss_sum_flops(kRows), [&](int i, cudaStream_t s) {
    launch_loss_sum(mean[i], losses[i], kRows, 1.0F / kRows, false, s);
  });
}

template <typename T>
void bench_optimizer(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  Rotating<T> params(kParameters, 1);
  Rotating<float> master(kParameters, 1), m(kParameters, 1), v(kParameters, 1, 0.0F),
      grads(kParameters, 1, 1e-3F);
  DeviceBuffer<GradientNorm> norm(1);
  DeviceBuffer<char> scratch(global_norm_scratch_bytes());
  std::vector<WeightDecayRange> ranges;
  for (int i = 0; i < 8; ++i)
    ranges.push_back({kParameters / 16 * 2 * i, kParameters / 16 * (2 * i + 1), 0.1F});
  // AdamW does nothing without a finite norm, also when NAME leaves the norm's own row out.
  launch_global_norm(norm.data(), grads[0], kParameters, 1.0F, scratch.data(), nullptr);
  bench.run("global_norm" + suffix, global_norm_bytes(kParameters), global_norm_flops(kParameters),
            [&](int i, cudaStream_t s) {
              launch_global_norm(norm.data(), grads[i], kParameters, 1.0F, scratch.data(), s);
            });
  constexpr bool kMaster = sizeof(T) == 2;
  bench.run("adamw" + suffix, adamw_bytes<T>(kParameters), adamw_flops(kParameters),
            [&](int i, cudaStream_t s) {
              launch_adamw<T>(params[i], kMaster ? master[i] : nullptr, m[i], v[i], grads[i], norm.data(),
                              kParameters, ranges, {}, s);
            });
  bench.run("zero gradients" + suffix, kParameters * 4, 0,
            [&](int i, cudaStream_t s) { launch_zero(master[i], kParameters * 4, s); });
}

template <typename T>
void bench_attention(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  constexpr int kHeadSize = kChannels / kHeads;
  constexpr std::int64_t kSize = kRows * kChannels;
  Rotating<T> qkv(3 * kSize, 2), dqkv(3 * kSize, 2), out(kSize, 2), dout(kSize, 2);
  Rotating<float> lse(std::int64_t{kBatch} * kHeads * kSeq, 2);
  DeviceBuffer<char> scratch(attention_backward_scratch_bytes(kBatch, kSeq, kHeads));
  bench.run("attention_forward" + suffix, attention_forward_bytes<T>(kBatch, kSeq, kHeads, kHeadSize),
            attention_forward_flops(kBatch, kSeq, kHeads, kHeadSize), [&](int i, cudaStream_t s) {
              launch_attention_forward(out[i], lse[i], qkv[i], kBatch, kSeq, kHeads, kHeadSize, s);
            });
  for (int i = 0; i < 2; ++i) {
    launch_attention_forward(out[i], lse[i], qkv[i], kBatch, kSeq, kHeads, kHeadSize, nullptr);
  }
  bench.run("attention_backward" + suffix, attention_backward_bytes<T>(kBatch, kSeq, kHeads, kHeadSize),
            attention_backward_flops(kBatch, kSeq, kHeads, kHeadSize), [&](int i, cudaStream_t s) {
              launch_attention_backward(dqkv[i], dout[i], qkv[i], out[i], lse[i], kBatch, kSeq, kHeads,
                                        kHeadSize, scratch.data(), s);
            });
}

constexpr KernelWidth kScalar = KernelWidth::scalar;

template <typename T>
void bench_slow_activations(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  constexpr std::int64_t kSize = kRows * kChannels;
  Rotating<T> a(4 * kSize, 2), b(4 * kSize, 2), c(kSize, 2), d(kSize, 2), weight(kChannels, 1),
      bias(kChannels, 1);
  Rotating<float> mean(kRows, 2), rstd(kRows, 2), sums(kChannels, 3), dbias(4 * kChannels, 1);
  DeviceBuffer<char> scratch(
      std::max(layernorm_backward_scratch_bytes(kChannels), bias_gradient_scratch_bytes(4 * kChannels)));
  bench.run("slow residual_forward scalar" + suffix, residual_forward_bytes<T>(kSize),
            residual_forward_flops(kSize),
            [&](int i, cudaStream_t s) { launch_residual_forward(d[i], b[i], c[i], kSize, s, kScalar); });
  bench.run("slow layernorm_forward scalar" + suffix, layernorm_forward_bytes<T>(kRows, kChannels),
            layernorm_forward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_layernorm_forward(d[i], mean[i], rstd[i], c[i], weight[i], bias[i], kRows, kChannels, s,
                                       kScalar);
            });
  bench.run("slow residual_layernorm_forward scalar" + suffix,
            residual_layernorm_forward_bytes<T>(kRows, kChannels),
            residual_layernorm_forward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_residual_layernorm_forward(a[i], d[i], mean[i], rstd[i], b[i], c[i], weight[i], bias[i],
                                                kRows, kChannels, s, kScalar);
            });
  bench.run("slow layernorm_backward scalar" + suffix, layernorm_backward_bytes<T>(kRows, kChannels),
            layernorm_backward_flops(kRows, kChannels), [&](int i, cudaStream_t s) {
              launch_layernorm_backward(a[i], a[i], sums[0], sums[1], sums[2], b[i], c[i], weight[i], mean[i],
                                        rstd[i], kRows, kChannels, scratch.data(), s, kScalar);
            });
  bench.run("slow gelu_forward scalar (N,4C)" + suffix, gelu_forward_bytes<T>(4 * kSize),
            gelu_forward_flops(4 * kSize),
            [&](int i, cudaStream_t s) { launch_gelu_forward(a[i], b[i], 4 * kSize, s, kScalar); });
  bench.run("slow gelu_backward scalar (N,4C)" + suffix, gelu_backward_bytes<T>(4 * kSize),
            gelu_backward_flops(4 * kSize),
            [&](int i, cudaStream_t s) { launch_gelu_backward(a[i], b[i], a[i], 4 * kSize, s, kScalar); });
  for (const int factor : {1, 3, 4}) {
    const int channels = factor * kChannels;
    const std::string what = std::to_string(factor) + "C" + suffix;
    bench.run("slow bias_gradient scalar " + what, bias_gradient_bytes<T>(kRows, channels),
              bias_gradient_flops(kRows, channels), [&](int i, cudaStream_t s) {
                launch_bias_gradient(dbias[i], b[i], kRows, channels, scratch.data(), s, kScalar);
              });
    bench.run("slow bias_gradient naive " + what, bias_gradient_bytes<T>(kRows, channels),
              bias_gradient_flops(kRows, channels),
              [&](int i, cudaStream_t s) { launch_bias_gradient_naive(dbias[i], b[i], kRows, channels, s); });
  }
}

template <typename T>
void bench_slow_ends(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  constexpr std::int64_t kTable = std::int64_t{kPaddedVocab} * kChannels;
  Rotating<T> out(kRows * kChannels, 2), wte(kTable, 1), wpe(kSeq * kChannels, 1);
  Rotating<float> dwte(kTable, 1), dwpe(kSeq * kChannels, 1);
  DeviceBuffer<std::int32_t> tokens(kRows);
  random_tokens_kernel<<<static_cast<unsigned>(ceil_div(kRows, 256)), 256>>>(tokens.data(), kRows, kVocab,
                                                                             true);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  const std::int64_t count = distinct_count(tokens);
  bench.run("slow encoder_forward scalar" + suffix, encoder_forward_bytes<T>(kBatch, kSeq, kChannels, count),
            encoder_forward_flops(kBatch, kSeq, kChannels), [&](int i, cudaStream_t s) {
              launch_encoder_forward(out[i], tokens.data(), wte[i], wpe[i], kBatch, kSeq, kChannels, s,
                                     kScalar);
            });
  bench.run("slow encoder_backward atomic scalar" + suffix,
            encoder_backward_bytes<T>(kBatch, kSeq, kChannels, count),
            encoder_backward_flops(kBatch, kSeq, kChannels), [&](int i, cudaStream_t s) {
              launch_encoder_backward(dwte[i], dwpe[i], out[i], tokens.data(), kBatch, kSeq, kChannels,
                                      kVocab, EncoderBackward::atomic, nullptr, s, kScalar);
            });
  Rotating<T> logits(kRows * kPaddedVocab, 1, 5.0F);
  Rotating<float> losses(kRows, 1), log_probs(log_probs_size(kRows, kPaddedVocab), 1);
  bench.run("slow fused_classifier scalar" + suffix, fused_classifier_bytes<T>(kRows, kPaddedVocab),
            fused_classifier_flops(kRows, kVocab), [&](int i, cudaStream_t s) {
              launch_fused_classifier(logits[i], losses[i], tokens.data(), 1.0F / kRows, kRows, kVocab,
                                      kPaddedVocab, s, kScalar);
            });
  for (const KernelWidth width : {KernelWidth::packed, kScalar}) {
    const std::string what = (width == KernelWidth::packed ? " packed" : " scalar") + suffix;
    bench.run("slow log_softmax" + what, log_softmax_bytes<T>(kRows, kVocab),
              log_softmax_flops(kRows, kVocab), [&](int i, cudaStream_t s) {
                launch_log_softmax(log_probs[i], logits[i], kRows, kVocab, kPaddedVocab, s, width);
              });
    bench.run("slow cross_entropy_backward" + what,
              cross_entropy_backward_bytes<T>(kRows, kVocab, kPaddedVocab),
              cross_entropy_backward_flops(kRows, kVocab), [&](int i, cudaStream_t s) {
                launch_cross_entropy_backward(logits[i], log_probs[i], tokens.data(), 1.0F / kRows, kRows,
                                              kVocab, kPaddedVocab, s, width);
              });
  }
  bench.run("slow cross_entropy" + suffix, cross_entropy_bytes(kRows), cross_entropy_flops(kRows),
            [&](int i, cudaStream_t s) {
              launch_cross_entropy(losses[i], log_probs[i], tokens.data(), kRows, kVocab, kPaddedVocab, s);
            });
}

// As many tensors, of the sizes, as the 124M model has; matrices decay.
std::vector<WeightDecayRange> tensors_of_124m() {
  constexpr std::int64_t c = kChannels;
  std::vector<WeightDecayRange> tensors;
  const auto add = [&](std::int64_t count, float weight_decay) {
    const std::int64_t begin = tensors.empty() ? 0 : tensors.back().end;
    tensors.push_back({begin, begin + count, weight_decay});
  };
  add(kPaddedVocab * c, 0.1F);
  add(kSeq * c, 0.1F);
  for (int layer = 0; layer < 12; ++layer) {
    for (const std::int64_t columns : {3, 1, 4, 4}) {  // qkv, attproj, fc, fcproj: the weight, then the bias
      add(columns * c * c, 0.1F);
      add(columns * c, 0.0F);
    }
    for (int i = 0; i < 4; ++i) add(c, 0.0F);  // ln1, ln2
  }
  add(c, 0.0F);
  add(c, 0.0F);
  return tensors;
}

template <typename T>
void bench_slow_optimizer(Bench& bench) {
  const std::string suffix = std::string(" ") + dtype_name<T>();
  const std::vector<WeightDecayRange> tensors = tensors_of_124m();
  const std::int64_t n = tensors.back().end;
  std::vector<GradientRange> gradients;
  for (const WeightDecayRange& tensor : tensors) gradients.push_back({tensor.begin, tensor.end});
  Rotating<T> params(n, 1);
  Rotating<float> master(n, 1), m(n, 1), v(n, 1, 0.0F), grads(n, 1, 1e-3F);
  DeviceBuffer<GradientNorm> norm(1);
  DeviceBuffer<char> scratch(
      std::max(global_norm_scratch_bytes(), global_norm_per_tensor_scratch_bytes(gradients)));
  bench.run("slow global_norm scalar" + suffix, global_norm_bytes(n), global_norm_flops(n),
            [&](int i, cudaStream_t s) {
              launch_global_norm(norm.data(), grads[i], n, 1.0F, scratch.data(), s, kScalar);
            });
  bench.run("slow global_norm per tensor" + suffix, global_norm_bytes(n), global_norm_flops(n),
            [&](int i, cudaStream_t s) {
              launch_global_norm_per_tensor(norm.data(), grads[i], gradients, 1.0F, scratch.data(), s);
            });
  float* of_master = sizeof(T) == 2 ? master[0] : nullptr;
  bench.run("slow adamw scalar" + suffix, adamw_bytes<T>(n), adamw_flops(n), [&](int i, cudaStream_t s) {
    launch_adamw<T>(params[i], of_master, m[i], v[i], grads[i], norm.data(), n, {}, {}, s, nullptr,
                    {kScalar, {}, 0});
  });
  bench.run("slow adamw per tensor" + suffix, adamw_bytes<T>(n), adamw_flops(n), [&](int i, cudaStream_t s) {
    launch_adamw_per_tensor<T>(params[i], of_master, m[i], v[i], grads[i], norm.data(), tensors, {}, s);
  });
  if constexpr (sizeof(T) == 2) {
    bench.run("slow adamw stochastic" + suffix, adamw_bytes<T>(n), adamw_flops(n),
              [&](int i, cudaStream_t s) {
                launch_adamw<T>(params[i], of_master, m[i], v[i], grads[i], norm.data(), n, {}, {}, s,
                                nullptr, {KernelWidth::packed, {true, 1}, 0});
              });
  }
}

template <typename T>
void bench_all(Bench& bench) {
  bench_activations<T>(bench);
  bench_layernorm_widths<T>(bench);
  bench_wide<T>(bench);
  bench_encoder<T>(bench);
  bench_classifier<T>(bench);
  bench_optimizer<T>(bench);
  bench_attention<T>(bench);
  bench_slow_activations<T>(bench);
  bench_slow_ends<T>(bench);
  bench_slow_optimizer<T>(bench);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: bench_ops [NAME]   (only the ops whose name contains NAME)\n");
    return 2;
  }
  return bench_main("bench_ops", [&] {
    std::printf("%-44s %10s %10s %7s %10s %7s\n", "op (B=32, T=1024, C=768)", "median us", "GB/s", "% DRAM",
                "TFLOP/s", "% bf16");
    Bench bench(argc == 2 ? argv[1] : "");
    bench_all<bf16>(bench);
    bench_all<float>(bench);
    return 0;
  });
}
