// Own causal attention, forward and backward, against the reference.
#include <algorithm>

#include "gpt2/ops/attention/attention.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_attention_test {
namespace {

using namespace ops_test;

struct Shape {
  int batch;
  int seq;
  int heads;
  int head_size;
};
// Sequence lengths around the tiles of 64 and 128 rows; head sizes of both implementations.
const std::vector<Shape> kShapes = {{1, 1, 1, 64},   {2, 7, 3, 64},   {1, 63, 2, 64},   {1, 64, 1, 64},
                                    {2, 65, 2, 64},  {1, 127, 2, 64}, {1, 128, 1, 64},  {1, 129, 2, 64},
                                    {1, 131, 2, 32}, {1, 131, 2, 80}, {1, 131, 2, 128}, {1, 67, 2, 100},
                                    {1, 67, 3, 4},   {1, 70, 1, 1},   {1, 66, 2, 40},   {1, 65, 1, 127}};
const std::vector<Shape> kLongShapes = {{2, 257, 3, 64}, {1, 1024, 2, 64}, {1, 521, 2, 128}};

std::string name_of(const Shape& s) {
  return "B=" + std::to_string(s.batch) + " T=" + std::to_string(s.seq) + " NH=" + std::to_string(s.heads) +
         " HS=" + std::to_string(s.head_size) + " ";
}

// One of q, k, v (which = 0, 1, 2) of a (B,T,3,C) tensor.
std::vector<double> part_of(const std::vector<double>& qkv, const Shape& s, int which) {
  const std::size_t channels = static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.head_size);
  std::vector<double> part;
  for (std::size_t row = 0; row < qkv.size() / (3 * channels); ++row) {
    const auto begin =
        qkv.begin() + static_cast<std::ptrdiff_t>((3 * row + static_cast<std::size_t>(which)) * channels);
    part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(channels));
  }
  return part;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

template <typename T>
class Attention : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Attention, ElementTypes);

template <typename T>
void compare_with_reference(const std::vector<Shape>& shapes) {
  const Stream stream;
  constexpr bool kNarrow = sizeof(T) == 2;
  // BF16 rounds the probabilities as well as the results: 2^-9 each, relative.
  const double norm_tolerance = kNarrow ? 1e-2 : 1e-5;
  const double value_tolerance = kNarrow ? 3e-2 : 3e-5;  // of the largest value
  for (const Shape& s : shapes) {
    for (const double scale : {1.0, 3.0}) {
      const std::string what = name_of(s) + "scale " + std::to_string(scale) + " ";
      const std::int64_t n = std::int64_t{s.batch} * s.seq * s.heads * s.head_size;
      const std::int64_t statistics = std::int64_t{s.batch} * s.seq * s.heads;
      const auto qkv = random_values<T>(3 * n, 1, scale);
      const auto dout = random_values<T>(n, 2);
      std::vector<double> out(static_cast<std::size_t>(n));
      std::vector<double> lse(static_cast<std::size_t>(statistics));
      std::vector<double> dqkv(static_cast<std::size_t>(3 * n));
      attention_forward_cpu(out.data(), lse.data(), qkv.data(), s.batch, s.seq, s.heads, s.head_size);
      attention_backward_cpu(dqkv.data(), dout.data(), qkv.data(), out.data(), lse.data(), s.batch, s.seq,
                             s.heads, s.head_size);

      const auto device_qkv = to_device<T>(qkv);
      const auto device_dout = to_device<T>(dout);
      auto got_out = poisoned<T>(n);
      auto got_lse = poisoned<float>(statistics);
      launch_attention_forward(got_out.data(), got_lse.data(), device_qkv.data(), s.batch, s.seq, s.heads,
                               s.head_size, stream.get());
      const auto host_out = to_host(got_out);
      expect_close(to_host(got_lse), lse, 1e-5, 1e-5 * (1.0 + scale * scale * 10), what + "lse");
      EXPECT_LT(relative_norm_error(host_out, out), norm_tolerance) << what << "out";
      expect_close(host_out, out, 0.0, value_tolerance * largest_of(qkv), what + "out");

      // Backward on the kernel's own out and lse, as in training.
      auto scratch = poisoned<char>(attention_backward_scratch_bytes(s.batch, s.seq, s.heads));
      std::vector<double> first;
      for (int repeat = 0; repeat < 2; ++repeat) {
        auto got = poisoned<T>(3 * n);
        launch_attention_backward(got.data(), device_dout.data(), device_qkv.data(), got_out.data(),
                                  got_lse.data(), s.batch, s.seq, s.heads, s.head_size, scratch.data(),
                                  stream.get());
        const auto host = to_host(got);
        for (int which = 0; which < 3; ++which) {
          const auto got_part = part_of(host, s, which);
          const auto expected = part_of(dqkv, s, which);
          const std::string label = what + "d" + "qkv"[which];
          // With one key the softmax is constant: dq and dk are 0 up to rounding.
          const double magnitude = std::max(largest_of(expected), scale);
          expect_close(got_part, expected, 0.0, value_tolerance * magnitude, label);
          if (s.seq > 1) {
            // dout . out is formed from the rounded out; short heads do not average that error away.
            const double tolerance = (s.head_size < 8 ? 5 : 2) * norm_tolerance;
            EXPECT_LT(relative_norm_error(got_part, expected), tolerance) << label;
          }
        }
        if (repeat == 0) {
          first = host;
        } else {
          EXPECT_EQ(first, host) << what << "not bit-identical";
        }
      }
    }
  }
}

TYPED_TEST(Attention, ForwardAndBackwardMatchReference) {
  compare_with_reference<TypeParam>(kShapes);
}

TYPED_TEST(Attention, LongSequencesMatchReference) {
  compare_with_reference<TypeParam>(kLongShapes);
}

TYPED_TEST(Attention, LargeScoresStayFinite) {
  const Stream stream;
  const Shape s{1, 200, 2, 64};
  const std::int64_t n = std::int64_t{s.batch} * s.seq * s.heads * s.head_size;
  const auto qkv = random_values<TypeParam>(3 * n, 3, 30.0);
  std::vector<double> out(static_cast<std::size_t>(n));
  std::vector<double> lse(static_cast<std::size_t>(s.seq * s.heads));
  attention_forward_cpu(out.data(), lse.data(), qkv.data(), s.batch, s.seq, s.heads, s.head_size);
  const auto device_qkv = to_device<TypeParam>(qkv);
  auto got = poisoned<TypeParam>(n);
  launch_attention_forward<TypeParam>(got.data(), nullptr, device_qkv.data(), s.batch, s.seq, s.heads,
                                      s.head_size, stream.get());
  EXPECT_LT(relative_norm_error(to_host(got), out), sizeof(TypeParam) == 2 ? 2e-2 : 1e-3);
}

TYPED_TEST(Attention, RefusesAHeadSizeItDoesNotCover) {
  const Stream stream;
  DeviceBuffer<TypeParam> buffer(8);
  EXPECT_THROW(
      launch_attention_forward<TypeParam>(buffer.data(), nullptr, buffer.data(), 1, 1, 1, 129, stream.get()),
      std::invalid_argument);
  EXPECT_THROW(
      launch_attention_forward<TypeParam>(buffer.data(), nullptr, buffer.data(), 1, 1, 1, 0, stream.get()),
      std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_attention_test
