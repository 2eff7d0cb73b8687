// token_file.h: the public token file: 256 int32 of header ([0] magic 20240520, [1] version 1, [2] token
// count), then uint16 tokens.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace ridgeline::gpt2 {

/// One open token file. Reads are checked against the vocabulary. Throws InputError, one line with the path.
class TokenFile {
 public:
  TokenFile(std::string path, int vocab);

  std::int64_t count() const { return count_; }
  const std::string& path() const { return path_; }

  /// Tokens [begin, begin + out.size()); the range must lie inside the file.
  void read(std::int64_t begin, std::span<std::uint16_t> out);

 private:
  std::string path_;
  std::ifstream in_;
  std::int64_t count_ = 0;
  int vocab_;
};

void write_token_file(const std::string& path, std::span<const std::uint16_t> tokens);

}  // namespace ridgeline::gpt2
