// Matmul against double references, its errors, the search and the cache file, on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul.h"
#include "gpt2/ops/matmul/reference_matmul.h"
#include "libs_test_support.h"

namespace ridgeline::gpt2::libs_matmul_test {
namespace {

using namespace testing_support;

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_derivative(double x) {
  const double u = std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
  const double t = std::tanh(u);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * std::sqrt(2.0 / M_PI) * (1.0 + 3.0 * 0.044715 * x * x);
}

struct Sizes {
  std::int64_t n, c, oc;
};

std::string text(const Sizes& s) {
  std::ostringstream out;
  out << "N " << s.n << " C " << s.c << " OC " << s.oc;
  return out.str();
}

// out = inp x weight^T + bias, in double
std::vector<double> reference_forward(const std::vector<double>& inp, const std::vector<double>& weight,
                                      const std::vector<double>& bias, const Sizes& s) {
  std::vector<double> out(static_cast<std::size_t>(s.n * s.oc));
  matmul_forward_cpu(out.data(), inp.data(), weight.data(), bias.empty() ? nullptr : bias.data(), s.n,
                     static_cast<int>(s.c), static_cast<int>(s.oc));
  return out;
}

// Adds the residual from its element `first` on, and to the magnitudes that of the sum, which is rounded too.
template <class T>
void add_residual(std::vector<double>& sum, std::vector<double>& magnitude, const std::vector<T>& residual,
                  std::size_t first = 0) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += static_cast<double>(to_float(residual[first + i]));
    magnitude[i] += std::abs(sum[i]);
  }
}

std::vector<double> reference_input(const std::vector<double>& dout, const std::vector<double>& weight,
                                    const Sizes& s) {
  std::vector<double> dinp(static_cast<std::size_t>(s.n * s.c));
  double* const none = nullptr;
  matmul_backward_cpu(dinp.data(), none, none, dout.data(), static_cast<const double*>(none), weight.data(),
                      s.n, static_cast<int>(s.c), static_cast<int>(s.oc));
  return dinp;
}

std::vector<double> reference_weight(const std::vector<double>& dout, const std::vector<double>& inp,
                                     const Sizes& s) {
  std::vector<double> dweight(static_cast<std::size_t>(s.oc * s.c));
  double* const none = nullptr;
  matmul_backward_cpu(none, dweight.data(), none, dout.data(), inp.data(), static_cast<const double*>(none),
                      s.n, static_cast<int>(s.c), static_cast<int>(s.oc));
  return dweight;
}

// Sizes 1, primes, a block of 128 and one less and more, and the shapes of a layer.
const std::vector<Sizes> kSizes = {{1, 8, 8},      {37, 64, 72},   {127, 128, 136},  {128, 128, 128},
                                   {129, 136, 40}, {257, 96, 768}, {211, 768, 2304}, {64, 3072, 768}};

// Rounding of the result to T, and of what is multiplied (TF32 keeps 10 bits); sums are FP32 or better.
template <class T>
struct Tolerance {
  double relative = std::is_same_v<T, bf16> ? 0x1p-8 : 1e-5;
  double sum = std::is_same_v<T, bf16> ? 1e-5 : 2e-6;  // a product of two values of size 1

  explicit Tolerance(Fp32Math math) {
    if (std::is_same_v<T, float> && math == Fp32Math::tf32) sum = 1.5e-3;
  }
  double absolute(std::int64_t k, double scale) const {
    return sum * scale * std::sqrt(static_cast<double>(k)) * 4.0;
  }
};

class MatmulGpu : public GpuTest {
 protected:
  static MatmulOptions options(MatmulSearch search, Fp32Math math = Fp32Math::fp32) {
    MatmulOptions result;
    result.search = search;
    result.fp32_math = math;
    return result;
  }

