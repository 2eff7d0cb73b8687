// Attention for compute capability 9.0 against the double reference.
#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "fp8_test_support.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_attention_hopper_test {
namespace {

using namespace ops_test;

struct Shape {
  int batch;
  int seq;
  int heads;
  int head_size;

  std::int64_t elements() const { return std::int64_t{batch} * seq * heads * head_size; }
  std::int64_t rows() const { return std::int64_t{batch} * seq * heads; }
};

std::string text(const Shape& s) {
  std::ostringstream out;
  out << "B " << s.batch << " T " << s.seq << " NH " << s.heads << " HS " << s.head_size << ' ';
  return out.str();
}

// Lengths of 1, primes, one less and more than a warpgroup's 64 and a tile's 128 rows; odd and even numbers of
// tiles; more units of work than an H200 has multiprocessors.
const std::vector<Shape> kShapes = {{1, 1, 1, 64},   {2, 7, 3, 64},    {1, 63, 2, 64},   {1, 64, 1, 64},
                                    {2, 65, 2, 64},  {1, 127, 2, 64},  {1, 128, 1, 64},  {1, 129, 2, 64},
                                    {3, 257, 5, 64}, {1, 1024, 2, 64}, {1, 1153, 1, 64}, {15, 131, 11, 64}};

double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

struct Expected {
  explicit Expected(const Shape& s)
      : out(static_cast<std::size_t>(s.elements())), lse(static_cast<std::size_t>(s.rows())) {}
  std::vector<double> out, lse;
};

Expected forward_reference(const std::vector<double>& qkv, const Shape& s) {
  Expected expected(s);
  attention_forward_cpu(expected.out.data(), expected.lse.data(), qkv.data(), s.batch, s.seq, s.heads,
                        s.head_size);
  return expected;
}

class HopperAttention : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!hopper_attention_supported(1, 1, 1, 64)) GTEST_SKIP() << "the GPU is not of compute capability 9.0";
    stream_.emplace();
  }

  void expect_forward(const std::vector<double>& qkv, const Shape& s, const std::string& what) {
    const Expected expected = forward_reference(qkv, s);
    const auto device_qkv = to_device<bf16>(qkv);
    auto out = poisoned<bf16>(s.elements());
    auto lse = poisoned<float>(s.rows());
    launch_hopper_attention_forward(out.data(), lse.data(), device_qkv.data(), s.batch, s.seq, s.heads,
                                    s.head_size, stream_->get());
    const auto got = to_host(out);
    expect_close(to_host(lse), expected.lse, 1e-5, 1e-4, what + "lse");
    // bfloat16 rounds the probabilities as well as the results: 2^-9 each, relative.
    EXPECT_LT(relative_norm_error(got, expected.out), 1e-2) << what << "out";
    expect_close(got, expected.out, 0.0, 3e-2 * largest_of(qkv), what + "out");
    // The same bits again, and without a backward pass.
    auto again = poisoned<bf16>(s.elements());
    launch_hopper_attention_forward(again.data(), nullptr, device_qkv.data(), s.batch, s.seq, s.heads,
                                    s.head_size, stream_->get());
    EXPECT_EQ(to_host(again), got) << what << "not bit-identical";
  }

  std::optional<Stream> stream_;  // made when there is a GPU
};

TEST_F(HopperAttention, ForwardMatchesReference) {
  for (const Shape& s : kShapes) {
    for (const double scale : {1.0, 3.0}) {
      expect_forward(random_values<bf16>(3 * s.elements(), 1, scale), s,
                     text(s) + "scale " + std::to_string(scale) + " ");
    }
  }
}

