// The bare GEMMs through plain cuBLAS and through cuBLASLt against double references, and the unfused
// attention built on it against the attention reference, on a GPU.
#include <gtest/gtest.h>

#include "gpt2/libs/attention_unfused.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul_cublas.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/matmul/reference_matmul.h"
#include "libs_test_support.h"

namespace ridgeline::gpt2::libs_matmul_cublas_test {
namespace {

using namespace testing_support;

struct Sizes {
  std::int64_t n, c, oc;
};

// Sizes 1, primes (an output channel count that is odd: the vocabulary without padding), a block of 128 and
// one less and more, and the shapes of a layer.
const std::vector<Sizes> kSizes = {{1, 8, 8},     {37, 64, 72},   {61, 64, 97},    {127, 128, 136},
                                   {129, 136, 1}, {257, 96, 768}, {64, 3072, 768}, {33, 768, 5003}};

std::string text(const Sizes& s) {
  return "N " + std::to_string(s.n) + " C " + std::to_string(s.c) + " OC " + std::to_string(s.oc) + " ";
}

template <class T>
class CublasGpu : public GpuTest {
 protected:
  // Rounding of the result, and of what is multiplied (TF32 keeps 10 bits); sums are FP32.
  static void check_gemms(LinearGemms<T>& gemms, Fp32Math math) {
    const double relative = std::is_same_v<T, bf16> ? 0x1p-8 : 1e-5;
    const bool tf32 = std::is_same_v<T, float> && math == Fp32Math::tf32;
    const auto absolute = [&](std::int64_t k, double scale) {
      return (tf32                      ? 1.5e-3
              : std::is_same_v<T, bf16> ? 1e-5
                                        : 2e-6) *
             scale * std::sqrt(static_cast<double>(k)) * 4.0;
    };
    Stream stream;
    for (const Sizes& s : kSizes) {
      const double weight_scale = 1.0 / std::sqrt(static_cast<double>(s.c));
      const auto inp = normal_values<T>(s.n * s.c, 1.0, 1);
      const auto weight = normal_values<T>(s.oc * s.c, weight_scale, 2);
      const auto dout = normal_values<T>(s.n * s.oc, 1.0, 3);
      const auto start = normal_values<float>(s.oc * s.c, 1.0, 4);
      std::vector<double> out(static_cast<std::size_t>(s.n * s.oc));
      std::vector<double> dinp(inp.size()), dweight(weight.size());
      double* none = nullptr;
      const int c = static_cast<int>(s.c), oc = static_cast<int>(s.oc);
      const auto wide_inp = widened(inp), wide_weight = widened(weight), wide_dout = widened(dout);
      matmul_forward_cpu(out.data(), wide_inp.data(), wide_weight.data(), static_cast<const double*>(none),
                         s.n, c, oc);
      matmul_backward_cpu(dinp.data(), dweight.data(), none, wide_dout.data(), wide_inp.data(),
                          wide_weight.data(), s.n, c, oc);

      const auto d_inp = on_device(inp);
      const auto d_weight = on_device(weight);
      const auto d_dout = on_device(dout);
      auto d_out = poisoned<T>(s.n * s.oc);
      auto d_dinp = poisoned<T>(s.n * s.c);
      auto d_dweight = poisoned<float>(s.oc * s.c);
      auto d_added = on_device(start);
      gemms.forward(d_out.data(), d_inp.data(), d_weight.data(), s.n, s.c, s.oc, stream.get());
      gemms.backward_input(d_dinp.data(), d_dout.data(), d_weight.data(), s.n, s.c, s.oc, stream.get());
      gemms.backward_weight(d_dweight.data(), d_dout.data(), d_inp.data(), s.n, s.c, s.oc, stream.get(),
                            false);
      gemms.backward_weight(d_added.data(), d_dout.data(), d_inp.data(), s.n, s.c, s.oc, stream.get(), true);
      stream.synchronize();
      expect_close(d_out.download(), out, relative, absolute(s.c, weight_scale), text(s) + "forward");
      expect_close(d_dinp.download(), dinp, relative, absolute(s.oc, weight_scale),
                   text(s) + "backward_input");
      expect_close(d_dweight.download(), dweight, 1e-5, absolute(s.n, 1.0), text(s) + "backward_weight");
      for (std::size_t i = 0; i < dweight.size(); ++i) dweight[i] += static_cast<double>(start[i]);
      expect_close(d_added.download(), dweight, 1e-5, absolute(s.n, 1.0) + 1e-6, text(s) + "accumulated");
    }
  }

  static void check_gemms(Fp32Math math) {
    CublasHandle handle;
    CublasGemms<T> cublas(handle, math);
    check_gemms(cublas, math);
    // Rows of an odd number of channels, as the plain vocabulary has them, are cuBLASLt's matter too.
    MatmulOptions options;
    options.search = MatmulSearch::off;
    options.fp32_math = math;
    Matmul matmul(options);
    CublasLtGemms<T> cublaslt(matmul);
    check_gemms(cublaslt, math);
  }

  static double norm_error(const std::vector<T>& got, const std::vector<double>& want) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double difference = static_cast<double>(to_float(got[i])) - want[i];
      error += difference * difference;
      norm += want[i] * want[i];
    }
    return std::sqrt(error / norm);
  }