  template <class T>
  static void check_forward(Matmul& matmul, const Sizes& s, Fp32Math math, bool with_bias, bool with_gelu,
                            bool with_aux) {
    const std::string what =
        text(s) + (with_bias ? " bias" : "") + (with_gelu ? " gelu" : "") + (with_aux ? " aux" : "");
    const Tolerance<T> tolerance(math);
    const auto inp = normal_values<T>(s.n * s.c, 1.0, 1);
    const auto weight = normal_values<T>(s.oc * s.c, 1.0 / std::sqrt(static_cast<double>(s.c)), 2);
    const auto bias = with_bias ? normal_values<T>(s.oc, 1.0, 3) : std::vector<T>{};
    const DeviceBuffer<T> d_inp = on_device(inp);
    const DeviceBuffer<T> d_weight = on_device(weight);
    const DeviceBuffer<T> d_bias = on_device(bias);
    DeviceBuffer<T> d_out = poisoned<T>(s.n * s.oc);
    DeviceBuffer<T> d_aux = poisoned<T>(s.n * s.oc);
    Stream stream;
    matmul.forward(d_out.data(), d_inp.data(), d_weight.data(), with_bias ? d_bias.data() : nullptr, s.n, s.c,
                   s.oc, stream.get(), with_gelu ? MatmulEpilogue::gelu : MatmulEpilogue::none,
                   with_aux ? d_aux.data() : nullptr);
    stream.synchronize();
    std::vector<double> expected = reference_forward(widened(inp), widened(weight), widened(bias), s);
    // GEMM and bias may be rounded one after the other.
    std::vector<double> magnitude(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double part = with_bias ? std::abs(static_cast<double>(to_float(bias[i % bias.size()]))) : 0.0;
      magnitude[i] = (with_bias ? 2.0 : 1.0) * std::abs(expected[i]) + part;
    }
    const double absolute = tolerance.absolute(s.c, 1.0 / std::sqrt(static_cast<double>(s.c)));
    if (with_aux) {
      expect_close(d_aux.download(), expected, tolerance.relative, absolute, what + " (argument)", magnitude);
    }
    if (with_gelu) {
      for (double& value : expected) value = gelu(value);
    }
    // The epilogue's tanh is an approximation of about 2^-11.
    expect_close(d_out.download(), expected, tolerance.relative, absolute + (with_gelu ? 2e-3 : 0.0), what,
                 magnitude);
  }

  // The residual beside the result, then in its place: one plan serves both.
  template <class T>
  static void check_residual(Matmul& matmul, const Sizes& s, Fp32Math math, bool with_bias) {
    const std::string what = text(s) + " residual" + (with_bias ? " bias" : "");
    const Tolerance<T> tolerance(math);
    const auto inp = normal_values<T>(s.n * s.c, 1.0, 12);
    const auto weight = normal_values<T>(s.oc * s.c, 1.0 / std::sqrt(static_cast<double>(s.c)), 13);
    const auto bias = with_bias ? normal_values<T>(s.oc, 1.0, 14) : std::vector<T>{};
    const auto residual = normal_values<T>(s.n * s.oc, 2.0, 15);
    const DeviceBuffer<T> d_inp = on_device(inp);
    const DeviceBuffer<T> d_weight = on_device(weight);
    const DeviceBuffer<T> d_bias = on_device(bias);
    DeviceBuffer<T> d_residual = on_device(residual);
    DeviceBuffer<T> d_out = poisoned<T>(s.n * s.oc);
    Stream stream;
    const auto launch = [&](T* out) {
      matmul.forward_residual(out, static_cast<const T*>(d_residual.data()),
                              static_cast<const T*>(d_inp.data()), static_cast<const T*>(d_weight.data()),
                              with_bias ? static_cast<const T*>(d_bias.data()) : nullptr, s.n, s.c, s.oc,
                              stream.get());
      stream.synchronize();
    };
    std::vector<double> expected = reference_forward(widened(inp), widened(weight), widened(bias), s);
    // GEMM, bias and residual may be rounded one after the other.
    std::vector<double> magnitude(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double part = with_bias ? std::abs(static_cast<double>(to_float(bias[i % bias.size()]))) : 0.0;
      magnitude[i] = (with_bias ? 2.0 : 1.0) * std::abs(expected[i]) + part;
    }
    add_residual(expected, magnitude, residual);
    const double absolute = tolerance.absolute(s.c, 1.0 / std::sqrt(static_cast<double>(s.c)));
    const std::size_t plans = matmul.choices().size();
    launch(d_out.data());
    expect_close(d_out.download(), expected, tolerance.relative, absolute, what, magnitude);
    EXPECT_EQ(std::memcmp(d_residual.download().data(), residual.data(), residual.size() * sizeof(T)), 0)
        << what << ": the residual was written";
    launch(d_residual.data());
    expect_close(d_residual.download(), expected, tolerance.relative, absolute, what + " in place",
                 magnitude);
    EXPECT_LE(matmul.choices().size(), plans + 1) << what;
  }

