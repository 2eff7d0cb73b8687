// token_source.h: where batches come from: the bundled stream or token files. Host only, no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::gpt2 {

/// What a source reads, so that a resumed run can tell that it reads the same.
struct DataIdentity {
  bool synthetic = true;
  bool shuffled = false;
  std::int64_t shards = 0;         // token files
  std::int64_t tokens = 0;         // in all of them
  std::int64_t epoch_batches = 0;  // batches until every shard has been read once; 0: the stream is endless
  std::uint64_t hash = 0;          // of the shards' sizes and first tokens, in the order given
};

/// An endless sequence of batches of B*T tokens; targets are the inputs shifted by one. Not thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Both spans hold B*T entries, row-major (B, T). Throws InputError.
  virtual void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) = 0;

  /// Starts again at the first batch.
  virtual void rewind() = 0;

  /// Where the source stands: a source made with the same arguments that is given these bytes continues with
  /// the same batch. restore throws InputError for bytes that are no position in this source.
  virtual std::vector<std::byte> position() const = 0;
  virtual void restore(std::span<const std::byte> position) = 0;

  virtual DataIdentity identity() const = 0;
};

/// split 0 = training, 1 = validation. The text goes on from batch to batch.
std::unique_ptr<TokenSource> synthetic_source(int vocab, std::uint64_t seed, std::uint64_t split);

struct FileSourceOptions {
  std::vector<std::string> paths;  // token files or patterns of the shell: expand_shards
  int vocab = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  /// false: the shards in the order given, each front to back. true: every epoch another order of the shards,
  /// and within a shard another order of its sequences of T tokens; both are functions of (seed, epoch).
  bool shuffle = false;
  std::uint64_t seed = 0;
};

/// Endless epochs over the shards. A shard ends when fewer than B*T tokens and the last one's target are left;
/// every shard must hold that many. Opens and checks all of them now, the first and the last batch's tokens
/// included; throws InputError: one line with the file, what is wrong and what to do.
std::unique_ptr<TokenSource> file_source(const FileSourceOptions& options);

/// Replaces every pattern (* ? [) by the files that it matches, sorted by name; a path without, or one that
/// exists as it stands, is kept. Throws InputError for a pattern without a match.
std::vector<std::string> expand_shards(const std::vector<std::string>& paths);

}  // namespace ridgeline::gpt2
