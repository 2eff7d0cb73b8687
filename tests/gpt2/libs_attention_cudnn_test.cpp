// cuDNN attention against a double reference, on a GPU.
#include <gtest/gtest.h>

#include <sstream>

#include "gpt2/libs/attention_cudnn.h"
#include "libs_test_support.h"

namespace ridgeline::gpt2::libs_attention_cudnn_test {
namespace {

using namespace testing_support;

struct Shape {
  std::int64_t b, t, nh, hs;
};

std::string text(const Shape& s) {
  std::ostringstream out;
  out << "B " << s.b << " T " << s.t << " NH " << s.nh << " HS " << s.hs;
  return out.str();
}

struct Reference {
  std::vector<double> out, lse, dqkv;
};

// Plain causal attention and its gradient, in double.
Reference reference(const std::vector<double>& qkv, const std::vector<double>& dout, const Shape& s) {
  Reference r;
  r.out.assign(static_cast<std::size_t>(s.b * s.t * s.nh * s.hs), 0.0);
  r.lse.assign(static_cast<std::size_t>(s.b * s.nh * s.t), 0.0);
  r.dqkv.assign(static_cast<std::size_t>(s.b * s.t * 3 * s.nh * s.hs), 0.0);
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.hs));
  const auto qkv_at = [&](std::int64_t b, std::int64_t t, std::int64_t which, std::int64_t h) {
    return (((b * s.t + t) * 3 + which) * s.nh + h) * s.hs;
  };
  const auto out_at = [&](std::int64_t b, std::int64_t t, std::int64_t h) {
    return ((b * s.t + t) * s.nh + h) * s.hs;
  };
  std::vector<double> p(static_cast<std::size_t>(s.t));
  for (std::int64_t b = 0; b < s.b; ++b) {
    for (std::int64_t h = 0; h < s.nh; ++h) {
      for (std::int64_t t = 0; t < s.t; ++t) {
        const double* q = &qkv[qkv_at(b, t, 0, h)];
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = 0; j <= t; ++j) {
          const double* k = &qkv[qkv_at(b, j, 1, h)];
          p[j] = 0.0;
          for (std::int64_t i = 0; i < s.hs; ++i) p[j] += q[i] * k[i];
          p[j] *= scale;
          largest = std::max(largest, p[j]);
        }
        double sum = 0.0;
        for (std::int64_t j = 0; j <= t; ++j) sum += std::exp(p[j] - largest);
        const double lse = largest + std::log(sum);
        r.lse[(b * s.nh + h) * s.t + t] = lse;
        double* out = &r.out[out_at(b, t, h)];
        for (std::int64_t j = 0; j <= t; ++j) {
          p[j] = std::exp(p[j] - lse);
          const double* v = &qkv[qkv_at(b, j, 2, h)];
          for (std::int64_t i = 0; i < s.hs; ++i) out[i] += p[j] * v[i];
        }
        const double* d = &dout[out_at(b, t, h)];
        double row = 0.0;
        for (std::int64_t i = 0; i < s.hs; ++i) row += d[i] * out[i];
        for (std::int64_t j = 0; j <= t; ++j) {
          const double* k = &qkv[qkv_at(b, j, 1, h)];
          const double* v = &qkv[qkv_at(b, j, 2, h)];
          double dp = 0.0;
          for (std::int64_t i = 0; i < s.hs; ++i) dp += d[i] * v[i];
          const double ds = p[j] * (dp - row) * scale;
          for (std::int64_t i = 0; i < s.hs; ++i) {
            r.dqkv[qkv_at(b, t, 0, h) + i] += ds * k[i];
            r.dqkv[qkv_at(b, j, 1, h) + i] += ds * q[i];
            r.dqkv[qkv_at(b, j, 2, h) + i] += p[j] * d[i];
          }
        }
      }
    }
  }
  return r;
}

// ||got - expected|| / ||expected||; a value that is not finite gives infinity.
double relative_error(const std::vector<bf16>& got, const std::vector<double>& expected) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(to_float(got[i]));
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    difference += (value - expected[i]) * (value - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

class AttentionCudnnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && !cudnn_attention_available())
      GTEST_SKIP() << "built without cuDNN";
  }

  static void check(CudnnAttention& attention, const Shape& s) {
    SCOPED_TRACE(text(s));
    const auto qkv = normal_values<bf16>(s.b * s.t * 3 * s.nh * s.hs, 1.0, 21);
    const auto dout = normal_values<bf16>(s.b * s.t * s.nh * s.hs, 1.0, 22);
    const DeviceBuffer<bf16> d_qkv = on_device(qkv);
    const DeviceBuffer<bf16> d_dout = on_device(dout);
    DeviceBuffer<bf16> d_out = poisoned<bf16>(s.b * s.t * s.nh * s.hs);
    DeviceBuffer<float> d_lse = poisoned<float>(s.b * s.nh * s.t);
    DeviceBuffer<bf16> d_dqkv = poisoned<bf16>(s.b * s.t * 3 * s.nh * s.hs);
    Stream stream;
    attention.forward(d_out.data(), d_lse.data(), d_qkv.data(), s.b, s.t, s.nh, s.hs, stream.get());
    // Twice: scratch of the first must not show in the second.
    for (int i = 0; i < 2; ++i) {
      attention.backward(d_dqkv.data(), d_dout.data(), d_qkv.data(), d_out.data(), d_lse.data(), s.b, s.t,
                         s.nh, s.hs, stream.get());
    }
    stream.synchronize();
    const Reference expected = reference(widened(qkv), widened(dout), s);
    expect_close(d_out.download(), expected.out, 0x1p-7, 1.5e-2, "out");
    expect_close(d_lse.download(), expected.lse, 1e-4, 1e-3, "lse");
    expect_close(d_dqkv.download(), expected.dqkv, 0x1p-6, 6e-2, "dqkv");
    // Rounding of the probabilities to bf16 is the largest error.
    EXPECT_LT(relative_error(d_out.download(), expected.out), 6e-3);
    EXPECT_LT(relative_error(d_dqkv.download(), expected.dqkv), 1e-2);
  }
};

