// drawn.h: values by lot, the same on every machine: texts, kernel names, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/lots.h"

namespace ridgeline::reports {

class Drawn : public testing::Lots {
 public:
  using Lots::Lots;

  /// Words, long ones, wide and combined characters, controls, commands of logs, broken UTF-8; parts of them.
  std::string text(std::size_t max_pieces) {
    static constexpr std::string_view kPieces[] = {
        "a",
        "word",
        "another",
        "layer",
        "0",
        "12",
        "1,024",
        "ms",
        "µs",
        "%",
        "TB/s",
        "GB",
        ".",
        ",",
        ";",
        ":",
        "/",
        "a_word_that_is_longer_than_most_columns_of_a_table_are_wide",
        "step",
        "backward",
        "ä",
        "–",
        "…",
        "核",
        "核核核",
        "\xf0\x9f\x98\x80",
        "e\xcc\x81",
        "\xe2\x80\x8b",
        "\xe2\x80\xae",
        "\t",
        "\n",
        "\r",
        "\x1b[31m",
        "\x07",
        "\x7f",
        "\xc2\x85",
        "::error::",
        "##[error]",
        "##vso[",
        "[command]",
        "<b>",
        "&amp;",
        "\"",
        "'",
        "|",
        "`",
        "``",
        "\\",
        "*",
        "_",
        "#",
        "=1+2",
        "-",
        "--",
        "\xff",
        "\xc0\x80",
        "\xe6\xa0",
        "\xed\xa0\x80",
        "@",
        "+",
        "(",
        ")",
        "[1,2,3]",
        "http://x/y?z=1"};
    std::string out;
    const std::size_t pieces = below(max_pieces + 1);
    for (std::size_t i = 0; i < pieces; ++i) {
      out += of(kPieces);
      const std::size_t between = below(8);
      if (between < 4) out += ' ';
      if (between == 4) out += "  ";
      if (between == 5) out += " / ";
    }
    return out;
  }

  /// As a compiler has them: a return type, namespaces, template arguments of all kinds, parameters, a grid.
  std::string kernel() {
    static constexpr std::string_view kTypes[] = {"void ", "int ", "unsigned long long ", ""};
    std::string name(of(kTypes));
    const std::string function = this->function(2);
    name += function;
    const std::size_t ending = below(5);
    if (ending < 3) name += "(" + arguments(1, 3) + ")";
    if (ending == 2) name += " const";
    if (ending == 3) name += "(int) [clone .1]";
    if (one_in(4)) {
      name += " [" + std::to_string(below(200));
      name += "," + std::to_string(below(3)) + ",1]";
    }
    if (one_in(12)) name += " → " + this->function(1);
    return name;
  }

  /// A decade's beginning, what rounds to it and what just does not, a small one, a negative one.
  double number() {
    static constexpr double kBegin[] = {1.0,   0.9995, 0.99949, 0.99951, 0.5,    0.05,   0.4999, 0.95,
                                        0.995, 1.0005, 1.5,     2.5,     9.9949, 9.9951, 3.0};
    double value = of(kBegin);
    const std::size_t decade = below(34);
    for (std::size_t i = 0; i < decade; ++i) value *= i < 17 ? 10.0 : 0.1;
    const bool small = one_in(3);
    if (small)
      for (int i = 0; i < 9; ++i) value *= 0.1;
    return one_in(6) ? -value : one_in(20) ? 0.0 : value;
  }

 private:
  std::string scope() {
    static constexpr std::string_view kScopes[] = {
        "at::native", "cutlass", "ns::(anonymous namespace)", "a::very::deep::one", "c10", "cub"};
    const bool none = one_in(3);
    return none ? "" : std::string(of(kScopes)) + "::";
  }
  std::string function(int depth) {
    static constexpr std::string_view kNames[] = {
        "vectorized_elementwise_kernel",
        "elementwise_kernel",
        "Kernel2",
        "reduce_kernel",
        "add",
        "gelu_forward",
        "attention_hopper_backward_kernel",
        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1",
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7",
        "核_kernel",
        "operator bool",
        "f",
        "layernorm_backward"};
    std::string name = scope();
    name += of(kNames);
    const bool with_template = depth > 0 && !one_in(3);
    if (with_template) {
      name += "<" + arguments(depth, 4);
      name += one_in(2) ? " >" : ">";
    }
    return name;
  }
  std::string argument(int depth) {
    static constexpr std::string_view kArguments[] = {
        "float",
        "int",
        "(ns::Kind)1",
        "(bool)0",
        "128",
        "4",
        "c10::BFloat16",
        "std::array<char*, 3ul>",
        "(int)-2",
        "float*",
        "true",
        "at::native::CUDAFunctor_add<float>",
        "at::native::MulFunctor<c10::BFloat16>",
        "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8",
        "(lambda at x.cu:1)",
        "g(int)::{lambda(int)#1}",
        "&ns::member",
        "at::native::FillFunctor<double>",
        "unsigned char const&"};
    const bool nested = depth > 0 && one_in(4);
    return nested ? function(depth - 1) : std::string(of(kArguments));
  }
  std::string arguments(int depth, std::size_t max_count) {
    std::string out;
    const std::size_t count = below(max_count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      out += i > 0 ? ", " : "";
      out += argument(depth);
    }
    return out;
  }
};

}  // namespace ridgeline::reports
