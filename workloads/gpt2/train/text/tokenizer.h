// tokenizer.h: the public tokenizer file, which turns tokens into text: 256 int32 of header ([0] magic
// 20240328, [1] version 1 or 2, [2] tokens, [3] the end-of-text token, from version 2 on), then for each
// token a byte with its length and that many bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::gpt2 {

class Tokenizer {
 public:
  /// Throws InputError, one line with the path: missing, no tokenizer file, truncated, trailing bytes.
  explicit Tokenizer(const std::string& path);

  int size() const { return static_cast<int>(tokens_.size()); }
  /// The file's; of a version 1 file GPT-2's 50256 if there is such a token, else the last.
  std::int32_t end_of_text() const { return end_of_text_; }

  /// The bytes of a token; empty for one that the file does not hold (a model's vocabulary may be larger).
  std::string_view text(std::int32_t token) const;
  std::string decode(std::span<const std::int32_t> tokens) const;

  /// Tokens whose text is `text`, the longest match first at every place. The file does not hold the order of
  /// merges that GPT-2 was trained with: common words come out the same, rare ones may be split elsewhere.
  /// Throws InputError when some byte of the text is the start of no token.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> by_text_;  // tokens in the order of their bytes
  std::int32_t end_of_text_ = 0;
};

}  // namespace ridgeline::gpt2