  template <class T>
  static void check_input(Matmul& matmul, const Sizes& s, Fp32Math math, bool accumulate, bool dgelu) {
    const std::string what = text(s) + (accumulate ? " accumulate" : "") + (dgelu ? " dgelu" : "");
    const Tolerance<T> tolerance(math);
    const auto dout = normal_values<T>(s.n * s.oc, 1.0, 4);
    const auto weight = normal_values<T>(s.oc * s.c, 1.0 / std::sqrt(static_cast<double>(s.oc)), 5);
    const auto before = normal_values<T>(s.n * s.c, 1.0, 6);
    const auto aux = normal_values<T>(s.n * s.c, 1.5, 7);
    const DeviceBuffer<T> d_dout = on_device(dout);
    const DeviceBuffer<T> d_weight = on_device(weight);
    const DeviceBuffer<T> d_aux = on_device(aux);
    DeviceBuffer<T> d_dinp = accumulate ? on_device(before) : poisoned<T>(s.n * s.c);
    Stream stream;
    // Twice when not accumulating: the second call must not depend on what the first left.
    for (int i = 0; i < (accumulate ? 1 : 2); ++i) {
      matmul.backward_input(d_dinp.data(), d_dout.data(), d_weight.data(), s.n, s.c, s.oc, stream.get(),
                            dgelu ? d_aux.data() : nullptr, accumulate);
    }
    stream.synchronize();
    std::vector<double> expected = reference_input(widened(dout), widened(weight), s);
    // The GEMM may be rounded before it is scaled or added.
    std::vector<double> magnitude(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (dgelu) expected[i] *= gelu_derivative(static_cast<double>(to_float(aux[i])));
      const double old = accumulate ? static_cast<double>(to_float(before[i])) : 0.0;
      expected[i] += old;
      magnitude[i] = std::abs(expected[i]) * (dgelu || accumulate ? 2.0 : 1.0) + std::abs(old);
    }
    const double absolute = tolerance.absolute(s.oc, 1.0 / std::sqrt(static_cast<double>(s.oc)));
    expect_close(d_dinp.download(), expected, tolerance.relative, absolute + (dgelu ? 6e-3 : 0.0), what,
                 magnitude);
  }

  template <class T>
  static void check_weight(Matmul& matmul, const Sizes& s, Fp32Math math, bool accumulate,
                           bool bias_gradient) {
    const std::string what =
        text(s) + (accumulate ? " accumulate" : "") + (bias_gradient ? " bias gradient" : "");
    const Tolerance<T> tolerance(math);
    const auto dout = normal_values<T>(s.n * s.oc, 1.0, 8);
    const auto inp = normal_values<T>(s.n * s.c, 1.0, 9);
    const auto before = normal_values<float>(s.oc * s.c, 1.0, 10);
    const auto bias_before = normal_values<float>(s.oc, 1.0, 11);
    const DeviceBuffer<T> d_dout = on_device(dout);
    const DeviceBuffer<T> d_inp = on_device(inp);
    DeviceBuffer<float> d_dweight = accumulate ? on_device(before) : poisoned<float>(s.oc * s.c);
    DeviceBuffer<float> d_dbias = accumulate ? on_device(bias_before) : poisoned<float>(s.oc);
    Stream stream;
    matmul.backward_weight(d_dweight.data(), d_dout.data(), d_inp.data(), s.n, s.c, s.oc, stream.get(),
                           accumulate, bias_gradient ? d_dbias.data() : nullptr);
    stream.synchronize();
    std::vector<double> expected = reference_weight(widened(dout), widened(inp), s);
    if (accumulate) {
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(before[i]);
    }
    const double absolute = std::max(tolerance.absolute(s.n, 1.0), 1e-5);
    expect_close(d_dweight.download(), expected, 1e-5, absolute, what);
    if (!bias_gradient) return;
    std::vector<double> expected_bias(static_cast<std::size_t>(s.oc));
    for (std::int64_t o = 0; o < s.oc; ++o) {
      expected_bias[o] = accumulate ? static_cast<double>(bias_before[o]) : 0.0;
      for (std::int64_t n = 0; n < s.n; ++n)
        expected_bias[o] += static_cast<double>(to_float(dout[n * s.oc + o]));
    }
    expect_close(d_dbias.download(), expected_bias, 1e-5, absolute, what + " (bias)");
  }

