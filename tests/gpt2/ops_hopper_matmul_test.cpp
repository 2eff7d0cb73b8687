// The Hopper products with GELU, its derivative and the bias gradient against double references.
#include <cstring>
#include <random>
#include <sstream>
#include <type_traits>

#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_hopper_matmul_test {
namespace {

using namespace ops_test;

struct Sizes {
  std::int64_t rows;
  int channels, hidden;
};

std::string text(const Sizes& s) {
  std::ostringstream out;
  out << "N " << s.rows << " C " << s.channels << " H " << s.hidden;
  return out.str();
}

// Rows: 1, primes, a tile of 128 and one less and more, more tiles than a GPU has multiprocessors. Hidden: a
// tile of 192 and 16 less and more. Channels: a stage of 64, less, and tails; fewer stages than an epilogue has
// parts, as many, and more, on blocks that go round several tiles too.
const std::vector<Sizes> kSizes = {{1, 8, 16},      {37, 64, 192},    {127, 72, 176},   {128, 64, 192},
                                   {129, 128, 208}, {255, 200, 528},  {257, 192, 80},   {211, 768, 3072},
                                   {300, 776, 384}, {9001, 128, 768}, {9001, 832, 768}, {17011, 40, 768},
                                   {33, 1600, 6400}};

constexpr std::int64_t kGuard = 4096;  // elements before and after an output that nothing may write

// The floats that bytes of slopes stand for, in the order of the columns.
std::vector<double> slope_values(const std::vector<std::uint8_t>& bytes, std::int64_t hidden) {
  std::vector<double> values(bytes.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(bytes.size()); ++i) {
    const std::int64_t column = i % hidden;
    values[static_cast<std::size_t>(i)] =
        gelu_slope_of(bytes[static_cast<std::size_t>(i - column + gelu_slope_place(column))]);
  }
  return values;
}

std::vector<std::uint8_t> random_bytes(std::int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(generator() >> 24);
  return bytes;
}

// An output between two guards, all of them 0xff: NaN of bfloat16, the byte of no slope.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::int64_t size) : size_(size), buffer_(poisoned<T>(size + 2 * kGuard)) {}
  T* data() { return buffer_.data() + kGuard; }
  std::vector<T> stored() const {
    const auto all = download();
    return {all.begin() + kGuard, all.begin() + kGuard + size_};
  }
  std::vector<double> values() const {
    std::vector<double> values;
    for (const T value : stored()) values.push_back(static_cast<double>(to_float(value)));
    return values;
  }
  void expect_guards_untouched(const std::string& what) const {
    const auto all = download();
    for (std::int64_t i = 0; i < kGuard; ++i) {
      ASSERT_TRUE(untouched(all[static_cast<std::size_t>(i)])) << what << ": written before the beginning";
      ASSERT_TRUE(untouched(all[static_cast<std::size_t>(kGuard + size_ + i)]))
          << what << ": written " << i << " elements after the end";
    }
  }

 private:
  static bool untouched(T value) {
    if constexpr (std::is_same_v<T, bf16>) {
      return std::isnan(to_float(value));
    } else {
      return value == 0xff;
    }
  }
  std::vector<T> download() const {
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    return buffer_.download();
  }

  std::int64_t size_;
  DeviceBuffer<T> buffer_;
};
using GuardedOutput = Guarded<bf16>;
using GuardedBytes = Guarded<std::uint8_t>;

// Rounding of an FP32 sum of `terms` products of values around 1 and 1/sqrt(terms).
double sum_error(int terms) {
  return 0x1p-22 * std::sqrt(static_cast<double>(terms)) + 0x1p-20;
}

class HopperMatmul : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!hopper_matmul_supported(1, 8, 16)) GTEST_SKIP() << "the GPU is not of compute capability 9.0";
  }
};

TEST_F(HopperMatmul, ForwardMatchesReference) {
  const Stream stream;
  for (const Sizes& s : kSizes) {
    const auto inp = random_values<bf16>(s.rows * s.channels, 1);
    const auto weight = random_values<bf16>(static_cast<std::int64_t>(s.hidden) * s.channels, 2,
                                            1.5 / std::sqrt(static_cast<double>(s.channels)));
    const auto bias = random_values<bf16>(s.hidden, 3);
    std::vector<double> expected(static_cast<std::size_t>(s.rows * s.hidden));
    std::vector<double> expected_pre(expected.size());
    std::vector<double> expected_slope(expected.size());
    hopper_matmul_forward_cpu(expected.data(), expected_pre.data(), expected_slope.data(), inp.data(),
                              weight.data(), bias.data(), s.rows, s.channels, s.hidden);
    const auto d_inp = to_device<bf16>(inp);
    const auto d_weight = to_device<bf16>(weight);
    const auto d_bias = to_device<bf16>(bias);
    // Nothing is rounded but the two results, the slope to steps of 1/202. The slope's own slope is at most 0.8.
    GuardedOutput out(s.rows * s.hidden);
    GuardedBytes slope(s.rows * s.hidden);
    launch_hopper_matmul_forward(out.data(), slope.data(), d_inp.data(), d_weight.data(), d_bias.data(),
                                 s.rows, s.channels, s.hidden, stream.get());
    expect_close(out.values(), expected, 0x1p-8, 1.13 * sum_error(s.channels) + 0x1p-18, "out " + text(s));
    expect_close(slope_values(slope.stored(), s.hidden), expected_slope, 0.0,
                 0.5 / kGeluSlopeSteps + 0.8 * sum_error(s.channels) + 0x1p-15, "slope " + text(s));
    // The reference's slope is the derivative as the backward pass of a GELU applies it.
    std::vector<double> derivative(expected.size());
    const std::vector<double> ones(expected.size(), 1.0);
    gelu_backward_cpu(derivative.data(), expected_pre.data(), ones.data(), s.rows * s.hidden);
    EXPECT_EQ(expected_slope, derivative) << text(s);
    out.expect_guards_untouched("out " + text(s));
    slope.expect_guards_untouched("slope " + text(s));
  }
}

