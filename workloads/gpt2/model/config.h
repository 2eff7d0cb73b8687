// config.h: the sizes of a GPT-2 model and its FLOPs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

struct ModelConfig {
  int max_t = 1024;          // rows of the position table: the longest sequence
  int vocab = 50257;         // V: tokens that exist
  int padded_vocab = 50304;  // Vp: rows of wte, V rounded up to a multiple of 128, or V itself
  int layers = 12;           // L
  int heads = 12;            // NH
  int channels = 768;        // C, a multiple of NH

  int head_size() const { return channels / heads; }
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// The configuration called `name` (124M, 355M, 774M, 1558M, tiny). Throws InputError for another name.
ModelConfig model_config(std::string_view name);
std::vector<std::string> model_names();

/// Throws InputError when the sizes contradict each other or leave what the kernels support.
void validate(const ModelConfig& config);

constexpr int pad_vocab(int vocab) {
  return (vocab + 127) / 128 * 128;
}

/// The same model with the rows of wte that `kind` asks for.
ModelConfig with_vocabulary(const ModelConfig& config, VocabularyKind kind);

/// Training FLOPs of one token at sequence length t: 6N + 6LCT, N = all parameters (the tied wte once,
/// padding and wpe included), attention counted as causal. Forward and backward, no recompute.
double flops_per_token(const ModelConfig& config, int t);

}  // namespace ridgeline::gpt2