  // FP32 sums, or TF32 operands, or in bf16 every score and probability rounded: 2^-9 of a score of size 5.
  static void check_attention(Fp32Math math, double bound) {
    CublasHandle handle;
    UnfusedAttention attention(handle, math);
    Stream stream;
    const std::vector<UnfusedAttentionShape> shapes = {{1, 2, 1, 8},   {2, 7, 3, 64},   {1, 64, 2, 64},
                                                       {2, 61, 3, 40}, {1, 129, 2, 80}, {1, 257, 3, 64}};
    for (const UnfusedAttentionShape& s : shapes) {
      const std::string what = "B=" + std::to_string(s.batch) + " T=" + std::to_string(s.seq) +
                               " NH=" + std::to_string(s.heads) + " HS=" + std::to_string(s.head_size);
      const std::int64_t n = std::int64_t{s.batch} * s.seq * s.heads * s.head_size;
      const auto qkv = normal_values<T>(3 * n, 1.0, 5);
      const auto dout = normal_values<T>(n, 1.0, 6);
      std::vector<double> out(static_cast<std::size_t>(n)), dqkv(static_cast<std::size_t>(3 * n));
      std::vector<double> lse(static_cast<std::size_t>(std::int64_t{s.batch} * s.seq * s.heads));
      const auto wide_qkv = widened(qkv), wide_dout = widened(dout);
      attention_forward_cpu(out.data(), lse.data(), wide_qkv.data(), s.batch, s.seq, s.heads, s.head_size);
      attention_backward_cpu(dqkv.data(), wide_dout.data(), wide_qkv.data(), out.data(), lse.data(), s.batch,
                             s.seq, s.heads, s.head_size);

      const auto d_dout = on_device(dout);
      auto d_qkv = on_device(qkv);  // its gradient takes its place, as in the model
      auto d_out = poisoned<T>(n);
      auto heads = poisoned<T>(unfused_attention_heads_elements(s.batch, s.seq, s.heads, s.head_size));
      auto p = poisoned<T>(unfused_attention_score_elements(s.batch, s.seq, s.heads));
      auto scratch = poisoned<T>(unfused_attention_scratch_elements(s.batch, s.seq, s.heads, s.head_size));
      attention.forward(d_out.data(), heads.data(), p.data(), static_cast<const T*>(d_qkv.data()),
                        scratch.data(), s, stream.get());
      attention.backward(d_qkv.data(), d_dout.data(), static_cast<const T*>(heads.data()),
                         static_cast<const T*>(p.data()), scratch.data(), s, stream.get());
      stream.synchronize();
      EXPECT_TRUE(norm_error(d_out.download(), out) <= bound)
          << what << " out " << norm_error(d_out.download(), out);
      EXPECT_TRUE(norm_error(d_qkv.download(), dqkv) <= bound)
          << what << " dqkv " << norm_error(d_qkv.download(), dqkv);
    }
  }
};

using CublasFloat = CublasGpu<float>;
using CublasBf16 = CublasGpu<bf16>;

TEST_F(CublasFloat, ProductsMatchTheReference) {
  check_gemms(Fp32Math::fp32);
  check_gemms(Fp32Math::tf32);
}
TEST_F(CublasBf16, ProductsMatchTheReference) {
  check_gemms(Fp32Math::fp32);
}
TEST_F(CublasFloat, UnfusedAttentionMatchesTheReference) {
  check_attention(Fp32Math::fp32, 1e-5);
  check_attention(Fp32Math::tf32, 5e-3);
}
TEST_F(CublasBf16, UnfusedAttentionMatchesTheReference) {
  check_attention(Fp32Math::fp32, 3e-2);
}

TEST_F(CublasFloat, SizesBelowOneAreRefused) {
  CublasHandle handle;
  CublasGemms<float> gemms(handle, Fp32Math::fp32);
  DeviceBuffer<float> buffer(64);
  EXPECT_THROW(gemms.forward(buffer.data(), buffer.data(), buffer.data(), 0, 8, 8, nullptr),
               std::invalid_argument);
}

// What a step does: the GEMMs are captured after a first run and give the same result as a graph.
TEST_F(CublasBf16, ProductsAndAttentionCanBeCaptured) {
  CublasHandle handle;
  CublasGemms<bf16> gemms(handle, Fp32Math::fp32);
  UnfusedAttention attention(handle, Fp32Math::fp32);
  Stream stream;
  const UnfusedAttentionShape s{2, 64, 2, 64};
  const std::int64_t n = 2 * 64 * 2 * 64;
  const auto qkv = on_device(normal_values<bf16>(3 * n, 1.0, 7));
  const auto weight = on_device(normal_values<bf16>(128 * 128, 0.1, 8));
  auto out = poisoned<bf16>(n), projected = poisoned<bf16>(n);
  auto heads = poisoned<bf16>(3 * n), p = poisoned<bf16>(2 * 2 * 64 * 64);
  auto scratch = poisoned<bf16>(unfused_attention_scratch_elements(2, 64, 2, 64));
  const auto enqueue = [&] {
    attention.forward(out.data(), heads.data(), p.data(), qkv.data(), scratch.data(), s, stream.get());
    gemms.forward(projected.data(), out.data(), weight.data(), 2 * 64, 128, 128, stream.get());
  };
  enqueue();
  stream.synchronize();
  const auto first = widened(projected.download());
  RIDGELINE_CUDA_CHECK(cudaMemset(projected.data(), 0xff, static_cast<std::size_t>(projected.size_bytes())));
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  enqueue();
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  EXPECT_EQ(widened(projected.download()), first);
  RIDGELINE_CUDA_CHECK(cudaGraphExecDestroy(executable));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace ridgeline::gpt2::libs_matmul_cublas_test