  template <class T>
  static void check_all(Fp32Math math) {
    Matmul matmul(options(MatmulSearch::off, math));
    for (const Sizes& s : kSizes) {
      check_forward<T>(matmul, s, math, false, false, false);
      check_forward<T>(matmul, s, math, true, false, false);
      check_forward<T>(matmul, s, math, true, true, false);
      check_forward<T>(matmul, s, math, true, true, true);
      check_forward<T>(matmul, s, math, false, true, true);
      check_residual<T>(matmul, s, math, true);
      check_residual<T>(matmul, s, math, false);
      check_input<T>(matmul, s, math, false, false);
      check_input<T>(matmul, s, math, true, false);
      check_input<T>(matmul, s, math, false, true);
      for (const bool accumulate : {false, true}) {
        check_weight<T>(matmul, s, math, accumulate, false);
        if (matmul.bias_gradient_fused<T>(s.n, s.c, s.oc, accumulate)) {
          check_weight<T>(matmul, s, math, accumulate, true);
        }
      }
    }
  }
};

TEST_F(MatmulGpu, Bf16MatchesDouble) {
  check_all<bf16>(Fp32Math::fp32);
}
TEST_F(MatmulGpu, Fp32MatchesDouble) {
  check_all<float>(Fp32Math::fp32);
}
TEST_F(MatmulGpu, Tf32MatchesDouble) {
  check_all<float>(Fp32Math::tf32);
}

TEST_F(MatmulGpu, SearchedAlgorithmsMatchDouble) {
  Matmul matmul(options(MatmulSearch::full, Fp32Math::tf32));
  const Sizes s = {211, 768, 2304};
  check_forward<float>(matmul, s, Fp32Math::tf32, true, false, false);
  check_input<float>(matmul, s, Fp32Math::tf32, false, true);
  check_weight<float>(matmul, s, Fp32Math::tf32, true, false);
}

TEST_F(MatmulGpu, FullSearchMatchesDoubleAndReportsItsChoice) {
  Matmul matmul(options(MatmulSearch::full));
  const Sizes s = {509, 768, 768};
  check_forward<bf16>(matmul, s, Fp32Math::fp32, true, true, true);
  check_weight<bf16>(matmul, s, Fp32Math::fp32, true, false);
  check_residual<bf16>(matmul, s, Fp32Math::fp32, true);
  check_residual<bf16>(matmul, s, Fp32Math::fp32, false);
  const std::vector<MatmulChoice> choices = matmul.choices();
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_EQ(choices[0].op, "forward");
  EXPECT_EQ(choices[0].epilogue, "bias+gelu+aux");
  EXPECT_EQ(choices[1].op, "backward_weight");
  EXPECT_EQ(choices[2].op, "forward");
  EXPECT_EQ(choices[2].epilogue, "bias+residual");
  EXPECT_EQ(choices[3].epilogue, "residual");
  for (const MatmulChoice& choice : choices) {
    EXPECT_EQ(choice.source, "search");
    EXPECT_GT(choice.candidates, 1);
    EXPECT_GT(choice.time_ns, 0.0);
    EXPECT_GE(choice.default_time_ns, choice.time_ns);
    EXPECT_NEAR(choice.flops_per_s, 2.0 * 509 * 768 * 768 / choice.time_ns * 1e9, 1.0);
    EXPECT_NE(choice.algorithm.find("tile"), std::string::npos);
  }
}