TEST_F(HopperMatmul, BackwardInputMatchesReference) {
  const Stream stream;
  for (const Sizes& s : kSizes) {
    const auto dout = random_values<bf16>(s.rows * s.channels, 4);
    const auto weight = random_values<bf16>(static_cast<std::int64_t>(s.hidden) * s.channels, 5,
                                            1.0 / std::sqrt(static_cast<double>(s.channels)));
    const auto bytes = random_bytes(s.rows * s.hidden, 6);
    const std::vector<double> slope = slope_values(bytes, s.hidden);
    std::vector<double> expected(static_cast<std::size_t>(s.rows * s.hidden));
    std::vector<double> unused(static_cast<std::size_t>(s.hidden));
    hopper_matmul_backward_input_cpu(expected.data(), unused.data(), dout.data(), weight.data(), slope.data(),
                                     s.rows, s.channels, s.hidden);
    const auto d_dout = to_device<bf16>(dout);
    const auto d_weight = to_device<bf16>(weight);
    DeviceBuffer<std::uint8_t> d_slope(s.rows * s.hidden);
    d_slope.upload(bytes);
    const auto before = random_values<float>(s.hidden, 7);
    const auto d_dbias = to_device<float>(before);
    auto memory = poisoned<float>(hopper_matmul_partial_sums(s.rows, s.hidden));
    PartialSums sums_at_end(memory.data(), memory.size_bytes());
    GuardedOutput dpre(s.rows * s.hidden);
    launch_hopper_matmul_backward_input(dpre.data(), const_cast<float*>(d_dbias.data()), d_dout.data(),
                                        d_weight.data(), d_slope.data(), s.rows, s.channels, s.hidden,
                                        sums_at_end, stream.get());
    sums_at_end.flush(stream.get());
    const std::vector<double> got = dpre.values();
    // One rounding of the slope to FP32, and one of the result.
    std::vector<double> tolerance(expected.size());
    for (std::size_t i = 0; i < tolerance.size(); ++i)
      tolerance[i] = std::abs(slope[i]) * sum_error(s.channels) + 0x1p-23 * std::abs(expected[i]);
    expect_close(got, expected, 0x1p-8, tolerance, "dpre " + text(s));
    // The sums are those of the stored values.
    std::vector<double> sums = before;
    std::vector<double> magnitude(sums.size());
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (int h = 0; h < s.hidden; ++h) {
        const double value = got[static_cast<std::size_t>(row * s.hidden + h)];
        sums[static_cast<std::size_t>(h)] += value;
        magnitude[static_cast<std::size_t>(h)] += std::abs(value);
      }
    }
    for (double& value : magnitude) value = 1e-6 * value + 1e-6;
    expect_close(to_host(d_dbias), sums, 0.0, magnitude, "dbias " + text(s));
    dpre.expect_guards_untouched("dpre " + text(s));
  }
}

TEST_F(HopperMatmul, BackwardInputWithoutBiasGradientIsTheSame) {
  const Stream stream;
  const Sizes s{300, 128, 512};
  const auto dout = to_device<bf16>(random_values<bf16>(s.rows * s.channels, 8));
  const auto weight =
      to_device<bf16>(random_values<bf16>(static_cast<std::int64_t>(s.hidden) * s.channels, 9));
  DeviceBuffer<std::uint8_t> slope(s.rows * s.hidden);
  slope.upload(random_bytes(s.rows * s.hidden, 10));
  DeviceBuffer<float> dbias(s.hidden);
  DeviceBuffer<float> memory(hopper_matmul_partial_sums(s.rows, s.hidden));
  PartialSums sums(memory.data(), memory.size_bytes());
  GuardedOutput with(s.rows * s.hidden);
  GuardedOutput without(s.rows * s.hidden);
  launch_hopper_matmul_backward_input(with.data(), dbias.data(), dout.data(), weight.data(), slope.data(),
                                      s.rows, s.channels, s.hidden, sums, stream.get());
  launch_hopper_matmul_backward_input(without.data(), nullptr, dout.data(), weight.data(), slope.data(),
                                      s.rows, s.channels, s.hidden, sums, stream.get());
  EXPECT_EQ(with.values(), without.values());
}

