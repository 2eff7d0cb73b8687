// switches.h: every optimisation of the trainer that can be turned off, and the two presets.
//
// Of each enum the first value is the fast side. The other sides are correct and honest: what people write
// first. One table of names a switch serves the command line, the header of a run and its JSON.
#pragma once

#include <array>
#include <string_view>

namespace ridgeline::gpt2 {

// GCC 12 takes an enumerator of a scoped enum for a declaration that shadows a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// fp8: as bf16, but for the operands of the layers' GEMMs and, by Fp8Classifier, of the classifier's.
/// Attention stays in bf16.
enum class Precision { bf16, fp8, tf32, fp32 };
/// Whether the classifier's GEMMs are in FP8 too: the logits', and those after their gradient, which the fused
/// classifier then writes in E5M2.
enum class Fp8Classifier { none, all };
/// In FP8, how the GEMMs around GELU store its argument and the gradient in front of its slope: fp8, as
/// E4M3 and E5M2.
enum class Fp8Hidden { bf16, fp8 };
#pragma GCC diagnostic pop
enum class MatmulLibrary { cublaslt, cublas };
enum class BiasKind { fused, separate };  // into the GEMM's epilogue, or a kernel after the GEMM
/// Where GELU and its derivative are computed. own: Hopper GEMMs of ours, of which the forward one keeps
/// the derivative instead of the argument; fused: cuBLASLt's epilogues; separate: kernels of their own.
enum class GeluKind { own, fused, separate };
/// hopper: kernels of ours for compute capability 9.0 and head size 64 (cudnn elsewhere); own: kernels of ours for any
/// GPU.
enum class AttentionKind { hopper, cudnn, own, unfused };
enum class VocabularyKind {
  padded,
  plain
};                                          // rows of wte: a multiple of 128, or as many as there are tokens
enum class KernelWidth { packed, scalar };  // elements an own kernel moves at once: 128 bits, or one
/// Where what attproj and fcproj yield is added to the residual stream. gemm: in their own epilogue, with the
/// bias; fused: in the layernorm that follows; separate: in a kernel between the two.
enum class ResidualKind { gemm, fused, separate };
enum class ClassifierKind { fused, separate };
/// Of qkvb and fcb. separate: a kernel that fills the chip (fcb: what applies GELU's derivative, unless
/// GeluKind::fused does; qkvb: the queries' part, see value_bias_gradient.h); fused: cuBLASLt's epilogue.
/// Both take those of attproj and fcproj from the layernorm's backward pass; naive: one block per channel for
/// all four.
enum class BiasGradientKind { separate, fused, naive };
enum class OptimizerKind { multi, per_tensor };  // one launch for all tensors, or one per tensor

/// What an access policy window keeps in L2 while the ops that use it run. residual: what attproj and fcproj leave
/// for the op after them, and the gradient on the residual stream.
enum class L2Persist { none, residual };

struct Switches {
  Precision precision = Precision::bf16;
  Fp8Classifier fp8_classifier = Fp8Classifier::none;
  Fp8Hidden fp8_hidden = Fp8Hidden::bf16;
  MatmulLibrary matmul = MatmulLibrary::cublaslt;
  BiasKind bias = BiasKind::fused;
  GeluKind gelu = GeluKind::own;
  AttentionKind attention = AttentionKind::hopper;
  VocabularyKind vocabulary = VocabularyKind::padded;
  KernelWidth kernels = KernelWidth::packed;
  ResidualKind residual = ResidualKind::gemm;
  ClassifierKind classifier = ClassifierKind::fused;
  BiasGradientKind bias_gradient = BiasGradientKind::separate;
  OptimizerKind optimizer = OptimizerKind::multi;
  int recompute = 0;        // 0: keep everything; 1: GELU again in the backward pass; 2: layernorms too
  bool cuda_graph = false;  // from the second step on a step is one graph launch
  L2Persist l2_persist = L2Persist::none;
  bool stochastic_rounding = false;  // of BF16 parameters from their master weights
  bool deterministic = false;        // every sum in a fixed order