// Keys of the first tiles whose scores exceed those on the diagonal by so much that their exponentials pass every
// bound unless the row's shift moves; once, and at each of several tiles.
TEST_F(HopperAttention, ScoresThatGrowAwayFromTheDiagonalAreShifted) {
  const Shape s{1, 600, 2, 64};
  for (const double growth : {60.0, 400.0, 3000.0}) {
    auto qkv = random_values<bf16>(3 * s.elements(), 5);
    const int channels = s.heads * s.head_size;
    for (int t = 0; t < s.seq; ++t) {
      for (int h = 0; h < s.heads; ++h) {
        // Column 0 of q is 1, of k the growth times the distance in tiles from the end: the score is their
        // product.
        double* row = qkv.data() + static_cast<std::ptrdiff_t>(t) * 3 * channels + h * s.head_size;
        row[0] = 1.0;
        row[channels] = to_float(from_float<bf16>(
            static_cast<float>(growth * std::sqrt(static_cast<double>(s.head_size)) * (4 - t / 128))));
      }
    }
    const Expected expected = forward_reference(qkv, s);
    const auto device_qkv = to_device<bf16>(qkv);
    auto out = poisoned<bf16>(s.elements());
    auto lse = poisoned<float>(s.rows());
    launch_hopper_attention_forward(out.data(), lse.data(), device_qkv.data(), s.batch, s.seq, s.heads,
                                    s.head_size, stream_->get());
    const std::string what = text(s) + "growth " + std::to_string(growth) + " ";
    expect_close(to_host(lse), expected.lse, 1e-5, 1e-4, what + "lse");
    EXPECT_LT(relative_norm_error(to_host(out), expected.out), 1e-2) << what;
  }
}

TEST_F(HopperAttention, LargeScoresStayFinite) {
  const Shape s{1, 400, 2, 64};
  const auto qkv = random_values<bf16>(3 * s.elements(), 3, 30.0);
  const Expected expected = forward_reference(qkv, s);
  const auto device_qkv = to_device<bf16>(qkv);
  auto out = poisoned<bf16>(s.elements());
  launch_hopper_attention_forward(out.data(), nullptr, device_qkv.data(), s.batch, s.seq, s.heads,
                                  s.head_size, stream_->get());
  EXPECT_LT(relative_norm_error(to_host(out), expected.out), 2e-2) << text(s);
}

// One of dq, dk, dv (which = 0, 1, 2) of a (B,T,3,C) tensor.
std::vector<double> part_of(const std::vector<double>& dqkv, const Shape& s, int which) {
  const auto channels = static_cast<std::ptrdiff_t>(s.heads) * s.head_size;
  std::vector<double> part;
  for (std::ptrdiff_t row = 0; row < std::ptrdiff_t{s.batch} * s.seq; ++row) {
    const auto begin = dqkv.begin() + (3 * row + which) * channels;
    part.insert(part.end(), begin, begin + channels);
  }
  return part;
}

// Every number of tiles from 1 to 9 or so; more heads than the GPU works on at a time, three times over.
TEST_F(HopperAttention, BackwardMatchesReferenceAndRepeatsItselfIfDeterministic) {
  std::vector<Shape> shapes = kShapes;
  for (const int seq : {383, 500, 640, 769, 896}) shapes.push_back({1, seq, 2, 64});
  shapes.push_back({3, 300, 67, 64});
  for (const Shape& s : shapes) {
    const auto qkv = random_values<bf16>(3 * s.elements(), 1);
    const auto dout = random_values<bf16>(s.elements(), 2);
    const Expected expected = forward_reference(qkv, s);
    std::vector<double> dqkv(static_cast<std::size_t>(3 * s.elements()));
    attention_backward_cpu(dqkv.data(), dout.data(), qkv.data(), expected.out.data(), expected.lse.data(),
                           s.batch, s.seq, s.heads, s.head_size);

    const auto device_qkv = to_device<bf16>(qkv);
    const auto device_dout = to_device<bf16>(dout);
    auto out = poisoned<bf16>(s.elements());
    auto lse = poisoned<float>(s.rows());
    launch_hopper_attention_forward(out.data(), lse.data(), device_qkv.data(), s.batch, s.seq, s.heads,
                                    s.head_size, stream_->get());
    auto scratch = poisoned<char>(hopper_attention_backward_scratch_bytes(s.batch, s.seq, s.heads));
    std::vector<double> first;
    for (const bool deterministic : {true, true, true, false, false}) {
      auto got = poisoned<bf16>(3 * s.elements());
      launch_hopper_attention_backward(got.data(), device_dout.data(), device_qkv.data(), out.data(),
                                       lse.data(), s.batch, s.seq, s.heads, s.head_size, scratch.data(),
                                       deterministic, stream_->get());
      const auto host = to_host(got);
      if (first.empty()) first = host;
      if (deterministic) {
        EXPECT_EQ(first, host) << text(s) << "not bit-identical";
      }
      for (int which = 0; which < 3; ++which) {
        const auto got_part = part_of(host, s, which);
        const auto expected_part = part_of(dqkv, s, which);
        const std::string label = text(s) + "d" + "qkv"[which] + (deterministic ? ", deterministic" : "");
        // With one key the softmax is constant: dq and dk are 0 up to rounding.
        expect_close(got_part, expected_part, 0.0, 3e-2 * std::max(largest_of(expected_part), 1.0), label);
        if (s.seq > 1) {
          EXPECT_LT(relative_norm_error(got_part, expected_part), 1e-2) << label;
        }
        if (which > 0) {
          EXPECT_EQ(got_part, part_of(first, s, which)) << label << " not bit-identical";
        }
      }
    }
  }
}