// Where the sum is rounded to bf16 on its way is cuBLASLt's to choose, but it is one way for all elements: what
// agrees with none of these added something else. FP32 sums of another order round to the other side now and
// then.
TEST_F(MatmulGpu, TheResidualIsAddedWithOneWayOfRounding) {
  const Sizes s = {512, 768, 768};
  const auto inp = normal_values<bf16>(s.n * s.c, 1.0, 16);
  const auto weight = normal_values<bf16>(s.oc * s.c, 1.0 / std::sqrt(static_cast<double>(s.c)), 17);
  const auto bias = normal_values<bf16>(s.oc, 0.1, 18);
  const auto residual = normal_values<bf16>(s.n * s.oc, 2.0, 19);
  const DeviceBuffer<bf16> d_inp = on_device(inp), d_weight = on_device(weight), d_bias = on_device(bias),
                           d_residual = on_device(residual);
  const std::vector<double> gemm = reference_forward(widened(inp), widened(weight), {}, s);
  const auto rounded = [](double value) {
    return static_cast<double>(to_float(from_float<bf16>(static_cast<float>(value))));
  };
  constexpr std::array<const char*, 4> kWays = {"the sum alone", "product with bias", "product",
                                                "product, then with bias"};
  for (const MatmulSearch search : {MatmulSearch::off, MatmulSearch::full}) {
    Matmul matmul(options(search));
    DeviceBuffer<bf16> d_out = poisoned<bf16>(s.n * s.oc);
    Stream stream;
    matmul.forward_residual(d_out.data(), d_residual.data(), d_inp.data(), d_weight.data(), d_bias.data(),
                            s.n, s.c, s.oc, stream.get());
    stream.synchronize();
    const std::vector<double> out = widened(d_out.download());
    std::size_t shows = 0;
    std::array<std::size_t, kWays.size()> agree{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double p = gemm[i], r = static_cast<double>(to_float(residual[i]));
      const double b = static_cast<double>(to_float(bias[i % bias.size()]));
      const std::array<double, kWays.size()> sums = {rounded(p + b + r), rounded(rounded(p + b) + r),
                                                     rounded(rounded(p) + b + r),
                                                     rounded(rounded(rounded(p) + b) + r)};
      if (std::all_of(sums.begin(), sums.end(), [&](double sum) { return sum == sums[0]; })) continue;
      ++shows;
      for (std::size_t way = 0; way < kWays.size(); ++way) agree[way] += out[i] == sums[way] ? 1 : 0;
    }
    ASSERT_GT(shows, out.size() / 100);
    const auto best = std::max_element(agree.begin(), agree.end());
    std::printf("%s rounds %s (%zu of %zu elements on which it shows)\n",
                matmul.choices().at(0).algorithm.c_str(),
                kWays[static_cast<std::size_t>(best - agree.begin())], *best, shows);
    EXPECT_GE(*best, shows - shows / 50);
  }
}

// Widths that are no multiple of 16 bytes: right, or refused; never wrong.
TEST_F(MatmulGpu, OddWidthsAreRightOrRefused) {
  Matmul matmul(options(MatmulSearch::off));
  for (const Sizes& s : {Sizes{3, 7, 5}, Sizes{31, 33, 17}}) {
    check_forward<float>(matmul, s, Fp32Math::fp32, true, false, false);
    check_residual<float>(matmul, s, Fp32Math::fp32, true);
    try {
      check_forward<bf16>(matmul, s, Fp32Math::fp32, true, false, false);
    } catch (const LibraryError& error) {
      EXPECT_NE(std::string(error.what()).find("no algorithm"), std::string::npos) << error.what();
    }
    EXPECT_THROW(check_forward<bf16>(matmul, s, Fp32Math::fp32, true, true, true), std::invalid_argument);
    EXPECT_THROW(check_input<bf16>(matmul, s, Fp32Math::fp32, false, true), std::invalid_argument);
  }
}

