#include "gpt2/train/token_source.h"

#include <fmt/format.h>

#include "gpt2/model/errors.h"
#include "gpt2/train/synthetic_stream.h"
#include "gpt2/train/token_file.h"

namespace ridgeline::gpt2 {
namespace {

class SyntheticSource : public TokenSource {
 public:
  SyntheticSource(int vocab, std::uint64_t seed, std::uint64_t split)
      : first_(vocab, seed, split), stream_(first_) {}

  void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) override {
    std::int32_t token = last_ >= 0 ? last_ : stream_.next();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = token;
      targets[i] = token = stream_.next();
    }
    last_ = token;
  }

  void rewind() override {
    stream_ = first_;
    last_ = -1;
  }

 private:
  SyntheticStream first_;
  SyntheticStream stream_;
  std::int32_t last_ = -1;
};

class FileSource : public TokenSource {
 public:
  FileSource(const std::vector<std::string>& paths, int vocab, std::int64_t batch_tokens) {
    for (const std::string& path : paths) {
      shards_.emplace_back(path, vocab);
      if (shards_.back().count() < batch_tokens + 1) {
        throw InputError(fmt::format("token file {}: {} tokens, one batch of B*T needs {}: lower -B or -T",
                                     path, shards_.back().count(), batch_tokens + 1));
      }
    }
  }

  void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) override {
    const auto batch = static_cast<std::int64_t>(inputs.size());
    buffer_.resize(inputs.size() + 1);
    if (position_ + batch + 1 > shards_[shard_].count()) {
      shard_ = (shard_ + 1) % shards_.size();
      position_ = 0;
    }
    shards_[shard_].read(position_, buffer_);
    position_ += batch;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = buffer_[i];
      targets[i] = buffer_[i + 1];
    }
  }

  void rewind() override { shard_ = 0, position_ = 0; }

 private:
  std::vector<TokenFile> shards_;
  std::size_t shard_ = 0;
  std::int64_t position_ = 0;
  std::vector<std::uint16_t> buffer_;
};

}  // namespace

std::unique_ptr<TokenSource> synthetic_source(int vocab, std::uint64_t seed, std::uint64_t split) {
  return std::make_unique<SyntheticSource>(vocab, seed, split);
}

std::unique_ptr<TokenSource> file_source(const std::vector<std::string>& paths, int vocab,
                                         std::int64_t batch_tokens) {
  if (paths.empty()) throw InputError("no token file given");
  return std::make_unique<FileSource>(paths, vocab, batch_tokens);
}

}  // namespace ridgeline::gpt2
