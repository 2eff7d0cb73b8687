// The same backward pass of the deterministic model again and again, at the widths of 124M: every gradient
// must keep every bit, and one that does not is named. A difference points at the first op, from the
// classifier down, that is not reproducible. Run several of these at once as well: orders that hold on an
// idle GPU may not on a shared one.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>

#include "model_test_support.h"

namespace ridgeline::gpt2::model_repeat_gpu_test {
namespace {

using namespace model_test;

// Which tensors differ between two sets of gradients, and in how many elements; empty: none.
std::string differences(const std::vector<float>& a, const std::vector<float>& b, const ModelConfig& config) {
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0) return {};
  const ParameterLayout layout(config);
  std::string text;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    for (int layer = 0; layer < config.layers; ++layer) {
      const bool stacked =
          tensor != Tensor::wte && tensor != Tensor::wpe && tensor != Tensor::lnfw && tensor != Tensor::lnfb;
      if (!stacked && layer > 0) continue;
      const auto begin = static_cast<std::size_t>(layout.offset(tensor, layer));
      const auto count = static_cast<std::size_t>(layout.count(tensor) / (stacked ? config.layers : 1));
      std::size_t differ = 0;
      for (std::size_t i = begin; i < begin + count; ++i) {
        differ += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 ? 1 : 0;
      }
      if (differ == 0) continue;
      text += std::string(tensor_name(tensor)) + (stacked ? " of layer " + std::to_string(layer) : "") +
              ": " + std::to_string(differ) + " of " + std::to_string(count) + " elements\n";
    }
  }
  return text;
}

struct Case {
  const char* name;
  Switches switches;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class DeterministicModel : public ::testing::TestWithParam<Case> {};

TEST_P(DeterministicModel, RepeatsEveryGradientBitForBit) {
  GpuModelOptions options;
  options.config = model_config("124M");
  options.config.layers = 2;
  options.batch = 4;
  options.sequence = 256;
  options.switches = GetParam().switches;
  options.switches.deterministic = true;
  options.matmul.search = MatmulSearch::off;
  Device device(options, lively_parameters(options.config, 7));
  const Batch batch = random_batch(options.batch * options.sequence, options.config.vocab, 8);
  const float loss = device.step(batch, nullptr).loss;
  const std::vector<float> first = device.model().download_gradients();
  for (int repeat = 1; repeat <= 40; ++repeat) {
    const float again = device.step(batch, nullptr).loss;
    ASSERT_EQ(std::memcmp(&again, &loss, sizeof(float)), 0) << "forward pass, repeat " << repeat;
    ASSERT_EQ(differences(device.model().download_gradients(), first, options.config), "")
        << "repeat " << repeat;
  }
}

constexpr Switches with_precision(Precision precision, Fp8Hidden hidden = Fp8Hidden::bf16,
                                  AttentionKind attention = AttentionKind::own) {
  Switches s{.precision = precision, .attention = attention};
  if (precision != Precision::bf16)
    s.gelu = precision == Precision::fp8 ? GeluKind::separate : GeluKind::fused;
  s.fp8_hidden = hidden;
  return s;
}

INSTANTIATE_TEST_SUITE_P(
    Switches, DeterministicModel,
    ::testing::Values(Case{"fast", Switches{}}, Case{"own_attention", with_precision(Precision::bf16)},
                      Case{"separate_gelu", Switches{.gelu = GeluKind::separate}},
                      Case{"fused_gelu", Switches{.gelu = GeluKind::fused}},
                      Case{"separate_classifier", Switches{.classifier = ClassifierKind::separate}},
                      Case{"scalar_kernels", Switches{.kernels = KernelWidth::scalar}},
                      Case{"cublas", Switches{.matmul = MatmulLibrary::cublas,
                                              .bias = BiasKind::separate,
                                              .gelu = GeluKind::separate,
                                              .residual = ResidualKind::fused}},
                      Case{"fused_residual", Switches{.residual = ResidualKind::fused}},
                      Case{"fp8", with_precision(Precision::fp8)},
                      Case{"fp8_hidden", with_precision(Precision::fp8, Fp8Hidden::fp8)},
                      Case{"fp8_attention",
                           with_precision(Precision::fp8, Fp8Hidden::fp8, AttentionKind::hopper)},
                      Case{"fp32", with_precision(Precision::fp32)}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ridgeline::gpt2::model_repeat_gpu_test
