// KernelWidth::scalar of every op that has wide accesses: that another kernel runs, that its results are
// those of the packed one within rounding, and that the separate residual addition changes no bit.
#include <functional>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/norm/layernorm.h"
#include "gpt2/ops/optimizer/adamw.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_kernel_width_test {
namespace {

using namespace ops_test;

template <typename T>
class Width : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Width, ElementTypes);

constexpr KernelWidth kWidths[] = {KernelWidth::packed, KernelWidth::scalar};

// The kernels that `launch` launches, by function.
std::vector<const void*> kernels_of(const Stream& stream, const std::function<void()>& launch) {
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  launch();
  cudaGraph_t graph = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  std::size_t count = 0;
  RIDGELINE_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  RIDGELINE_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<const void*> kernels;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    RIDGELINE_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams params{};
    RIDGELINE_CUDA_CHECK(cudaGraphKernelNodeGetParams(node, &params));
    kernels.push_back(params.func);
  }
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
  return kernels;
}

// Inputs of a width and size at which every op has a packed kernel.
template <typename T>
struct Operands {
  static constexpr std::int64_t kRows = 64;
  static constexpr int kChannels = 768;
  static constexpr std::int64_t kCount = kRows * kChannels;
  DeviceBuffer<T> a = to_device<T>(random_values<T>(kCount, 1));
  DeviceBuffer<T> b = to_device<T>(random_values<T>(kCount, 2));
  DeviceBuffer<T> c = to_device<T>(random_values<T>(kCount, 3));
  DeviceBuffer<T> out = poisoned<T>(kCount);
  DeviceBuffer<T> other = poisoned<T>(kCount);
  DeviceBuffer<float> mean = to_device<float>(random_values<float>(kRows, 4, 0.1));
  DeviceBuffer<float> rstd = to_device<float>(std::vector<double>(kRows, 1.0));
  DeviceBuffer<float> dweight{kChannels}, dbias{kChannels}, colsum{kChannels}, losses{kRows};
  DeviceBuffer<float> wide = to_device<float>(random_values<float>(kCount, 5));
  DeviceBuffer<float> m = to_device<float>(random_values<float>(kCount, 6));
  DeviceBuffer<float> v = to_device<float>(std::vector<double>(kCount, 1.0));
  DeviceBuffer<float> grads = to_device<float>(random_values<float>(kCount, 7));
  DeviceBuffer<std::int32_t> tokens = to_device(std::vector<std::int32_t>(kRows, 5));
  DeviceBuffer<char> scratch{
      std::max({layernorm_backward_scratch_bytes(kChannels), bias_gradient_scratch_bytes(kChannels),
                encoder_backward_scratch_bytes(1, kRows, kChannels, EncoderBackward::deterministic)})};
};

