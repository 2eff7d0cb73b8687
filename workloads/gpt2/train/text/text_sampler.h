// text_sampler.h: lets the model write. Between steps; training goes on as if it had not happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/model/gpu_model.h"
#include "gpt2/train/arguments/options.h"
#include "gpt2/train/text/tokenizer.h"

namespace ridgeline::gpt2 {

struct TextSample {
  std::vector<std::int32_t> tokens;  // without the prompt
  std::string text;                  // of prompt and tokens; empty without a tokenizer file
};

class TextSampler {
 public:
  /// Reads the tokenizer file and the prompt; uses no GPU. Throws InputError for a prompt that leaves no room
  /// in T, tokens or a top-k outside the vocabulary, and a bad tokenizer file.
  TextSampler(const Options& options, const ModelConfig& config);

  /// Continues the prompt by the number of tokens asked for. The draws are functions of (seed, step). Every
  /// token is a forward pass over the whole (B, T), of which one position is read; once prompt and sample are
  /// longer than T, the last T tokens are the context. Synchronises. Throws DivergedError.
  TextSample write(GpuModel& model, int step);

 private:
  int sequence_;
  std::int64_t batch_tokens_;
  int count_;
  SamplingOptions sampling_;
  std::uint64_t seed_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<std::int32_t> prompt_;
  DeviceBuffer<std::int32_t> inputs_;  // (B, T), of which sequence 0 counts; made with the first sample
};

}  // namespace ridgeline::gpt2