TEST_F(MatmulGpu, AlignmentOf16BytesIsEnoughAndLessIsRefused) {
  Matmul matmul(options(MatmulSearch::full));
  const Sizes s = {33, 64, 48};
  const auto inp = normal_values<bf16>(s.n * s.c, 1.0, 1);
  const auto weight = normal_values<bf16>(s.oc * s.c, 0.1, 2);
  DeviceBuffer<bf16> d_inp(s.n * s.c + 8);
  DeviceBuffer<bf16> d_weight(s.oc * s.c + 8);
  DeviceBuffer<bf16> d_out = poisoned<bf16>(s.n * s.oc + 8);
  RIDGELINE_CUDA_CHECK(cudaMemcpy(d_inp.data() + 8, inp.data(), inp.size() * 2, cudaMemcpyHostToDevice));
  RIDGELINE_CUDA_CHECK(
      cudaMemcpy(d_weight.data() + 8, weight.data(), weight.size() * 2, cudaMemcpyHostToDevice));
  Stream stream;
  const bf16* no_bias = nullptr;
  matmul.forward(d_out.data() + 8, d_inp.data() + 8, d_weight.data() + 8, no_bias, s.n, s.c, s.oc,
                 stream.get());
  stream.synchronize();
  std::vector<bf16> out = d_out.download();
  out.erase(out.begin(), out.begin() + 8);
  expect_close(out, reference_forward(widened(inp), widened(weight), {}, s), 0x1p-8, 1e-3,
               "offset of 16 bytes");
  EXPECT_THROW(
      matmul.forward(d_out.data() + 4, d_inp.data(), d_weight.data(), no_bias, s.n, s.c, s.oc, stream.get()),
      LibraryError);
  // The residual counts as the result does.
  const auto residual = normal_values<bf16>(s.n * s.oc + 8, 1.0, 3);
  const DeviceBuffer<bf16> d_residual = on_device(residual);
  DeviceBuffer<bf16> d_sum = poisoned<bf16>(s.n * s.oc);
  const auto add = [&](std::int64_t offset) {
    matmul.forward_residual(
        d_sum.data(), d_residual.data() + offset, static_cast<const bf16*>(d_inp.data() + 8),
        static_cast<const bf16*>(d_weight.data() + 8), no_bias, s.n, s.c, s.oc, stream.get());
    stream.synchronize();
  };
  add(8);
  std::vector<double> sum = reference_forward(widened(inp), widened(weight), {}, s);
  std::vector<double> magnitude(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) magnitude[i] = std::abs(sum[i]);
  add_residual(sum, magnitude, residual, 8);
  expect_close(d_sum.download(), sum, 0x1p-8, 1e-3, "residual at an offset of 16 bytes", magnitude);
  EXPECT_THROW(add(4), LibraryError);
}

TEST_F(MatmulGpu, BadCallsAreNamed) {
  Matmul matmul(options(MatmulSearch::off));
  DeviceBuffer<bf16> buffer = poisoned<bf16>(1024);
  Stream stream;
  const bf16* no_bias = nullptr;
  EXPECT_THROW(matmul.forward(buffer.data(), buffer.data(), buffer.data(), no_bias, 0, 8, 8, stream.get()),
               std::invalid_argument);
  EXPECT_THROW(matmul.backward_input(buffer.data(), buffer.data(), buffer.data(), 8, 8, 8, stream.get(),
                                     buffer.data(), true),
               std::invalid_argument);
  EXPECT_THROW(
      matmul.forward_residual(buffer.data(), no_bias, static_cast<const bf16*>(buffer.data()),
                              static_cast<const bf16*>(buffer.data()), no_bias, 8, 8, 8, stream.get()),
      std::invalid_argument);
}

TEST_F(MatmulGpu, CaptureNeedsAPlanAndThenWorks) {
  Matmul matmul(options(MatmulSearch::off));
  const Sizes s = {64, 64, 64};
  const auto inp = normal_values<bf16>(s.n * s.c, 1.0, 1);
  const auto weight = normal_values<bf16>(s.oc * s.c, 0.1, 2);
  const DeviceBuffer<bf16> d_inp = on_device(inp);
  const DeviceBuffer<bf16> d_weight = on_device(weight);
  DeviceBuffer<bf16> d_out = poisoned<bf16>(s.n * s.oc);
  Stream stream;
  const bf16* no_bias = nullptr;
  const auto launch = [&] {
    matmul.forward(d_out.data(), d_inp.data(), d_weight.data(), no_bias, s.n, s.c, s.oc, stream.get());
  };
  cudaGraph_t graph = nullptr;
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  EXPECT_THROW(launch(), LibraryError);
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
  launch();
  stream.synchronize();
  d_out = poisoned<bf16>(s.n * s.oc);
  RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  launch();
  RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  expect_close(d_out.download(), reference_forward(widened(inp), widened(weight), {}, s), 0x1p-8, 1e-3,
               "captured");
  RIDGELINE_CUDA_CHECK(cudaGraphExecDestroy(executable));
  RIDGELINE_CUDA_CHECK(cudaGraphDestroy(graph));
}

