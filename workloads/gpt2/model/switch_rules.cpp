#include "gpt2/model/switch_rules.h"

#include <fmt/format.h>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {

void check_switches(const Switches& s) {
  const bool bf16 = has_bf16_activations(s.precision);
  if (!bf16 && (s.attention == AttentionKind::cudnn || s.attention == AttentionKind::hopper)) {
    throw InputError(
        fmt::format("--attention {} computes in bf16: use --attention own with --precision fp32 or tf32",
                    name_of(s.attention)));
  }
  if (!bf16 && s.stochastic_rounding) {
    throw InputError(
        "--stochastic-rounding rounds bf16 parameters: there are none with --precision fp32 or tf32");
  }
  if (s.precision == Precision::fp8) {
    const auto refuse = [](const std::string& given, const char* instead) {
      throw InputError(fmt::format("--precision fp8 cannot go with {}: use {}", given, instead));
    };
    const auto named = [](const char* option, auto value) {
      return fmt::format("{} {}", option, name_of(value));
    };
    if (s.matmul != MatmulLibrary::cublaslt) refuse(named("--matmul", s.matmul), "--matmul cublaslt");
    if (s.bias != BiasKind::fused) refuse(named("--bias", s.bias), "--bias fused");
    if (s.gelu != GeluKind::separate) refuse(named("--gelu", s.gelu), "--gelu separate");
    if (s.kernels != KernelWidth::packed) refuse(named("--kernels", s.kernels), "--kernels packed");
    if (s.bias_gradient != BiasGradientKind::separate) {
      refuse(named("--bias-gradient", s.bias_gradient), "--bias-gradient separate");
    }
    if (s.recompute > 0) refuse(fmt::format("--recompute {}", s.recompute), "--recompute 0");
    if (s.l2_persist != 0) refuse("--l2-persist", "--l2-persist none");
    if (s.fp8_classifier != Fp8Classifier::none && s.vocabulary != VocabularyKind::padded) {
      throw InputError(
          fmt::format("--fp8-classifier {} needs --vocabulary padded: products in fp8 take multiples of 16",
                      name_of(s.fp8_classifier)));
    }
    if (s.fp8_classifier == Fp8Classifier::all && s.classifier != ClassifierKind::fused) {
      throw InputError("--fp8-classifier all needs --classifier fused, which writes the gradient in fp8");
    }
  } else if (s.fp8_classifier != Fp8Classifier::none) {
    throw InputError(fmt::format("--fp8-classifier {} needs --precision fp8", name_of(s.fp8_classifier)));
  } else if (s.fp8_hidden != Fp8Hidden::bf16) {
    throw InputError(fmt::format("--fp8-hidden {} needs --precision fp8", name_of(s.fp8_hidden)));
  } else if (s.fp8_fast_accumulation != Fp8FastAccumulation::forward) {
    throw InputError(
        fmt::format("--fp8-fast-accumulation {} needs --precision fp8", name_of(s.fp8_fast_accumulation)));
  }
  if (s.matmul == MatmulLibrary::cublas) {  // it has no epilogues
    const auto refuse = [](const char* option, std::string_view value) {
      throw InputError(fmt::format("{} {} needs --matmul cublaslt", option, value));
    };
    if (s.gelu != GeluKind::separate) refuse("--gelu", name_of(s.gelu));
    if (s.bias == BiasKind::fused) refuse("--bias", name_of(s.bias));
    if (s.bias_gradient == BiasGradientKind::fused) refuse("--bias-gradient", name_of(s.bias_gradient));
    if (s.residual == ResidualKind::product) refuse("--residual", name_of(s.residual));
  }
  if (s.bias == BiasKind::separate && s.gelu != GeluKind::separate) {
    throw InputError(fmt::format("--gelu {} adds the bias before the GELU: it cannot go with --bias separate",
                                 name_of(s.gelu)));
  }
  if (s.bias == BiasKind::separate && s.residual == ResidualKind::product) {
    throw InputError(
        "--residual product adds the bias with the residual stream: it cannot go with --bias separate");
  }
  if (s.recompute < 0 || s.recompute > 2)
    throw InputError(fmt::format("--recompute {}: must be 0, 1 or 2", s.recompute));
}

}  // namespace ridgeline::gpt2