// A key that is not a number spoils the rows that see it, and no other.
TEST_F(HopperAttention, NotANumberReachesTheRowsThatSeeIt) {
  const Shape s{1, 300, 2, 64};
  auto qkv = random_values<bf16>(3 * s.elements(), 7);
  constexpr int kAt = 140;
  const int channels = s.heads * s.head_size;
  qkv[static_cast<std::size_t>(kAt * 3 * channels + channels)] = std::numeric_limits<double>::quiet_NaN();
  const auto device_qkv = to_device<bf16>(qkv);
  auto out = poisoned<bf16>(s.elements());
  RIDGELINE_CUDA_CHECK(cudaMemset(out.data(), 0, static_cast<std::size_t>(out.size_bytes())));
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  launch_hopper_attention_forward(out.data(), nullptr, device_qkv.data(), s.batch, s.seq, s.heads,
                                  s.head_size, stream_->get());
  const auto got = to_host(out);
  for (int t = 0; t < s.seq; ++t) {
    for (int c = 0; c < channels; ++c) {
      const bool spoiled = t >= kAt && c < s.head_size;
      ASSERT_EQ(std::isnan(got[static_cast<std::size_t>(t * channels + c)]), spoiled)
          << "position " << t << " channel " << c;
    }
  }
}

TEST_F(HopperAttention, OutputInE4m3IsTheCastOfIt) {
  for (const Shape& s :
       {Shape{1, 16, 1, 64}, {2, 64, 3, 64}, {3, 272, 5, 64}, {1, 1040, 2, 64}, {15, 144, 11, 64}}) {
    const std::int64_t rows = std::int64_t{s.batch} * s.seq;
    const std::int64_t columns = std::int64_t{s.heads} * s.head_size;
    // The last one saturates.
    for (const float scale : {1.0F, 128.0F, 4096.0F}) {
      const std::string what = text(s) + "scale " + std::to_string(scale);
      const auto qkv = to_device<bf16>(random_values<bf16>(3 * s.elements(), 7));
      auto out = poisoned<bf16>(s.elements());
      auto lse = poisoned<float>(s.rows());
      launch_hopper_attention_forward(out.data(), lse.data(), qkv.data(), s.batch, s.seq, s.heads,
                                      s.head_size, stream_->get());
      Fp8Target expected(rows, columns, Fp8Format::e4m3, scale);
      launch_fp8_cast(expected.output(), Fp8Format::e4m3, nullptr, out.data(), rows, columns, nullptr,
                      stream_->get());
      for (const bool with_amax : {true, false}) {
        auto again = poisoned<bf16>(s.elements());
        auto lse_again = poisoned<float>(s.rows());
        Fp8Target target(rows, columns, Fp8Format::e4m3, scale);
        launch_hopper_attention_forward_fp8(again.data(), target.output(with_amax), lse_again.data(),
                                            qkv.data(), s.batch, s.seq, s.heads, s.head_size, stream_->get());
        EXPECT_EQ(to_host(again), to_host(out)) << what;
        EXPECT_EQ(to_host(lse_again), to_host(lse)) << what;
        target.expect(to_host(out), 0.0, what);
        EXPECT_EQ(target.bytes_out(), expected.bytes_out()) << what;
        EXPECT_EQ(target.amax(), with_amax ? expected.amax() : 0.0F) << what;
      }
    }
  }
}

