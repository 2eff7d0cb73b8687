#include "gpt2/train/data/token_source.h"

#include <cstring>
#include <type_traits>

#include "gpt2/common/errors.h"
#include "gpt2/train/data/synthetic_stream.h"

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

  std::vector<std::byte> position() const override {
    const Position now{.stream = stream_.state(), .last = last_, .reserved = 0};
    std::vector<std::byte> bytes(sizeof(now));
    std::memcpy(bytes.data(), &now, sizeof(now));
    return bytes;
  }

  void restore(std::span<const std::byte> position) override {
    Position then;
    if (position.size() != sizeof(then)) throw InputError("the data position is none of the bundled stream");
    std::memcpy(&then, position.data(), sizeof(then));
    if (then.last < -1 || then.last >= stream_.vocab()) {
      throw InputError("the data position holds a token outside the vocabulary");
    }
    stream_.restore(then.stream);
    last_ = then.last;
  }

  DataIdentity identity() const override { return {.synthetic = true}; }

 private:
  struct Position {
    SyntheticStream::State stream;
    std::int32_t last;
    std::int32_t reserved;
  };
  static_assert(std::is_trivially_copyable_v<Position>);

  SyntheticStream first_;
  SyntheticStream stream_;
  std::int32_t last_ = -1;  // the target of the last position, which is the next batch's first input
};

}  // namespace

std::unique_ptr<TokenSource> synthetic_source(int vocab, std::uint64_t seed, std::uint64_t split) {
  return std::make_unique<SyntheticSource>(vocab, seed, split);
}

}  // namespace ridgeline::gpt2