TYPED_TEST(Width, ScalarRunsAnotherKernel) {
  using T = TypeParam;
  const Stream stream;
  cudaStream_t s = stream.get();
  Operands<T> o;
  constexpr auto kRows = Operands<T>::kRows;
  constexpr auto kChannels = Operands<T>::kChannels;
  constexpr auto kCount = Operands<T>::kCount;
  const std::vector<std::pair<const char*, std::function<void(KernelWidth)>>> ops = {
      {"residual_forward",
       [&](KernelWidth w) { launch_residual_forward(o.out.data(), o.a.data(), o.b.data(), kCount, s, w); }},
      {"gelu_forward", [&](KernelWidth w) { launch_gelu_forward(o.out.data(), o.a.data(), kCount, s, w); }},
      {"gelu_backward",
       [&](KernelWidth w) { launch_gelu_backward(o.out.data(), o.a.data(), o.b.data(), kCount, s, w); }},
      {"layernorm_forward",
       [&](KernelWidth w) {
         launch_layernorm_forward(o.out.data(), o.mean.data(), o.rstd.data(), o.a.data(), o.b.data(),
                                  o.c.data(), kRows, kChannels, s, w);
       }},
      {"residual_layernorm_forward",
       [&](KernelWidth w) {
         launch_residual_layernorm_forward(o.out.data(), o.other.data(), o.mean.data(), o.rstd.data(),
                                           o.a.data(), o.b.data(), o.c.data(), o.c.data(), kRows, kChannels,
                                           s, w);
       }},
      {"layernorm_backward",
       [&](KernelWidth w) {
         launch_layernorm_backward(o.out.data(), o.c.data(), o.dweight.data(), o.dbias.data(),
                                   o.colsum.data(), o.a.data(), o.b.data(), o.c.data(), o.mean.data(),
                                   o.rstd.data(), kRows, kChannels, o.scratch.data(), s, w);
       }},
      {"bias_gradient",
       [&](KernelWidth w) {
         launch_bias_gradient(o.dbias.data(), o.a.data(), kRows, kChannels, o.scratch.data(), s, w);
       }},
      {"encoder_forward",
       [&](KernelWidth w) {
         launch_encoder_forward(o.out.data(), o.tokens.data(), o.a.data(), o.b.data(), 1, kRows, kChannels, s,
                                w);
       }},
      {"encoder_backward, atomic",
       [&](KernelWidth w) {
         launch_encoder_backward(o.wide.data(), o.m.data(), o.a.data(), o.tokens.data(), 1, kRows, kChannels,
                                 kRows, EncoderBackward::atomic, nullptr, s, w);
       }},
      {"encoder_backward, deterministic",
       [&](KernelWidth w) {
         launch_encoder_backward(o.wide.data(), o.m.data(), o.a.data(), o.tokens.data(), 1, kRows, kChannels,
                                 kRows, EncoderBackward::deterministic, o.scratch.data(), s, w);
       }},
      {"classifier_loss",
       [&](KernelWidth w) {
         launch_classifier_loss(o.losses.data(), o.a.data(), o.tokens.data(), kRows, 700, kChannels, s, w);
       }},
      {"fused_classifier",
       [&](KernelWidth w) {
         launch_fused_classifier(o.a.data(), o.losses.data(), o.tokens.data(), 1.0F, kRows, 700, kChannels, s,
                                 w);
       }},
      {"log_softmax",
       [&](KernelWidth w) { launch_log_softmax(o.wide.data(), o.a.data(), kRows, 700, kChannels, s, w); }},
      {"cross_entropy_backward",
       [&](KernelWidth w) {
         launch_cross_entropy_backward(o.a.data(), o.wide.data(), o.tokens.data(), 1.0F, kRows, 700,
                                       kChannels, s, w);
       }},
      {"adamw",
       [&](KernelWidth w) {
         launch_adamw<T>(o.a.data(), sizeof(T) == 2 ? o.wide.data() : nullptr, o.m.data(), o.v.data(),
                         o.grads.data(), nullptr, kCount, {}, {}, s, nullptr, {w, {}, 0});
       }},
  };
  for (const auto& [name, launch] : ops) {
    const auto packed = kernels_of(stream, [&] { launch(KernelWidth::packed); });
    const auto scalar = kernels_of(stream, [&] { launch(KernelWidth::scalar); });
    EXPECT_FALSE(packed.empty()) << name;
    EXPECT_NE(packed, scalar) << name << ": the same kernels";
  }
}

TYPED_TEST(Width, ElementwiseScalarMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  for (const std::int64_t n : {1, 7, 255, 256, 257, 10007, 1'000'003}) {
    const auto a = random_values<TypeParam>(n, 1, 2.0);
    const auto b = random_values<TypeParam>(n, 2);
    std::vector<double> sum(a.size());
    std::vector<double> gelu(a.size());
    std::vector<double> gradient(a.size());
    residual_forward_cpu(sum.data(), a.data(), b.data(), n);
    gelu_forward_cpu(gelu.data(), a.data(), n);
    gelu_backward_cpu(gradient.data(), a.data(), b.data(), n);
    const auto da = to_device<TypeParam>(a);
    const auto db = to_device<TypeParam>(b);
    const std::string what = "n=" + std::to_string(n) + " ";
    auto out = poisoned<TypeParam>(n);
    launch_residual_forward(out.data(), da.data(), db.data(), n, stream.get(), KernelWidth::scalar);
    expect_close(to_host(out), sum, eps / 2, 0.0, what + "residual");
    launch_gelu_forward(out.data(), da.data(), n, stream.get(), KernelWidth::scalar);
    expect_close(to_host(out), gelu, eps, 1e-5, what + "gelu");
    launch_gelu_backward(out.data(), da.data(), db.data(), n, stream.get(), KernelWidth::scalar);
    expect_close(to_host(out), gradient, eps, 5e-5, what + "gelu gradient");
  }
}

