#include "gpt2/train/text/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {

std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                          CounterRandom& random) {
  if (std::any_of(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); })) {
    throw DivergedError("sampling: a logit is not finite: the model's parameters have diverged");
  }
  if (options.temperature == 0) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  std::vector<std::int32_t> candidates(logits.size());
  std::iota(candidates.begin(), candidates.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < candidates.size()) {
    // Equal logits in the order of the tokens, so that the choice does not depend on the library's algorithm.
    std::nth_element(
        candidates.begin(), candidates.begin() + options.top_k, candidates.end(),
        [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
    candidates.resize(static_cast<std::size_t>(options.top_k));
    std::sort(candidates.begin(), candidates.end());
  }
  double largest = logit(candidates.front());
  for (const std::int32_t token : candidates) largest = std::max<double>(largest, logit(token));
  std::vector<double> sums(candidates.size());
  double sum = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    sum += std::exp((logit(candidates[i]) - largest) / options.temperature);
    sums[i] = sum;
  }
  const double at = random.uniform() * sum;
  const auto chosen = std::upper_bound(sums.begin(), sums.end() - 1, at);
  return candidates[static_cast<std::size_t>(chosen - sums.begin())];
}

std::vector<std::int32_t> parse_token_ids(std::string_view text, int vocab) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto separates = [](char c) { return c == ' ' || c == ',' || c == '\t' || c == '\n'; };
  while (true) {
    while (at != end && separates(*at)) ++at;
    if (at == end) return ids;
    std::int32_t id = 0;
    const auto [stop, failed] = std::from_chars(at, end, id);
    if (failed != std::errc() || (stop != end && !separates(*stop))) {
      throw InputError(fmt::format("--sample-prompt '{}': expected token ids between commas, as 15496,11,995",
                                   printable(text)));
    }
    if (id < 0 || id >= vocab) {
      throw InputError(
          fmt::format("--sample-prompt: token {} is outside the model's vocabulary of {}", id, vocab));
    }
    ids.push_back(id);
    at = stop;
  }
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace ridgeline::gpt2
