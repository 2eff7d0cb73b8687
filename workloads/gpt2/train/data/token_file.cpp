#include "gpt2/train/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

constexpr std::int32_t kTokensMagic = 20240520;
constexpr std::int32_t kTokensVersion = 1;
constexpr std::int64_t kTokensHeaderBytes = 256 * sizeof(std::int32_t);

}  // namespace

TokenFile::TokenFile(std::string path, int vocab)
    : path_(std::move(path)), in_(path_, std::ios::binary), vocab_(vocab) {
  if (!in_) throw InputError(fmt::format("token file {}: {}", path_, std::strerror(errno)));
  std::array<std::int32_t, 256> header{};
  if (!in_.read(reinterpret_cast<char*>(header.data()), kTokensHeaderBytes)) {
    throw InputError(
        fmt::format("token file {}: shorter than its {}-byte header", path_, kTokensHeaderBytes));
  }
  if (header[0] != kTokensMagic || header[1] != kTokensVersion) {
    throw InputError(
        fmt::format("token file {}: magic {} version {}, expected {} version {}: this is no token file",
                    path_, header[0], header[1], kTokensMagic, kTokensVersion));
  }
  count_ = header[2];
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  if (count_ < 0 || bytes != kTokensHeaderBytes + 2 * count_) {
    throw InputError(fmt::format("token file {}: {} bytes, but its header counts {} tokens ({} bytes)", path_,
                                 bytes, count_, kTokensHeaderBytes + 2 * count_));
  }
}

void TokenFile::read(std::int64_t begin, std::span<std::uint16_t> out) {
  const auto size = static_cast<std::int64_t>(out.size());
  if (begin < 0 || begin + size > count_) {
    throw InputError(fmt::format("token file {}: tokens {} to {} asked for, it has {}", path_, begin,
                                 begin + size, count_));
  }
  in_.seekg(kTokensHeaderBytes + 2 * begin);
  if (!in_.read(reinterpret_cast<char*>(out.data()), 2 * size)) {
    throw InputError(fmt::format("token file {}: reading {} tokens at {} failed", path_, size, begin));
  }
  const auto bad =
      std::find_if(out.begin(), out.end(), [this](std::uint16_t token) { return token >= vocab_; });
  if (bad != out.end()) {
    throw InputError(fmt::format("token file {}: token {} at {} is outside the model's vocabulary of {}",
                                 path_, *bad, begin + (bad - out.begin()), vocab_) +
                     ": train a model of the file's vocabulary");
  }
}

void write_token_file(const std::string& path, std::span<const std::uint16_t> tokens) {
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError(
        fmt::format("token file {}: {} tokens are more than its header can count", path, tokens.size()));
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) throw InputError(fmt::format("token file {}: {}", path, std::strerror(errno)));
  std::array<std::int32_t, 256> header{};
  header[0] = kTokensMagic;
  header[1] = kTokensVersion;
  header[2] = static_cast<std::int32_t>(tokens.size());
  out.write(reinterpret_cast<const char*>(header.data()), kTokensHeaderBytes);
  out.write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(2 * tokens.size()));
  out.close();
  if (!out) throw InputError(fmt::format("token file {}: writing failed, is the disk full?", path));
}

}  // namespace ridgeline::gpt2