TYPED_TEST(Width, LayernormOfBothWidthsAgreesAndTheSeparateResidualChangesNoBit) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  struct Shape {
    std::int64_t rows;
    int channels;
  };
  for (const Shape& s : {Shape{1, 8}, Shape{7, 33}, Shape{257, 768}, Shape{129, 1600}, Shape{5, 3201}}) {
    const std::string what = "N=" + std::to_string(s.rows) + " C=" + std::to_string(s.channels) + " ";
    const std::int64_t n = s.rows * s.channels;
    const auto a = to_device<TypeParam>(random_values<TypeParam>(n, 4));
    const auto b = to_device<TypeParam>(random_values<TypeParam>(n, 5));
    const auto w = to_device<TypeParam>(random_values<TypeParam>(s.channels, 6));
    const auto bias = to_device<TypeParam>(random_values<TypeParam>(s.channels, 7));
    std::vector<double> packed_normed;
    for (const KernelWidth width : kWidths) {
      auto residual = poisoned<TypeParam>(n);
      auto normed = poisoned<TypeParam>(n);
      auto mean = poisoned<float>(s.rows);
      auto rstd = poisoned<float>(s.rows);
      launch_residual_layernorm_forward(residual.data(), normed.data(), mean.data(), rstd.data(), a.data(),
                                        b.data(), w.data(), bias.data(), s.rows, s.channels, stream.get(),
                                        width);
      auto residual2 = poisoned<TypeParam>(n);
      auto normed2 = poisoned<TypeParam>(n);
      auto mean2 = poisoned<float>(s.rows);
      auto rstd2 = poisoned<float>(s.rows);
      launch_residual_forward(residual2.data(), a.data(), b.data(), n, stream.get(), width);
      launch_layernorm_forward(normed2.data(), mean2.data(), rstd2.data(), residual2.data(), w.data(),
                               bias.data(), s.rows, s.channels, stream.get(), width);
      EXPECT_EQ(to_host(residual), to_host(residual2)) << what;
      EXPECT_EQ(to_host(normed), to_host(normed2)) << what;
      EXPECT_EQ(to_host(mean), to_host(mean2)) << what;
      EXPECT_EQ(to_host(rstd), to_host(rstd2)) << what;
      if (width == KernelWidth::packed) {
        packed_normed = to_host(normed);
      } else {
        expect_close(to_host(normed), packed_normed, eps, eps / 4 + 5e-5, what + "scalar against packed");
      }
    }
  }
}

TYPED_TEST(Width, LayernormBackwardScalarMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  struct Shape {
    std::int64_t rows;
    int channels;
  };
  for (const Shape& s : {Shape{1, 8}, Shape{31, 255}, Shape{1031, 768}, Shape{67, 1280}}) {
    const std::string what = "N=" + std::to_string(s.rows) + " C=" + std::to_string(s.channels) + " ";
    const std::int64_t n = s.rows * s.channels;
    const auto x = random_values<TypeParam>(n, 1);
    const auto w = random_values<TypeParam>(s.channels, 2);
    const auto d = random_values<TypeParam>(n, 3);
    const auto r = random_values<TypeParam>(n, 4);
    std::vector<double> mean(static_cast<std::size_t>(s.rows), 0.0);
    std::vector<double> rstd(mean.size(), 1.0);
    std::vector<double> normed(x.size());
    layernorm_forward_cpu(normed.data(), mean.data(), rstd.data(), x.data(), w.data(), w.data(), s.rows,
                          s.channels);
    const auto channels = static_cast<std::size_t>(s.channels);
    std::vector<double> dinp(x.size()), dweight(channels), dbias(channels), colsum(channels);
    layernorm_backward_cpu(dinp.data(), r.data(), dweight.data(), dbias.data(), colsum.data(), d.data(),
                           x.data(), w.data(), mean.data(), rstd.data(), s.rows, s.channels);
    const auto device_x = to_device<TypeParam>(x);
    const auto device_w = to_device<TypeParam>(w);
    const auto device_d = to_device<TypeParam>(d);
    const auto device_r = to_device<TypeParam>(r);
    const auto device_mean = to_device<float>(mean);
    const auto device_rstd = to_device<float>(rstd);
    auto got = poisoned<TypeParam>(n);
    const auto zeros = std::vector<double>(channels, 0.0);
    auto got_dweight = to_device<float>(zeros);
    auto got_dbias = to_device<float>(zeros);
    auto got_colsum = to_device<float>(zeros);
    auto scratch = poisoned<char>(layernorm_backward_scratch_bytes(s.channels));
    launch_layernorm_backward(got.data(), device_r.data(), got_dweight.data(), got_dbias.data(),
                              got_colsum.data(), device_d.data(), device_x.data(), device_w.data(),
                              device_mean.data(), device_rstd.data(), s.rows, s.channels, scratch.data(),
                              stream.get(), KernelWidth::scalar);
    // Sums of `rows` terms of order 1, with statistics rounded to FP32.
    const double sums = 1e-5 * static_cast<double>(s.rows) + 1e-5;
    expect_close(to_host(got), dinp, 2 * eps, eps + 2e-5, what + "dinp");
    expect_close(to_host(got_dweight), dweight, 1e-5, sums, what + "dweight");
    expect_close(to_host(got_dbias), dbias, 1e-5, sums, what + "dbias");
    expect_close(to_host(got_colsum), colsum, 1e-5, sums, what + "colsum");
  }
}

