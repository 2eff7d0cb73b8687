// sampling.h: draws the next token from the logits of one position. Host only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/train/data/random.h"

namespace ridgeline::gpt2 {

struct SamplingOptions {
  double temperature = 1.0;  // 0: always the likeliest token, the first of equals
  int top_k = 0;             // only the k likeliest take part; 0: all
};

/// A token of [0, logits.size()). Takes one number from `random` unless the temperature is 0. Throws
/// DivergedError when a logit is not finite.
std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                          CounterRandom& random);

/// "15496, 11 995" -> {15496, 11, 995}. Throws InputError for anything else than numbers between commas and
/// spaces, and for tokens outside [0, vocab).
std::vector<std::int32_t> parse_token_ids(std::string_view text, int vocab);

/// Text for one line on a terminal: newlines are written as \n, other control characters as \xNN.
std::string printable(std::string_view text);

}  // namespace ridgeline::gpt2
