#include "gpt2/model/switch_rules.h"

#include <fmt/format.h>

#include <string>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

using S = Switches;

// What gives way, unless it was asked for.
struct Fallback {
  const char* option = nullptr;  // null: nothing does
  void (*apply)(S&) = nullptr;
};

struct Rule {
  bool (*broken)(const S&);
  std::string (*says)(const S&);
  Fallback first = {};
  Fallback second = {};  // where the first was asked for
};

bool in_bf16(const S& s) {
  return has_bf16_activations(s.precision);
}
bool in_fp8(const S& s) {
  return s.precision == Precision::fp8;
}
// It has no epilogues.
bool by_cublas(const S& s) {
  return s.matmul == MatmulLibrary::cublas;
}
// The bias must come before the GELU and with the residual stream.
bool bias_apart(const S& s) {
  return s.bias == BiasKind::separate;
}

std::string not_in_fp8(const char* option, std::string_view given, std::string_view instead) {
  return fmt::format("--precision fp8 cannot go with {} {}: use {} {}", option, given, option, instead);
}
std::string needs_cublaslt(const char* option, std::string_view given) {
  return fmt::format("{} {} needs --matmul cublaslt", option, given);
}
std::string needs_fp8(const char* option, std::string_view given) {
  return fmt::format("{} {} needs --precision fp8", option, given);
}

// A rule about one switch in FP8: its only side there, and whether it is taken without being asked for.
#define RIDGELINE_ONLY_IN_FP8(option, member, value, ...)                                             \
  {                                                                                                   \
    [](const S& s) { return in_fp8(s) && s.member != value; },                                        \
        [](const S& s) { return not_in_fp8(option, name_of(s.member), name_of(value)); }, __VA_ARGS__ \
  }

