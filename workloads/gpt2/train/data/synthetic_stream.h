// synthetic_stream.h: a token stream with structure to learn, made from a seed, with a known entropy floor.
//
// One token is drawn at a time from a mixture whose state is the text so far:
//   copied phrase    probability 0.02: 8 to 31 tokens repeat what stood 32, 48, 64, 96, 128, 192, 256 or 384
//                    tokens earlier (attention has to find it: induction)
//   bracket          0.03 opens one of up to 16 kinds (nesting at most 6), 0.04 closes the innermost one with
//                    its own closing token, however long ago it was opened (long-range memory)
//   text             the rest: 30 % order-2 (two successors, weights 3/4 and 1/4, chosen by the previous
//                    token and the class of the one before it), 45 % order-1 (four successors, weights 1/2
//                    1/4 1/8 1/8), 25 % unigram; successors and unigrams follow a Zipf law of exponent 1.05
// Copied tokens do not move the bracket stack: they are quotations.
//
// The floor is the cross entropy of a predictor that knows the tables and the generator's whole state except
// the draw it is about to make; no model can do better on average.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ridgeline::gpt2 {

class SyntheticStream {
 public:
  static constexpr int kMinVocab = 64;

  /// The tables depend on (vocab, seed); `split` chooses the draws, so that training (0) and validation (1)
  /// share a language and no text. Throws InputError for vocab < kMinVocab.
  SyntheticStream(int vocab, std::uint64_t seed, std::uint64_t split);

  /// Next token. `probability`, when given, receives what the floor's predictor gave that token.
  std::int32_t next(double* probability = nullptr);

  int vocab() const { return tables_->vocab; }

  static constexpr int kHistory = 512;
  static constexpr int kMaxDepth = 6;

  /// Everything that the text to come depends on beside (vocab, seed). Bytes of it may be stored.
  struct State {
    std::uint64_t draws = 0;
    std::uint64_t position = 0;
    std::int32_t copy_left = 0;
    std::int32_t copy_distance = 0;
    std::int32_t depth = 0;  // of open brackets
    std::array<std::int32_t, kMaxDepth> open{};
    std::int32_t reserved = 0;
    std::array<std::int32_t, kHistory> history{};
  };
  State state() const;
  /// Throws InputError for a state that no stream of this vocabulary can have.
  void restore(const State& state);

  /// Mean -ln(probability) over `tokens` tokens of a fresh stream, in nats a token.
  static double entropy_floor(int vocab, std::uint64_t seed, int tokens = 1 << 16);

 private:
  struct Tables {
    std::vector<double> cdf;          // Zipf over text tokens
    std::vector<std::int32_t> guide;  // first rank to try for a quantile
    std::uint64_t key = 0;
    int kinds = 0;  // bracket kinds; ids [0, kinds) open, [kinds, 2*kinds) close, the rest is text
    int vocab = 0;
  };

  std::uint64_t draw();
  double uniform();
  std::int32_t text_token(double quantile) const;
  std::int32_t successor(std::uint64_t context, int k) const;
  std::int32_t past(int distance) const;
  double probability_of(std::int32_t token, double copy, double open, double close) const;

  std::shared_ptr<const Tables> tables_;
  std::uint64_t state_ = 0;
  std::array<std::int32_t, kHistory> history_{};
  std::uint64_t position_ = 0;
  int copy_left_ = 0;
  int copy_distance_ = 0;
  std::vector<std::int32_t> open_;
};

}  // namespace ridgeline::gpt2