// Against the same kernel's bfloat16, which its deterministic form repeats: half a step of E5M2, and
// bfloat16's rounding.
TEST_F(HopperAttention, GradientInE5m2IsThatInBfloat16Rounded) {
  for (const Shape& s : {Shape{1, 16, 1, 64}, {3, 272, 5, 64}, {1, 1040, 2, 64}, {15, 144, 11, 64}}) {
    const std::int64_t rows = std::int64_t{s.batch} * s.seq;
    const std::int64_t columns = std::int64_t{3} * s.heads * s.head_size;
    for (const std::array<double, 3> sizes :
         {std::array{1.0, 1.0, 1.0}, {0.25, 8.0, 4.0}, {8.0, 0.25, 4.0}}) {
      // Queries, keys and values of such sizes that dq, dk and dv are the largest in turn.
      auto values = random_values<bf16>(3 * s.elements(), 7);
      const auto channels = static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.head_size);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] *= sizes[i / channels % 3];
      const auto qkv = to_device<bf16>(values);
      const auto dout = to_device<bf16>(random_values<bf16>(s.elements(), 8));
      auto out = poisoned<bf16>(s.elements());
      auto lse = poisoned<float>(s.rows());
      launch_hopper_attention_forward(out.data(), lse.data(), qkv.data(), s.batch, s.seq, s.heads,
                                      s.head_size, stream_->get());
      auto scratch = poisoned<char>(hopper_attention_backward_scratch_bytes(s.batch, s.seq, s.heads));
      auto expected = poisoned<bf16>(3 * s.elements());
      launch_hopper_attention_backward(expected.data(), dout.data(), qkv.data(), out.data(), lse.data(),
                                       s.batch, s.seq, s.heads, s.head_size, scratch.data(), true,
                                       stream_->get());
      const auto host = to_host(expected);
      // The last one saturates.
      for (const float scale : {256.0F, 262144.0F}) {
        const std::string what =
            text(s) + "scale " + std::to_string(scale) + ", keys " + std::to_string(sizes[1]);
        std::vector<std::uint8_t> first;
        for (const bool with_amax : {true, false, true}) {
          Fp8Target target(rows, columns, Fp8Format::e5m2, scale);
          launch_hopper_attention_backward_fp8(target.output(with_amax), dout.data(), qkv.data(), out.data(),
                                               lse.data(), s.batch, s.seq, s.heads, s.head_size,
                                               scratch.data(), true, stream_->get());
          target.expect(host, 0x1p-8, what);
          const double largest = with_amax ? largest_magnitude(host) : 0.0;
          EXPECT_NEAR(target.amax(), largest, 0x1p-8 * largest) << what;
          if (first.empty()) first = target.bytes_out();
          EXPECT_EQ(target.bytes_out(), first) << what << " not bit-identical";
        }
        // In any order of dq's parts: close to the same.
        Fp8Target target(rows, columns, Fp8Format::e5m2, scale);
        launch_hopper_attention_backward_fp8(target.output(), dout.data(), qkv.data(), out.data(), lse.data(),
                                             s.batch, s.seq, s.heads, s.head_size, scratch.data(), false,
                                             stream_->get());
        EXPECT_NEAR(target.amax(), largest_magnitude(host), 0x1p-7 * largest_magnitude(host)) << what;
      }
    }
  }
}

TEST_F(HopperAttention, RefusesWhatItDoesNotCover) {
  EXPECT_FALSE(hopper_attention_supported(1, 1, 1, 32));
  EXPECT_FALSE(hopper_attention_supported(1, 1, 1, 128));
  EXPECT_FALSE(hopper_attention_supported(0, 1, 1, 64));
  DeviceBuffer<bf16> buffer(1024);
  EXPECT_THROW(
      launch_hopper_attention_forward(buffer.data(), nullptr, buffer.data(), 1, 1, 1, 32, stream_->get()),
      std::invalid_argument);
  EXPECT_FALSE(hopper_attention_backward_supported(1, 1, 1, 32));
  EXPECT_THROW(
      launch_hopper_attention_forward(buffer.data() + 1, nullptr, buffer.data(), 1, 1, 1, 64, stream_->get()),
      std::invalid_argument);
  EXPECT_FALSE(hopper_attention_fp8_supported(1, 24, 1, 64));
  EXPECT_FALSE(hopper_attention_fp8_supported(1, 16, 1, 128));
  Fp8Target target(24, 64, Fp8Format::e4m3, 1.0F);
  EXPECT_THROW(launch_hopper_attention_forward_fp8(buffer.data(), target.output(), nullptr, buffer.data(), 1,
                                                   24, 1, 64, stream_->get()),
               std::invalid_argument);
  EXPECT_FALSE(hopper_attention_backward_fp8_supported(1, 24, 1, 64));
  EXPECT_FALSE(hopper_attention_backward_fp8_supported(1, 16, 1, 128));
  EXPECT_THROW(
      launch_hopper_attention_backward_fp8(target.output(), buffer.data(), buffer.data(), buffer.data(),
                                           nullptr, 1, 24, 1, 64, buffer.data(), false, stream_->get()),
      std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_attention_hopper_test