// In this order: a rule sees what those before it have settled.
const Rule kRules[] = {
    {[](const S& s) {
       return !in_bf16(s) && (s.attention == AttentionKind::cudnn || s.attention == AttentionKind::hopper);
     },
     [](const S& s) {
       return fmt::format(
           "--attention {} computes in bf16: use --attention own with --precision fp32 or tf32",
           name_of(s.attention));
     },
     {"--attention", [](S& s) { s.attention = AttentionKind::own; }}},
    {[](const S& s) { return !in_bf16(s) && s.stochastic_rounding; },
     [](const S&) {
       return std::string(
           "--stochastic-rounding rounds bf16 parameters: there are none with --precision fp32 or tf32");
     }},
    RIDGELINE_ONLY_IN_FP8("--matmul", matmul, MatmulLibrary::cublaslt, {}),
    RIDGELINE_ONLY_IN_FP8("--bias", bias, BiasKind::fused, {}),
    RIDGELINE_ONLY_IN_FP8("--gelu", gelu, GeluKind::separate,
                          {"--gelu", [](S& s) { s.gelu = GeluKind::separate; }}),
    RIDGELINE_ONLY_IN_FP8("--kernels", kernels, KernelWidth::packed, {}),
    RIDGELINE_ONLY_IN_FP8("--bias-gradient", bias_gradient, BiasGradientKind::separate, {}),
    RIDGELINE_ONLY_IN_FP8("--l2-persist", l2_persist, L2Persist::none, {}),
    {[](const S& s) { return in_fp8(s) && s.recompute > 0; },
     [](const S& s) { return not_in_fp8("--recompute", std::to_string(s.recompute), "0"); }},
    {[](const S& s) {
       return s.fp8_classifier == Fp8Classifier::all && s.vocabulary != VocabularyKind::padded;
     },
     [](const S&) {
       return std::string(
           "--fp8-classifier all needs --vocabulary padded: products in fp8 take multiples of 16");
     }},
    {[](const S& s) {
       return s.fp8_classifier == Fp8Classifier::all && s.classifier != ClassifierKind::fused;
     },
     [](const S&) {
       return std::string("--fp8-classifier all needs --classifier fused, which writes the gradient in fp8");
     }},
    {[](const S& s) { return !in_fp8(s) && s.fp8_classifier != Fp8Classifier::none; },
     [](const S& s) { return needs_fp8("--fp8-classifier", name_of(s.fp8_classifier)); }},
    {[](const S& s) { return !in_fp8(s) && s.fp8_hidden != Fp8Hidden::bf16; },
     [](const S& s) { return needs_fp8("--fp8-hidden", name_of(s.fp8_hidden)); }},
    {[](const S& s) { return s.gelu == GeluKind::own && !in_bf16(s); },
     [](const S&) {
       return std::string("--gelu own computes in bf16: use --gelu fused with --precision fp32 or tf32");
     },
     {"--gelu", [](S& s) { s.gelu = GeluKind::fused; }}},
    {[](const S& s) { return s.gelu == GeluKind::own && s.recompute >= 1; },
     [](const S& s) {
       return fmt::format(
           "--gelu own keeps GELU's slope, not the argument that --recompute {} computes it from again: "
           "use --gelu separate",
           s.recompute);
     },
     {"--gelu", [](S& s) { s.gelu = GeluKind::separate; }}},
    {[](const S& s) { return by_cublas(s) && s.gelu != GeluKind::separate; },
     [](const S& s) { return needs_cublaslt("--gelu", name_of(s.gelu)); },
     {"--gelu", [](S& s) { s.gelu = GeluKind::separate; }}},
    {[](const S& s) { return by_cublas(s) && s.bias == BiasKind::fused; },
     [](const S& s) { return needs_cublaslt("--bias", name_of(s.bias)); },
     {"--bias", [](S& s) { s.bias = BiasKind::separate; }}},
    {[](const S& s) { return by_cublas(s) && s.bias_gradient == BiasGradientKind::fused; },
     [](const S& s) { return needs_cublaslt("--bias-gradient", name_of(s.bias_gradient)); },
     {"--bias-gradient", [](S& s) { s.bias_gradient = BiasGradientKind::separate; }}},
    {[](const S& s) { return by_cublas(s) && s.residual == ResidualKind::gemm; },
     [](const S& s) { return needs_cublaslt("--residual", name_of(s.residual)); },
     {"--residual", [](S& s) { s.residual = ResidualKind::fused; }}},
    {[](const S& s) { return bias_apart(s) && s.gelu != GeluKind::separate; },
     [](const S& s) {
       return fmt::format("--gelu {} adds the bias before the GELU: it cannot go with --bias separate",
                          name_of(s.gelu));
     },
     {"--gelu", [](S& s) { s.gelu = GeluKind::separate; }},
     {"--bias", [](S& s) { s.bias = BiasKind::fused; }}},
    {[](const S& s) { return bias_apart(s) && s.residual == ResidualKind::gemm; },
     [](const S&) {
       return std::string(
           "--residual gemm adds the bias with the residual stream: it cannot go with --bias separate");
     },
     {"--residual", [](S& s) { s.residual = ResidualKind::fused; }},
     {"--bias", [](S& s) { s.bias = BiasKind::fused; }}},
    {[](const S& s) { return s.recompute < 0 || s.recompute > 2; },
     [](const S& s) { return fmt::format("--recompute {}: must be 0, 1 or 2", s.recompute); }},
    {[](const S& s) { return s.l2_persist != L2Persist::none && s.cuda_graph; },
     [](const S& s) {
       return fmt::format("--l2-persist {} needs --no-cuda-graph: captured kernels carry no window",
                          name_of(s.l2_persist));
     },
     {"--cuda-graph", [](S& s) { s.cuda_graph = false; }}},
};
#undef RIDGELINE_ONLY_IN_FP8

}  // namespace

void settle_switches(Switches& switches, const std::function<bool(std::string_view option)>& given) {
  for (const Rule& rule : kRules) {
    if (!rule.broken(switches)) continue;
    bool settled = false;
    for (const Fallback& fallback : {rule.first, rule.second}) {
      if (settled || fallback.option == nullptr || given(fallback.option)) continue;
      fallback.apply(switches);
      settled = true;
    }
    if (!settled) throw InputError(rule.says(switches));
  }
}

void check_switches(const Switches& switches) {
  Switches same = switches;
  settle_switches(same, [](std::string_view) { return true; });
}

}  // namespace ridgeline::gpt2