// A ring, staged chunks and clusters that race would show as bits that change. More tiles than the GPU has
// multiprocessors, so that blocks go round.
TEST_F(HopperMatmul, RepeatedRunsHaveTheSameBits) {
  const Stream stream;
  const Sizes s{32768 - 77, 768, 3072};
  const std::int64_t size = s.rows * s.hidden;
  const auto inp = to_device<bf16>(random_values<bf16>(s.rows * s.channels, 11));
  const auto weight =
      to_device<bf16>(random_values<bf16>(static_cast<std::int64_t>(s.hidden) * s.channels, 12, 0.04));
  const auto bias = to_device<bf16>(random_values<bf16>(s.hidden, 13));
  DeviceBuffer<float> memory(hopper_matmul_partial_sums(s.rows, s.hidden));
  PartialSums sums(memory.data(), memory.size_bytes());
  DeviceBuffer<bf16> out(size), dpre(size);
  DeviceBuffer<std::uint8_t> slope(size);
  DeviceBuffer<float> dbias(s.hidden);
  const auto bits = [](const auto& buffer) {
    const auto values = buffer.download();
    std::vector<unsigned char> bytes(values.size() * sizeof(values[0]));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  std::vector<std::vector<unsigned char>> first;
  for (int run = 0; run < 3; ++run) {
    for (bf16* output : {out.data(), dpre.data()}) {
      RIDGELINE_CUDA_CHECK(
          cudaMemsetAsync(output, 0xff, static_cast<std::size_t>(size) * sizeof(bf16), stream.get()));
    }
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(slope.data(), 0xff, static_cast<std::size_t>(size), stream.get()));
    RIDGELINE_CUDA_CHECK(
        cudaMemsetAsync(dbias.data(), 0, static_cast<std::size_t>(dbias.size_bytes()), stream.get()));
    launch_hopper_matmul_forward(out.data(), slope.data(), inp.data(), weight.data(), bias.data(), s.rows,
                                 s.channels, s.hidden, stream.get());
    // weight serves as (C, H) as well: any values do.
    launch_hopper_matmul_backward_input(dpre.data(), dbias.data(), inp.data(), weight.data(), slope.data(),
                                        s.rows, s.channels, s.hidden, sums, stream.get());
    sums.flush(stream.get());
    stream.synchronize();
    std::vector<std::vector<unsigned char>> results = {bits(out), bits(slope), bits(dpre), bits(dbias)};
    if (run == 0) {
      first = std::move(results);
      continue;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(results[i] == first[i])
          << "run " << run << ", result " << i << " of out, slope, dpre, dbias";
    }
  }
}

TEST_F(HopperMatmul, RunsInAGraph) {
  const Stream stream;
  const Sizes s{640, 256, 1024};
  const auto inp = to_device<bf16>(random_values<bf16>(s.rows * s.channels, 14));
  const auto weight =
      to_device<bf16>(random_values<bf16>(static_cast<std::int64_t>(s.hidden) * s.channels, 15));
  const auto bias = to_device<bf16>(random_values<bf16>(s.hidden, 16));
  GuardedOutput out(s.rows * s.hidden), captured(s.rows * s.hidden);
  GuardedBytes slope(s.rows * s.hidden);
  const auto launch = [&](bf16* output) {
    launch_hopper_matmul_forward(output, slope.data(), inp.data(), weight.data(), bias.data(), s.rows,
                                 s.channels, s.hidden, stream.get());
  };
  launch(out.data());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  launch(captured.data());
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  EXPECT_EQ(captured.values(), out.values());
  RIDGELINE_CUDA_CHECK(cudaGraphExecDestroy(executable));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
}

TEST_F(HopperMatmul, RefusesWhatItDoesNotSupport) {
  EXPECT_TRUE(hopper_matmul_supported(32768, 768, 3072));
  EXPECT_FALSE(hopper_matmul_supported(32768, 765, 3072));
  EXPECT_FALSE(hopper_matmul_supported(32768, 768, 3080));
  EXPECT_FALSE(hopper_matmul_supported(0, 768, 3072));
  const Stream stream;
  DeviceBuffer<bf16> memory(4096);
  PartialSums sums(nullptr, 0);
  DeviceBuffer<std::uint8_t> slope(4096);
  const auto forward = [&](std::uint8_t* slopes, int unaligned) {
    launch_hopper_matmul_forward(memory.data(), slopes, memory.data() + unaligned, memory.data(),
                                 memory.data(), 8, 8, 16, stream.get());
  };
  EXPECT_THROW(forward(slope.data(), 1), std::invalid_argument);
  EXPECT_THROW(forward(slope.data() + 8, 0), std::invalid_argument);
  EXPECT_THROW(launch_hopper_matmul_backward_input(memory.data(), nullptr, memory.data(), memory.data(),
                                                   slope.data(), 8, 12, 16, sums, stream.get()),
               std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_hopper_matmul_test
