#include "gpt2/train/text/text_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpt2/common/errors.h"
#include "gpt2/train/data/random.h"

namespace ridgeline::gpt2 {
namespace {

constexpr std::uint64_t kSamplingStream = 0x73616d706c65ULL;  // apart from the seed's other uses

}  // namespace

TextSampler::TextSampler(const Options& options, const ModelConfig& config)
    : sequence_(options.sequence),
      batch_tokens_(static_cast<std::int64_t>(options.batch) * options.sequence),
      count_(options.sample_tokens),
      sampling_(options.sampling),
      seed_(options.seed ^ kSamplingStream) {
  if (sampling_.top_k > config.vocab) {
    throw InputError(
        fmt::format("--top-k {}: the model's vocabulary has {} tokens", sampling_.top_k, config.vocab));
  }
  if (!options.tokenizer.empty()) {
    tokenizer_.emplace(options.tokenizer);
    if (tokenizer_->size() != config.vocab) {
      throw InputError(fmt::format("tokenizer file {}: {} tokens, the model has {}: use the model's own",
                                   options.tokenizer, tokenizer_->size(), config.vocab));
    }
  }
  prompt_ = options.sample_text.empty() ? parse_token_ids(options.sample_prompt, config.vocab)
                                        : tokenizer_->encode(options.sample_text);
  if (prompt_.empty()) prompt_ = {tokenizer_ ? tokenizer_->end_of_text() : config.vocab - 1};
  if (static_cast<std::int64_t>(prompt_.size()) > sequence_) {
    throw InputError(
        fmt::format("the sampling prompt has {} tokens, a sequence T={}", prompt_.size(), sequence_));
  }
}

TextSample TextSampler::write(GpuModel& model, int step) {
  if (inputs_.size() == 0) {
    inputs_ = DeviceBuffer<std::int32_t>(batch_tokens_);
    // The other sequences are computed too and must hold tokens that exist.
    inputs_.upload(std::vector<std::int32_t>(static_cast<std::size_t>(batch_tokens_), 0));
  }
  CounterRandom random(seed_, static_cast<std::uint64_t>(step));
  std::vector<std::int32_t> all = prompt_;
  for (int i = 0; i < count_; ++i) {
    // Attention is causal: what follows the position that is read does not matter.
    const std::size_t context = std::min<std::size_t>(all.size(), static_cast<std::size_t>(sequence_));
    inputs_.upload(all.data() + all.size() - context, static_cast<std::int64_t>(context));
    all.push_back(sample_token(model.logits(inputs_.data(), static_cast<std::int64_t>(context) - 1),
                               sampling_, random));
  }
  TextSample sample;
  if (tokenizer_) sample.text = tokenizer_->decode(all);
  sample.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(prompt_.size()), all.end());
  return sample;
}

}  // namespace ridgeline::gpt2
