// token_source.h: where batches come from: the bundled stream or token files. Host only, no CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::gpt2 {

// An endless sequence of batches of B*T consecutive tokens; targets are the inputs shifted by one. Not
// thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Both spans hold B*T entries, row-major (B, T). Throws InputError.
  virtual void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) = 0;

  // Starts again at the first batch.
  virtual void rewind() = 0;
};

// split 0 = training, 1 = validation.
std::unique_ptr<TokenSource> synthetic_source(int vocab, std::uint64_t seed, std::uint64_t split);

// Shards in the order given, each read front to back in strides of B*T, then from the first again. Every
// shard must hold at least batch_tokens + 1 tokens. Opens and checks all of them now.
std::unique_ptr<TokenSource> file_source(const std::vector<std::string>& paths, int vocab,
                                         std::int64_t batch_tokens);

}  // namespace ridgeline::gpt2
