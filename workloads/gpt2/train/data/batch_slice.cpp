#include "gpt2/train/data/batch_slice.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ridgeline::gpt2 {
namespace {

class SlicedSource : public TokenSource {
 public:
  SlicedSource(std::unique_ptr<TokenSource> whole, int batch, const BatchSlice& slice)
      : whole_(std::move(whole)), batch_(static_cast<std::size_t>(batch)), slice_(slice) {
    if (slice.begin < 0 || slice.count < 1 || slice.begin + slice.count > batch) {
      throw std::invalid_argument("sliced_source: outside the batch");
    }
  }

  void next(std::span<std::int32_t> inputs, std::span<std::int32_t> targets) override {
    const auto count = static_cast<std::size_t>(slice_.count);
    if (inputs.size() != targets.size() || inputs.size() % count != 0) {
      throw std::invalid_argument("sliced_source: not the slice's number of sequences");
    }
    const std::size_t length = inputs.size() / count;
    inputs_.resize(batch_ * length);
    targets_.resize(batch_ * length);
    whole_->next(inputs_, targets_);
    const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(slice_.begin) * length);
    std::copy_n(inputs_.begin() + first, inputs.size(), inputs.begin());
    std::copy_n(targets_.begin() + first, targets.size(), targets.begin());
  }

  void rewind() override { whole_->rewind(); }
  std::vector<std::byte> position() const override { return whole_->position(); }
  void restore(std::span<const std::byte> position) override { whole_->restore(position); }
  DataIdentity identity() const override { return whole_->identity(); }

 private:
  std::unique_ptr<TokenSource> whole_;
  std::size_t batch_;
  BatchSlice slice_;
  std::vector<std::int32_t> inputs_, targets_;
};

}  // namespace

std::unique_ptr<TokenSource> sliced_source(std::unique_ptr<TokenSource> whole, int batch,
                                           const BatchSlice& slice) {
  return std::make_unique<SlicedSource>(std::move(whole), batch, slice);
}

}  // namespace ridgeline::gpt2
