#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "gpt2/common/errors.h"
#include "gpt2/train/data/random.h"
#include "gpt2/train/data/token_file.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {
namespace {

struct Shard {
  std::string path;
  std::int64_t count = 0;    // tokens
  std::int64_t batches = 0;  // of an epoch
};

// 0 .. n-1 in an order that is a function of (seed, stream) on every machine.
std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  CounterRandom random(seed, stream);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

class FileSource : public TokenSource {
 public:
  explicit FileSource(const FileSourceOptions& options) : o_(options) {
    const std::int64_t need = o_.batch * o_.sequence + 1;
    identity_ = {.synthetic = false, .shuffled = o_.shuffle};
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(need));
    for (const std::string& path : expand_shards(o_.paths)) {
      TokenFile file(path, o_.vocab);
      if (file.count() < need) {
        throw InputError(fmt::format("token file {}: {} tokens, one batch of B*T needs {}: lower -B or -T",
                                     path, file.count(), need));
      }
      // A file of another vocabulary is reported now, not hours into the run.
      file.read(0, tokens);
      const std::size_t hashed = std::min<std::size_t>(tokens.size(), 256);
      identity_.hash = hash_bytes(tokens.data(), hashed * sizeof(tokens[0]),
                                  identity_.hash ^ static_cast<std::uint64_t>(file.count()));
      file.read(file.count() - need, tokens);
      shards_.push_back({.path = path, .count = file.count(), .batches = (file.count() - 1) / (need - 1)});
      identity_.tokens += file.count();
      identity_.epoch_batches += shards_.back().batches;
    }
    identity_.shards = static_cast<std::int64_t>(shards_.size());
    begin_epoch(0);
  }

  void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) override {
    if (within_ == current().batches) {
      if (at_ + 1 == shards_.size()) {
        begin_epoch(epoch_ + 1);
      } else {
        begin_shard(at_ + 1);
      }
    }
    if (!open_ || open_->path() != current().path) open_.emplace(current().path, o_.vocab);
    const auto batch = static_cast<std::size_t>(o_.batch);
    const auto length = static_cast<std::size_t>(o_.sequence);
    buffer_.resize(length + 1);
    for (std::size_t b = 0; b < batch; ++b) {
      const std::int64_t nth = within_ * o_.batch + static_cast<std::int64_t>(b);
      const std::int64_t sequence = o_.shuffle ? sequences_[static_cast<std::size_t>(nth)] : nth;
      open_->read(sequence * o_.sequence, buffer_);
      for (std::size_t t = 0; t < length; ++t) {
        inputs[b * length + t] = buffer_[t];
        targets[b * length + t] = buffer_[t + 1];
      }
    }
    ++within_;
  }

  void rewind() override { begin_epoch(0); }

  std::vector<std::byte> position() const override {
    const Position now{.epoch = epoch_,
                       .shard = static_cast<std::int64_t>(at_),
                       .batch = within_,
                       .epoch_batches = identity_.epoch_batches};
    std::vector<std::byte> bytes(sizeof(now));
    std::memcpy(bytes.data(), &now, sizeof(now));
    return bytes;
  }

  void restore(std::span<const std::byte> position) override {
    Position then;
    if (position.size() != sizeof(then)) throw InputError("the data position is none of token files");
    std::memcpy(&then, position.data(), sizeof(then));
    if (then.epoch < 0 || then.shard < 0 || then.shard >= identity_.shards ||
        then.epoch_batches != identity_.epoch_batches) {
      throw InputError("the data position is none of these token files");
    }
    begin_epoch(then.epoch);
    begin_shard(static_cast<std::size_t>(then.shard));
    if (then.batch < 0 || then.batch > current().batches) {
      throw InputError("the data position is none of these token files");
    }
    within_ = then.batch;
  }

  DataIdentity identity() const override { return identity_; }

 private:
  struct Position {
    std::int64_t epoch;
    std::int64_t shard;  // in the epoch's order
    std::int64_t batch;  // of the shard: the next to be read
    std::int64_t epoch_batches;
  };

  const Shard& current() const { return shards_[static_cast<std::size_t>(order_[at_])]; }

  void begin_epoch(std::int64_t epoch) {
    epoch_ = epoch;
    if (o_.shuffle) {
      order_ = permutation(identity_.shards, o_.seed, stream_of(epoch, 0));
    } else {
      order_.resize(shards_.size());
      std::iota(order_.begin(), order_.end(), std::int64_t{0});
    }
    begin_shard(0);
  }

  void begin_shard(std::size_t at) {
    at_ = at;
    within_ = 0;
    if (!o_.shuffle) return;
    const std::int64_t shard = order_[at];
    sequences_ = permutation((current().count - 1) / o_.sequence, o_.seed, stream_of(epoch_, shard + 1));
  }

  // Distinct for every (epoch, shard), shard 0 being the order of the shards themselves.
  std::uint64_t stream_of(std::int64_t epoch, std::int64_t shard) const {
    return static_cast<std::uint64_t>(epoch * (identity_.shards + 1) + shard);
  }

  FileSourceOptions o_;
  std::vector<Shard> shards_;
  DataIdentity identity_;
  std::int64_t epoch_ = 0;
  std::vector<std::int64_t> order_;      // of the shards in this epoch
  std::size_t at_ = 0;                   // in order_
  std::int64_t within_ = 0;              // the shard's next batch
  std::vector<std::int64_t> sequences_;  // of the shard in this epoch
  std::optional<TokenFile> open_;  // one at a time: a data set may have more shards than a process files
  std::vector<std::uint16_t> buffer_;
};

}  // namespace

std::unique_ptr<TokenSource> file_source(const FileSourceOptions& options) {
  if (options.paths.empty()) throw InputError("no token file given");
  return std::make_unique<FileSource>(options);
}

std::vector<std::string> expand_shards(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path.find_first_of("*?[") == std::string::npos || std::filesystem::exists(path, ignored)) {
      files.push_back(path);
      continue;
    }
    glob_t found{};
    const int code = ::glob(path.c_str(), 0, nullptr, &found);
    for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (code != 0) {
      throw InputError(fmt::format(
          "token files {}: {}", path,
          code == GLOB_NOMATCH ? "no file matches the pattern" : "the pattern's directory cannot be read"));
    }
  }
  return files;
}

}  // namespace ridgeline::gpt2
