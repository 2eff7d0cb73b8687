#include "gpt2/train/arguments/switch_options.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "gpt2/model/switch_rules.h"

namespace ridgeline::gpt2 {
namespace {

constexpr const char* kGroup = "Computation";

template <typename Enum>
std::string values_text() {
  std::string text;
  for (const auto& named : names_of(Enum{})) text += (text.empty() ? "" : ", ") + std::string(named.name);
  return text;
}

// `usual`: what the option is without being given; empty: its value now.
template <typename Enum>
void add_switch(CLI::App& app, const char* option, Enum& value, const char* what,
                std::string_view usual = {}) {
  std::map<std::string, Enum> names;
  for (const auto& named : names_of(Enum{})) names.emplace(named.name, named.value);
  app.add_option(
         option, value,
         fmt::format("{}: {} [{}]", what, values_text<Enum>(), usual.empty() ? name_of(value) : usual))
      ->transform(CLI::CheckedTransformer(std::move(names), CLI::ignore_case).description(""))
      ->group(kGroup);
}

// The switches that --preset starts from; nothing else of the command line is looked at.
Switches read_preset(int argc, const char* const* argv) {
  CLI::App app("", "gpt2_train");
  app.allow_extras();
  app.set_help_flag();
  std::string preset = "fast";
  app.add_option("--preset", preset);  // checked when the whole line is parsed
  app.parse(argc, argv);
  return preset == "naive" ? naive_preset() : fast_preset();
}

}  // namespace

SwitchOptions::SwitchOptions(CLI::App& app, int argc, const char* const* argv, Switches& switches)
    : app_(app), switches_(switches) {
  switches = read_preset(argc, argv);
  Switches& s = switches;
  app.add_option("--preset", preset_,
                 "naive or fast: sets every switch below; those given beside it win [fast]")
      ->check(CLI::IsMember({"naive", "fast"}))
      ->group(kGroup);
  add_switch(app, "--precision", s.precision,
             "Activations and GEMMs (fp8: linear layers and what stands between them only, the rest in bf16; "
             "compute capability 9.0); FP32 master weights always");
  add_switch(app, "--fp8-classifier", s.fp8_classifier,
             "Products of the classifier in fp8 too: none, or all three", "all in fp8");
  add_switch(app, "--fp8-hidden", s.fp8_hidden,
             "In fp8, how GEMMs store GELU's argument and the gradient in front of its slope", "fp8 in fp8");
  add_switch(app, "--matmul", s.matmul, "Library of the GEMMs");
  add_switch(app, "--bias", s.bias, "Bias in the GEMM, or a kernel behind it");
  add_switch(app, "--gelu", s.gelu,
             "GELU and its derivative in own GEMMs (bf16 and compute capability 9.0, fused elsewhere), in "
             "cuBLASLt's, or in kernels");
  add_switch(app, "--attention", s.attention,
             "Flash attention of our own (hopper: bf16, compute capability 9.0, head size 64, cudnn "
             "elsewhere), cuDNN's (bf16), a plainer own one (any precision), or with all scores stored");
  add_switch(app, "--vocabulary", s.vocabulary,
             "Rows of the token embedding padded to a multiple of 128, or not");
  add_switch(app, "--kernels", s.kernels, "128-bit or single-element accesses of the own kernels");
  add_switch(app, "--residual", s.residual,
             "Residual addition in the GEMM before it (with --matmul cublaslt and --bias fused; fused "
             "elsewhere), with the layernorm behind it, or apart");
  add_switch(app, "--classifier", s.classifier, "Softmax, loss and their gradient in one kernel, or apart");
  add_switch(app, "--bias-gradient", s.bias_gradient,
             "A kernel that fills the chip (of fc: with GELU's derivative unless that is fused; of qkv: the "
             "queries' part, the rest is known), in cuBLASLt's GEMM, or a block a channel");
  add_switch(app, "--optimizer", s.optimizer, "AdamW in one launch, or one a tensor");
  app.add_option("--recompute", s.recompute,
                 "0: keep all activations; 1: GELU again in the backward pass; 2: layernorms too")
      ->capture_default_str()
      ->check(CLI::Range(0, 2))
      ->group(kGroup);
  app.add_flag("--cuda-graph,!--no-cuda-graph", s.cuda_graph,
               "Capture the whole step once and launch it as one CUDA graph")
      ->group(kGroup);
  add_switch(app, "--l2-persist", s.l2_persist,
             "What L2 is asked to keep while the ops that use it run; residual needs --no-cuda-graph");
  app.add_flag("--stochastic-rounding", s.stochastic_rounding, "Round bf16 parameters stochastically")
      ->group(kGroup);
  app.add_flag("--deterministic", s.deterministic,
               "Every sum in a fixed order: the same bits from run to run")
      ->group(kGroup);
}

void SwitchOptions::settle() {
  Switches& s = switches_;
  if (s.precision == Precision::fp8) {
    if (!given("--fp8-hidden")) s.fp8_hidden = Fp8Hidden::fp8;
    if (!given("--fp8-classifier") && s.vocabulary == VocabularyKind::padded &&
        s.classifier == ClassifierKind::fused) {
      s.fp8_classifier = Fp8Classifier::all;
    }
  }
  settle_switches(s, [this](std::string_view option) { return given(std::string(option)); });
}

std::vector<std::pair<std::string, std::string>> switch_values(const Switches& s) {
  const auto name = [](auto value) { return std::string(name_of(value)); };
  const auto flag = [](bool value) { return std::string(value ? "on" : "off"); };
  return {{"precision", name(s.precision)},
          {"fp8-classifier", name(s.fp8_classifier)},
          {"fp8-hidden", name(s.fp8_hidden)},
          {"matmul", name(s.matmul)},
          {"bias", name(s.bias)},
          {"gelu", name(s.gelu)},
          {"attention", name(s.attention)},
          {"vocabulary", name(s.vocabulary)},
          {"kernels", name(s.kernels)},
          {"residual", name(s.residual)},
          {"classifier", name(s.classifier)},
          {"bias-gradient", name(s.bias_gradient)},
          {"optimizer", name(s.optimizer)},
          {"recompute", std::to_string(s.recompute)},
          {"cuda-graph", flag(s.cuda_graph)},
          {"l2-persist", name(s.l2_persist)},
          {"stochastic-rounding", flag(s.stochastic_rounding)},
          {"deterministic", flag(s.deterministic)}};
}

std::string differences_from_fast(const Switches& switches) {
  const auto mine = switch_values(switches);
  const auto fast = switch_values(fast_preset());
  std::string text;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto& [option, value] = mine[i];
    if (value == fast[i].second) continue;
    text += text.empty() ? "" : " ";
    if (value == "on" || value == "off") {
      text += (value == "on" ? "--" : "--no-") + option;
    } else {
      text += "--" + option + " " + value;
    }
  }
  return text;
}

}  // namespace ridgeline::gpt2
