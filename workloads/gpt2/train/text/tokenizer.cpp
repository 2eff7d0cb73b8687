#include "gpt2/train/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

constexpr std::int32_t kTokenizerMagic = 20240328;
constexpr std::int32_t kGpt2EndOfText = 50256;

}  // namespace

Tokenizer::Tokenizer(const std::string& path) {
  const auto fault = [&](const std::string& what) {
    return InputError(fmt::format("tokenizer file {}: {}", path, what));
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) throw fault(std::strerror(errno));
  std::array<std::int32_t, 256> header{};
  if (!in.read(reinterpret_cast<char*>(header.data()), sizeof(header))) {
    throw fault(fmt::format("shorter than its {}-byte header", sizeof(header)));
  }
  if (header[0] != kTokenizerMagic) {
    throw fault(fmt::format("magic is {}, not {}: this is no tokenizer file", header[0], kTokenizerMagic));
  }
  if (header[1] != 1 && header[1] != 2) throw fault(fmt::format("version {} is neither 1 nor 2", header[1]));
  const std::int32_t count = header[2];
  if (count < 1 || count > 65536) throw fault(fmt::format("{} tokens, expected 1 to 65536", count));
  end_of_text_ = header[1] == 2 ? header[3] : std::min(kGpt2EndOfText, count - 1);
  if (end_of_text_ < 0 || end_of_text_ >= count) {
    throw fault(fmt::format("its end-of-text token {} is none of its {} tokens", end_of_text_, count));
  }
  tokens_.resize(static_cast<std::size_t>(count));
  for (std::string& token : tokens_) {
    unsigned char length = 0;
    if (!in.read(reinterpret_cast<char*>(&length), 1)) throw fault("ends before its last token");
    token.resize(length);
    if (!in.read(token.data(), length)) throw fault("ends before its last token");
  }
  if (in.peek() != std::ifstream::traits_type::eof()) throw fault("bytes follow its last token");
  by_text_.resize(tokens_.size());
  std::iota(by_text_.begin(), by_text_.end(), 0);
  std::sort(by_text_.begin(), by_text_.end(),
            [this](std::int32_t a, std::int32_t b) { return std::pair(text(a), a) < std::pair(text(b), b); });
}

std::string_view Tokenizer::text(std::int32_t token) const {
  if (token < 0 || token >= size()) return {};
  return tokens_[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string out;
  for (const std::int32_t token : tokens) out += text(token);
  return out;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view rest) const {
  std::vector<std::int32_t> out;
  const std::size_t total = rest.size();
  while (!rest.empty()) {
    std::int32_t best = -1;
    for (std::size_t length = std::min<std::size_t>(rest.size(), 255); length > 0 && best < 0; --length) {
      const std::string_view want = rest.substr(0, length);
      const auto found = std::lower_bound(by_text_.begin(), by_text_.end(), want,
                                          [this](std::int32_t t, std::string_view w) { return text(t) < w; });
      if (found != by_text_.end() && text(*found) == want) best = *found;
    }
    if (best < 0) {
      throw InputError(
          fmt::format("the prompt's byte {} is the begin of no token: give token ids", total - rest.size()));
    }
    out.push_back(best);
    rest.remove_prefix(text(best).size());
  }
  return out;
}

}  // namespace ridgeline::gpt2
