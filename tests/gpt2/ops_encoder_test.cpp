// Embedding forward and both backward modes against the reference.
#include <algorithm>

#include "gpt2/ops/embedding/encoder.h"
#include "ops_test_support.h"

namespace ridgeline::gpt2::ops_encoder_test {
namespace {

using namespace ops_test;

struct Shape {
  int batch;
  int seq;
  int channels;
  int vocab;
};
// Around the sort's tile of 1024 and the run tile of 32 positions; columns of every vector width.
const std::vector<Shape> kShapes = {
    {1, 1, 1, 1},       {1, 1, 8, 3},       {3, 11, 5, 7},    {1, 31, 8, 50},    {1, 32, 12, 50},
    {3, 11, 768, 1000}, {1, 1023, 16, 300}, {2, 512, 24, 70}, {5, 205, 64, 997}, {4, 257, 768, 5003}};

// Token choices: spread out, one token only, and a skewed mixture as in text.
std::vector<std::int32_t> tokens_of(const Shape& shape, int kind) {
  std::mt19937 generator(17);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.batch) *
                                   static_cast<std::size_t>(shape.seq));
  for (std::int32_t& token : tokens) {
    const auto uniform = static_cast<std::int32_t>(generator() % static_cast<unsigned>(shape.vocab));
    token = kind == 0              ? uniform
            : kind == 1            ? shape.vocab - 1
            : generator() % 2 == 0 ? shape.vocab / 2
                                   : uniform;
  }
  return tokens;
}

template <typename T>
class Encoder : public TypedGpuTest<T> {};
TYPED_TEST_SUITE(Encoder, ElementTypes);

TYPED_TEST(Encoder, ForwardMatchesReference) {
  const Stream stream;
  for (const Shape& s : kShapes) {
    const std::int64_t n = std::int64_t{s.batch} * s.seq * s.channels;
    const auto wte = random_values<TypeParam>(std::int64_t{s.vocab} * s.channels, 1);
    const auto wpe = random_values<TypeParam>(std::int64_t{s.seq} * s.channels, 2);
    const auto tokens = tokens_of(s, 0);
    std::vector<double> expected(static_cast<std::size_t>(n));
    encoder_forward_cpu(expected.data(), tokens.data(), wte.data(), wpe.data(), s.batch, s.seq, s.channels);
    const auto dwte = to_device<TypeParam>(wte);
    const auto dwpe = to_device<TypeParam>(wpe);
    const auto dtokens = to_device(tokens);
    auto out = poisoned<TypeParam>(n);
    launch_encoder_forward(out.data(), dtokens.data(), dwte.data(), dwpe.data(), s.batch, s.seq, s.channels,
                           stream.get());
    expect_close(to_host(out), expected, epsilon<TypeParam>() / 2, 0.0, "n=" + std::to_string(n));
  }
}

TYPED_TEST(Encoder, BackwardMatchesReferenceAndAccumulates) {
  const Stream stream;
  for (const Shape& s : kShapes) {
    for (int kind = 0; kind < 3; ++kind) {
      const std::int64_t n = std::int64_t{s.batch} * s.seq;
      const std::int64_t table = std::int64_t{s.vocab} * s.channels;
      const auto tokens = tokens_of(s, kind);
      const auto dout = random_values<TypeParam>(n * s.channels, 3);
      const auto before_wte = random_values<float>(table, 4);
      const auto before_wpe = random_values<float>(std::int64_t{s.seq} * s.channels, 5);
      auto expected_wte = before_wte;
      auto expected_wpe = before_wpe;
      encoder_backward_cpu(expected_wte.data(), expected_wpe.data(), dout.data(), tokens.data(), s.batch,
                           s.seq, s.channels);
      // Tolerance: FP32 rounding of a sum, against the sum of magnitudes.
      std::vector<double> magnitude(dout.size());
      std::transform(dout.begin(), dout.end(), magnitude.begin(), [](double v) { return std::abs(v); });
      auto tolerance_wte = before_wte;
      auto tolerance_wpe = before_wpe;
      for (double& v : tolerance_wte) v = std::abs(v);
      for (double& v : tolerance_wpe) v = std::abs(v);
      encoder_backward_cpu(tolerance_wte.data(), tolerance_wpe.data(), magnitude.data(), tokens.data(),
                           s.batch, s.seq, s.channels);
      for (double& v : tolerance_wte) v *= 1e-5;
      for (double& v : tolerance_wpe) v *= 1e-5;

      const auto device_tokens = to_device(tokens);
      const auto device_dout = to_device<TypeParam>(dout);
      for (const auto mode : {EncoderBackward::atomic, EncoderBackward::deterministic}) {
        const std::string what = "B=" + std::to_string(s.batch) + " T=" + std::to_string(s.seq) +
                                 " C=" + std::to_string(s.channels) + " kind " + std::to_string(kind) +
                                 (mode == EncoderBackward::atomic ? " atomic" : " deterministic");
        auto scratch = poisoned<char>(
            std::max<std::int64_t>(1, encoder_backward_scratch_bytes(s.batch, s.seq, s.channels, mode)));
        std::vector<float> first;
        for (int repeat = 0; repeat < 2; ++repeat) {
          auto dwte = to_device<float>(before_wte);
          auto dwpe = to_device<float>(before_wpe);
          launch_encoder_backward(dwte.data(), dwpe.data(), device_dout.data(), device_tokens.data(), s.batch,
                                  s.seq, s.channels, s.vocab, mode, scratch.data(), stream.get());
          expect_close(to_host(dwte), expected_wte, 0.0, tolerance_wte, what + " dwte");
          expect_close(to_host(dwpe), expected_wpe, 0.0, tolerance_wpe, what + " dwpe");
          if (mode == EncoderBackward::deterministic) {
            if (repeat == 0) {
              first = dwte.download();
            } else {
              EXPECT_EQ(first, dwte.download()) << what << ": not bit-identical";
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(Encoder, RefusesAVocabularyItCannotSort) {
  const Stream stream;
  DeviceBuffer<float> gradient(4);
  DeviceBuffer<TypeParam> dout(4);
  DeviceBuffer<std::int32_t> tokens(1);
  EXPECT_THROW(launch_encoder_backward(gradient.data(), gradient.data(), dout.data(), tokens.data(), 1, 1, 4,
                                       65537, EncoderBackward::deterministic, nullptr, stream.get()),
               std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline::gpt2::ops_encoder_test