TYPED_TEST(Width, BiasGradientAndEncoderScalarMatchReference) {
  const Stream stream;
  constexpr int kBatch = 3;
  constexpr int kSeq = 257;
  constexpr int kChannels = 768;
  constexpr int kVocab = 301;
  constexpr std::int64_t kRows = kBatch * kSeq;
  const auto dout = random_values<TypeParam>(kRows * kChannels, 1);
  const auto wte = random_values<TypeParam>(std::int64_t{kVocab} * kChannels, 2);
  const auto wpe = random_values<TypeParam>(std::int64_t{kSeq} * kChannels, 3);
  std::vector<std::int32_t> tokens(kRows);
  std::mt19937 generator(17);
  for (auto& token : tokens) token = static_cast<std::int32_t>(generator() % kVocab);
  const auto device_tokens = to_device(tokens);
  const auto device_dout = to_device<TypeParam>(dout);

  std::vector<double> embedded(dout.size());
  encoder_forward_cpu(embedded.data(), tokens.data(), wte.data(), wpe.data(), kBatch, kSeq, kChannels);
  auto out = poisoned<TypeParam>(kRows * kChannels);
  launch_encoder_forward(out.data(), device_tokens.data(), to_device<TypeParam>(wte).data(),
                         to_device<TypeParam>(wpe).data(), kBatch, kSeq, kChannels, stream.get(),
                         KernelWidth::scalar);
  expect_close(to_host(out), embedded, epsilon<TypeParam>() / 2, 0.0, "encoder forward");

  std::vector<double> dwte(wte.size()), dwpe(wpe.size());
  encoder_backward_cpu(dwte.data(), dwpe.data(), dout.data(), tokens.data(), kBatch, kSeq, kChannels);
  DeviceBuffer<char> scratch(
      std::max(encoder_backward_scratch_bytes(kBatch, kSeq, kChannels, EncoderBackward::deterministic),
               bias_gradient_scratch_bytes(kChannels)));
  for (const auto mode : {EncoderBackward::atomic, EncoderBackward::deterministic}) {
    auto got_dwte = to_device<float>(std::vector<double>(wte.size(), 0.0));
    auto got_dwpe = to_device<float>(std::vector<double>(wpe.size(), 0.0));
    launch_encoder_backward(got_dwte.data(), got_dwpe.data(), device_dout.data(), device_tokens.data(),
                            kBatch, kSeq, kChannels, kVocab, mode, scratch.data(), stream.get(),
                            KernelWidth::scalar);
    expect_close(to_host(got_dwte), dwte, 1e-5, 1e-4, "dwte");
    expect_close(to_host(got_dwpe), dwpe, 1e-5, 1e-5, "dwpe");
  }

  std::vector<double> dbias(kChannels);
  bias_gradient_cpu(dbias.data(), dout.data(), kRows, kChannels);
  auto got_dbias = to_device<float>(std::vector<double>(kChannels, 0.0));
  launch_zero(scratch.data(), scratch.size(), stream.get());
  launch_bias_gradient(got_dbias.data(), device_dout.data(), kRows, kChannels, scratch.data(), stream.get(),
                       KernelWidth::scalar);
  expect_close(to_host(got_dbias), dbias, 1e-5, 1e-3, "dbias");
}

TYPED_TEST(Width, ClassifierScalarMatchesReference) {
  const Stream stream;
  const double eps = epsilon<TypeParam>();
  constexpr float kDloss = 1.0F / 64.0F;
  for (const auto& [vocab, padded] : {std::pair(97, 128), std::pair(50257, 50304), std::pair(50257, 50257)}) {
    constexpr std::int64_t kRows = 5;
    auto x = random_values<TypeParam>(kRows * padded, 1, 5.0);
    const auto logits_in = x;
    const std::vector<std::int32_t> targets = {0, vocab - 1, 3, 50, 90};
    std::vector<double> losses(kRows);
    fused_classifier_cpu<double>(x.data(), losses.data(), targets.data(), kDloss, kRows, vocab, padded);
    auto logits = to_device<TypeParam>(logits_in);
    const auto device_targets = to_device(targets);
    auto got = poisoned<float>(kRows);
    launch_classifier_loss(got.data(), logits.data(), device_targets.data(), kRows, vocab, padded,
                           stream.get(), KernelWidth::scalar);
    expect_close(to_host(got), losses, 2e-5, 1e-4, "validation loss");
    auto got_fused = poisoned<float>(kRows);
    launch_fused_classifier(logits.data(), got_fused.data(), device_targets.data(), kDloss, kRows, vocab,
                            padded, stream.get(), KernelWidth::scalar);
    expect_close(to_host(got_fused), losses, 2e-5, 1e-4, "loss");
    expect_close(to_host(logits), x, eps / 2 + 1e-4, 1e-5 * static_cast<double>(kDloss), "dlogits");
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_kernel_width_test
