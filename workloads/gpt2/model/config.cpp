#include "gpt2/model/config.h"

#include <fmt/format.h>

#include "gpt2/common/errors.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {
namespace {

struct Named {
  std::string_view name;
  ModelConfig config;
};

constexpr Named kModels[] = {
    {"tiny", {.max_t = 256, .vocab = 97, .padded_vocab = 128, .layers = 2, .heads = 2, .channels = 128}},
    {"124M", {.layers = 12, .heads = 12, .channels = 768}},
    {"355M", {.layers = 24, .heads = 16, .channels = 1024}},
    {"774M", {.layers = 36, .heads = 20, .channels = 1280}},
    {"1558M", {.layers = 48, .heads = 25, .channels = 1600}},
};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Named& model : kModels) names.emplace_back(model.name);
  return names;
}

ModelConfig model_config(std::string_view name) {
  for (const Named& model : kModels) {
    if (model.name == name) return model.config;
  }
  throw InputError(fmt::format("unknown model '{}': choose one of {}", name, fmt::join(model_names(), ", ")));
}

void validate(const ModelConfig& c) {
  if (c.max_t < 1 || c.vocab < 2 || c.layers < 1 || c.heads < 1 || c.channels < 8) {
    throw InputError(fmt::format("model sizes out of range: T={} V={} L={} NH={} C={}", c.max_t, c.vocab,
                                 c.layers, c.heads, c.channels));
  }
  if (c.vocab > 65536) throw InputError(fmt::format("vocabulary of {} does not fit 16-bit tokens", c.vocab));
  if (c.padded_vocab < c.vocab || (c.padded_vocab != c.vocab && c.padded_vocab % 8 != 0)) {
    throw InputError(
        fmt::format("padded vocabulary {} must be {} or a greater multiple of 8", c.padded_vocab, c.vocab));
  }
  if (c.channels % c.heads != 0 || c.channels % 8 != 0) {
    throw InputError(fmt::format("C={} must be a multiple of 8 and of NH={}", c.channels, c.heads));
  }
}

ModelConfig with_vocabulary(const ModelConfig& config, VocabularyKind kind) {
  ModelConfig result = config;
  result.padded_vocab = kind == VocabularyKind::plain ? config.vocab : pad_vocab(config.vocab);
  return result;
}

double flops_per_token(const ModelConfig& c, int t) {
  const double n = static_cast<double>(ParameterLayout(c).total());
  return 6.0 * n + 6.0 * c.layers * static_cast<double>(c.channels) * t;
}

}  // namespace ridgeline::gpt2