class MatmulCacheGpu : public MatmulGpu {
 protected:
  void SetUp() override {
    MatmulGpu::SetUp();
    path_ = (std::filesystem::temp_directory_path() /
             ("ridgeline_matmul_cache_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json"))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove(path_);
  }

  MatmulOptions cached(MatmulSearch search) const {
    MatmulOptions result = options(search);
    result.cache_path = path_;
    return result;
  }

  // Runs one GEMM and returns what was chosen and how.
  MatmulChoice run_one(const MatmulOptions& with) const {
    Matmul matmul(with);
    check_forward<bf16>(matmul, {211, 768, 768}, Fp32Math::fp32, true, false, false);
    return matmul.choices().at(0);
  }

  std::string path_;
};

TEST_F(MatmulCacheGpu, SecondRunTakesTheStoredChoice) {
  const MatmulChoice searched = run_one(cached(MatmulSearch::full));
  EXPECT_EQ(searched.source, "search");
  ASSERT_TRUE(std::filesystem::exists(path_));
  const MatmulChoice stored = run_one(cached(MatmulSearch::full));
  EXPECT_EQ(stored.source, "cache");
  EXPECT_EQ(stored.algorithm, searched.algorithm);
  EXPECT_EQ(stored.candidates, searched.candidates);
  EXPECT_DOUBLE_EQ(stored.time_ns, searched.time_ns);
  EXPECT_DOUBLE_EQ(stored.default_time_ns, searched.default_time_ns);
  // Without a search the choice is cuBLASLt's, whatever an earlier run has found.
  EXPECT_EQ(run_one(cached(MatmulSearch::off)).source, "heuristic");
}

TEST_F(MatmulCacheGpu, AResidualHasAnEntryOfItsOwn) {
  const Sizes s = {211, 768, 768};
  for (const char* source : {"search", "cache"}) {
    Matmul matmul(cached(MatmulSearch::full));
    check_forward<bf16>(matmul, s, Fp32Math::fp32, true, false, false);
    check_residual<bf16>(matmul, s, Fp32Math::fp32, true);
    const std::vector<MatmulChoice> choices = matmul.choices();
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_EQ(choices[0].epilogue, "bias");
    EXPECT_EQ(choices[1].epilogue, "bias+residual");
    for (const MatmulChoice& choice : choices) EXPECT_EQ(choice.source, source) << choice.epilogue;
  }
}

TEST_F(MatmulCacheGpu, DamagedAndForeignFilesAreIgnoredWithOneLine) {
  run_one(cached(MatmulSearch::full));
  std::stringstream original;
  original << std::ifstream(path_).rdbuf();
  const auto expect_ignored = [&](const std::string& contents, const std::string& reason) {
    std::ofstream(path_, std::ios::trunc) << contents;
    ::testing::internal::CaptureStderr();
    const MatmulChoice choice = run_one(cached(MatmulSearch::full));
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(choice.source, "search") << reason;
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  };
  expect_ignored(original.str().substr(0, original.str().size() / 2), "damaged");
  expect_ignored("", "damaged");
  nlohmann::json document = nlohmann::json::parse(original.str());
  document["gpu"] = "another";
  expect_ignored(document.dump(), "another GPU");
  document = nlohmann::json::parse(original.str());
  document["cublaslt"] = 1;
  expect_ignored(document.dump(), "another cuBLASLt");
}

// An algorithm that cuBLASLt does not accept for the problem is searched again, not run.
TEST_F(MatmulCacheGpu, AnInvalidStoredAlgorithmIsReplaced) {
  run_one(cached(MatmulSearch::full));
  nlohmann::json document = nlohmann::json::parse(std::ifstream(path_));
  document["entries"][0]["algo"] = std::string(128, 'f');
  std::ofstream(path_, std::ios::trunc) << document.dump();
  EXPECT_EQ(run_one(cached(MatmulSearch::full)).source, "search");
}

}  // namespace
}  // namespace ridgeline::gpt2::libs_matmul_test