const std::vector<Shape> kShapes = {{1, 1, 1, 64},   {2, 37, 3, 64},  {1, 64, 2, 64}, {3, 127, 2, 64},
                                    {1, 128, 4, 64}, {2, 129, 2, 64}, {2, 64, 4, 16}, {1, 200, 2, 128},
                                    {1, 97, 2, 80},  {2, 257, 12, 64}};

TEST_F(AttentionCudnnGpu, MatchesDouble) {
  CudnnAttention attention;
  for (const Shape& s : kShapes) check(attention, s);
}

TEST_F(AttentionCudnnGpu, DeterministicMatchesDoubleAndRepeatsBitForBit) {
  CudnnAttention attention(true);
  for (const Shape& s : kShapes) check(attention, s);
  const Shape s = {2, 512, 4, 64};
  const DeviceBuffer<bf16> d_qkv = on_device(normal_values<bf16>(s.b * s.t * 3 * s.nh * s.hs, 1.0, 31));
  const DeviceBuffer<bf16> d_dout = on_device(normal_values<bf16>(s.b * s.t * s.nh * s.hs, 1.0, 32));
  DeviceBuffer<bf16> d_out = poisoned<bf16>(s.b * s.t * s.nh * s.hs);
  DeviceBuffer<float> d_lse = poisoned<float>(s.b * s.nh * s.t);
  Stream stream;
  attention.forward(d_out.data(), d_lse.data(), d_qkv.data(), s.b, s.t, s.nh, s.hs, stream.get());
  std::vector<bf16> first;
  for (int i = 0; i < 5; ++i) {
    DeviceBuffer<bf16> d_dqkv = poisoned<bf16>(s.b * s.t * 3 * s.nh * s.hs);
    attention.backward(d_dqkv.data(), d_dout.data(), d_qkv.data(), d_out.data(), d_lse.data(), s.b, s.t, s.nh,
                       s.hs, stream.get());
    stream.synchronize();
    const std::vector<bf16> now = d_dqkv.download();
    if (first.empty()) first = now;
    ASSERT_EQ(std::memcmp(now.data(), first.data(), now.size() * sizeof(bf16)), 0) << "run " << i;
  }
}

TEST_F(AttentionCudnnGpu, LargeScoresStayFinite) {
  CudnnAttention attention;
  const Shape s = {1, 130, 2, 64};
  const auto qkv = normal_values<bf16>(s.b * s.t * 3 * s.nh * s.hs, 12.0, 41);
  const DeviceBuffer<bf16> d_qkv = on_device(qkv);
  DeviceBuffer<bf16> d_out = poisoned<bf16>(s.b * s.t * s.nh * s.hs);
  DeviceBuffer<float> d_lse = poisoned<float>(s.b * s.nh * s.t);
  Stream stream;
  attention.forward(d_out.data(), d_lse.data(), d_qkv.data(), s.b, s.t, s.nh, s.hs, stream.get());
  stream.synchronize();
  const Reference expected = reference(widened(qkv), std::vector<double>(d_out.size(), 0.0), s);
  expect_close(d_out.download(), expected.out, 0x1p-6, 0.2, "out");
  expect_close(d_lse.download(), expected.lse, 1e-4, 1e-2, "lse");
}

TEST_F(AttentionCudnnGpu, BadShapesAreNamed) {
  CudnnAttention attention;
  for (const Shape& s : {Shape{0, 8, 1, 64}, Shape{1, 0, 1, 64}, Shape{1, 8, 1, 60}, Shape{1, 8, 1, 256}}) {
    try {
      attention.prepare(s.b, s.t, s.nh, s.hs);
      ADD_FAILURE() << text(s) << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("--attention own"), std::string::npos) << error.what();
    }
  }
}

TEST_F(AttentionCudnnGpu, CaptureNeedsPrepareAndThenWorks) {
  CudnnAttention attention;
  const Shape s = {2, 128, 2, 64};
  const auto qkv = normal_values<bf16>(s.b * s.t * 3 * s.nh * s.hs, 1.0, 51);
  const DeviceBuffer<bf16> d_qkv = on_device(qkv);
  DeviceBuffer<bf16> d_out = poisoned<bf16>(s.b * s.t * s.nh * s.hs);
  DeviceBuffer<float> d_lse = poisoned<float>(s.b * s.nh * s.t);
  Stream stream;
  const auto launch = [&] {
    attention.forward(d_out.data(), d_lse.data(), d_qkv.data(), s.b, s.t, s.nh, s.hs, stream.get());
  };
  cudaGraph_t graph = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  EXPECT_THROW(launch(), std::logic_error);
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
  attention.prepare(s.b, s.t, s.nh, s.hs);
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  launch();
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  const Reference expected = reference(widened(qkv), std::vector<double>(d_out.size(), 0.0), s);
  expect_close(d_out.download(), expected.out, 0x1p-7, 1.5e-2, "out");
  RIDGELINE_CUDA_CHECK(cudaGraphExecDestroy(executable));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace ridgeline::gpt2::libs_attention_cudnn_test