  friend bool operator==(const Switches&, const Switches&) = default;
};

/// Whether activations and working copies of parameters are bfloat16.
constexpr bool has_bf16_activations(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp8;
}

constexpr Switches fast_preset() {
  return {.cuda_graph = true};
}
constexpr Switches naive_preset() {
  return {.precision = Precision::fp32,
          .matmul = MatmulLibrary::cublas,
          .bias = BiasKind::separate,
          .gelu = GeluKind::separate,
          .attention = AttentionKind::unfused,
          .vocabulary = VocabularyKind::plain,
          .kernels = KernelWidth::scalar,
          .residual = ResidualKind::separate,
          .classifier = ClassifierKind::separate,
          .bias_gradient = BiasGradientKind::naive,
          .optimizer = OptimizerKind::per_tensor};
}

template <typename Enum>
struct NamedValue {
  std::string_view name;
  Enum value;
};

/// Names of one switch's values, fastest first: names_of(Enum{}).
constexpr auto names_of(Precision) {
  using enum Precision;
  return std::array<NamedValue<Precision>, 4>{{{"bf16", bf16}, {"fp8", fp8}, {"tf32", tf32}, {"fp32", fp32}}};
}
constexpr auto names_of(Fp8Classifier) {
  using enum Fp8Classifier;
  return std::array<NamedValue<Fp8Classifier>, 2>{{{"none", none}, {"all", all}}};
}
constexpr auto names_of(Fp8Hidden) {
  using enum Fp8Hidden;
  return std::array<NamedValue<Fp8Hidden>, 2>{{{"bf16", bf16}, {"fp8", fp8}}};
}
constexpr auto names_of(MatmulLibrary) {
  using enum MatmulLibrary;
  return std::array<NamedValue<MatmulLibrary>, 2>{{{"cublaslt", cublaslt}, {"cublas", cublas}}};
}
constexpr auto names_of(BiasKind) {
  using enum BiasKind;
  return std::array<NamedValue<BiasKind>, 2>{{{"fused", fused}, {"separate", separate}}};
}
constexpr auto names_of(GeluKind) {
  using enum GeluKind;
  return std::array<NamedValue<GeluKind>, 3>{{{"own", own}, {"fused", fused}, {"separate", separate}}};
}
constexpr auto names_of(AttentionKind) {
  using enum AttentionKind;
  return std::array<NamedValue<AttentionKind>, 4>{
      {{"hopper", hopper}, {"cudnn", cudnn}, {"own", own}, {"unfused", unfused}}};
}
constexpr auto names_of(VocabularyKind) {
  using enum VocabularyKind;
  return std::array<NamedValue<VocabularyKind>, 2>{{{"padded", padded}, {"plain", plain}}};
}
constexpr auto names_of(KernelWidth) {
  using enum KernelWidth;
  return std::array<NamedValue<KernelWidth>, 2>{{{"packed", packed}, {"scalar", scalar}}};
}
constexpr auto names_of(ResidualKind) {
  using enum ResidualKind;
  return std::array<NamedValue<ResidualKind>, 3>{{{"gemm", gemm}, {"fused", fused}, {"separate", separate}}};
}
constexpr auto names_of(ClassifierKind) {
  using enum ClassifierKind;
  return std::array<NamedValue<ClassifierKind>, 2>{{{"fused", fused}, {"separate", separate}}};
}
constexpr auto names_of(BiasGradientKind) {
  using enum BiasGradientKind;
  return std::array<NamedValue<BiasGradientKind>, 3>{
      {{"separate", separate}, {"fused", fused}, {"naive", naive}}};
}
constexpr auto names_of(OptimizerKind) {
  using enum OptimizerKind;
  return std::array<NamedValue<OptimizerKind>, 2>{{{"multi", multi}, {"per-tensor", per_tensor}}};
}

constexpr auto names_of(L2Persist) {
  using enum L2Persist;
  return std::array<NamedValue<L2Persist>, 2>{{{"none", none}, {"residual", residual}}};
}

template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& named : names_of(Enum{})) {
    if (named.value == value) return named.name;
  }
  return "?";
}

}  // namespace ridgeline::gpt2
