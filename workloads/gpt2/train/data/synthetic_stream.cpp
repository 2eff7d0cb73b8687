#include "gpt2/train/data/synthetic_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

constexpr double kCopy = 0.02, kOpen = 0.03, kClose = 0.04;
constexpr double kOrder2 = 0.30, kOrder1 = 0.45, kUnigram = 0.25;
constexpr std::array<int, 8> kDistances = {32, 48, 64, 96, 128, 192, 256, 384};
constexpr int kMinCopy = 8, kCopyLengths = 24;
constexpr std::array<double, 2> kOrder2Weights = {0.75, 0.25};
constexpr std::array<double, 4> kOrder1Weights = {0.5, 0.25, 0.125, 0.125};
constexpr int kClasses = 8;
constexpr double kZipfExponent = 1.05, kZipfShift = 2.7;
constexpr int kGuide = 1 << 14;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

SyntheticStream::SyntheticStream(int vocab, std::uint64_t seed, std::uint64_t split) {
  if (vocab < kMinVocab || vocab > 65536) {
    throw InputError(fmt::format("synthetic data needs a vocabulary of {} to 65536 tokens, the model has {}",
                                 kMinVocab, vocab));
  }
  auto tables = std::make_shared<Tables>();
  tables->vocab = vocab;
  tables->kinds = std::min(16, vocab / 16);
  tables->key = mix(seed + 0x9e3779b97f4a7c15ULL);
  const int words = vocab - 2 * tables->kinds;
  tables->cdf.resize(static_cast<std::size_t>(words));
  double sum = 0;
  for (int r = 0; r < words; ++r) {
    sum += std::pow(r + kZipfShift, -kZipfExponent);
    tables->cdf[static_cast<std::size_t>(r)] = sum;
  }
  for (double& value : tables->cdf) value /= sum;
  tables->cdf.back() = 1.0;
  tables->guide.resize(kGuide);
  std::int32_t rank = 0;
  for (int g = 0; g < kGuide; ++g) {
    while (tables->cdf[static_cast<std::size_t>(rank)] <= static_cast<double>(g) / kGuide) ++rank;
    tables->guide[static_cast<std::size_t>(g)] = rank;
  }
  tables_ = std::move(tables);
  state_ = mix(tables_->key ^ mix(split + 1));
  for (std::int32_t& token : history_) token = text_token(uniform());
  position_ = kHistory;
}

std::uint64_t SyntheticStream::draw() {
  state_ += 0x9e3779b97f4a7c15ULL;
  return mix(state_);
}

double SyntheticStream::uniform() {
  return unit(draw());
}

std::int32_t SyntheticStream::text_token(double quantile) const {
  std::size_t rank = static_cast<std::size_t>(tables_->guide[static_cast<std::size_t>(quantile * kGuide)]);
  while (tables_->cdf[rank] <= quantile) ++rank;
  return static_cast<std::int32_t>(rank) + 2 * tables_->kinds;
}

std::int32_t SyntheticStream::successor(std::uint64_t context, int k) const {
  return text_token(unit(mix(tables_->key ^ mix(context * 8 + static_cast<std::uint64_t>(k) + 1))));
}

std::int32_t SyntheticStream::past(int distance) const {
  return history_[static_cast<std::size_t>((position_ - static_cast<std::uint64_t>(distance)) % kHistory)];
}

namespace {

std::uint64_t context1(std::int32_t previous) {
  return static_cast<std::uint64_t>(previous);
}

std::uint64_t context2(std::int32_t previous, std::int32_t before) {
  const std::uint64_t klass = mix(static_cast<std::uint64_t>(before) + 77) % kClasses;
  return (1 + klass) * 65536 + static_cast<std::uint64_t>(previous);
}

}  // namespace

std::int32_t SyntheticStream::next(double* probability) {
  std::int32_t token = 0;
  if (copy_left_ > 0) {
    token = past(copy_distance_);
    --copy_left_;
    if (probability != nullptr) *probability = 1.0;
  } else {
    const double p_open = open_.size() < static_cast<std::size_t>(kMaxDepth) ? kOpen : 0.0;
    const double p_close = open_.empty() ? 0.0 : kClose;
    const std::int32_t close_token = open_.empty() ? -1 : open_.back() + tables_->kinds;
    double u = uniform();
    enum class Move { text, copy, open, close } move = Move::text;
    if (u < kCopy) {
      move = Move::copy;
      const std::uint64_t bits = draw();
      copy_distance_ = kDistances[bits % kDistances.size()];
      copy_left_ = kMinCopy + static_cast<int>((bits >> 16) % kCopyLengths) - 1;
      token = past(copy_distance_);
    } else if (u < kCopy + p_open) {
      move = Move::open;
      token = static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(tables_->kinds));
    } else if (u < kCopy + p_open + p_close) {
      move = Move::close;
      token = close_token;
    } else {
      double v = uniform();
      if (v < kOrder2) {
        const int k = uniform() < kOrder2Weights[0] ? 0 : 1;
        token = successor(context2(past(1), past(2)), k);
      } else if (v < kOrder2 + kOrder1) {
        const double w = uniform();
        const int k = w < 0.5 ? 0 : w < 0.75 ? 1 : w < 0.875 ? 2 : 3;
        token = successor(context1(past(1)), k);
      } else {
        token = text_token(uniform());
      }
    }
    if (probability != nullptr) *probability = probability_of(token, kCopy, p_open, p_close);
    if (move == Move::open) open_.push_back(token);
    if (move == Move::close) open_.pop_back();
  }
  history_[static_cast<std::size_t>(position_ % kHistory)] = token;
  ++position_;
  return token;
}

SyntheticStream::State SyntheticStream::state() const {
  State state{.draws = state_,
              .position = position_,
              .copy_left = copy_left_,
              .copy_distance = copy_distance_,
              .depth = static_cast<std::int32_t>(open_.size()),
              .history = history_};
  std::copy(open_.begin(), open_.end(), state.open.begin());
  return state;
}

void SyntheticStream::restore(const State& state) {
  const auto outside = [this](std::int32_t token) { return token < 0 || token >= tables_->vocab; };
  const bool possible =
      state.position >= kHistory && state.copy_left >= 0 && state.copy_left <= kMinCopy + kCopyLengths &&
      (state.copy_left == 0 ||
       std::find(kDistances.begin(), kDistances.end(), state.copy_distance) != kDistances.end()) &&
      state.depth >= 0 && state.depth <= kMaxDepth &&
      std::none_of(state.open.begin(), state.open.begin() + state.depth,
                   [this](std::int32_t kind) { return kind < 0 || kind >= tables_->kinds; }) &&
      std::none_of(state.history.begin(), state.history.end(), outside);
  if (!possible) throw InputError("the data position is none of the bundled stream");
  state_ = state.draws;
  position_ = state.position;
  copy_left_ = state.copy_left;
  copy_distance_ = state.copy_distance;
  open_.assign(state.open.begin(), state.open.begin() + state.depth);
  history_ = state.history;
}

double SyntheticStream::probability_of(std::int32_t token, double copy, double open, double close) const {
  double p = 0;
  for (int distance : kDistances) p += past(distance) == token ? copy / kDistances.size() : 0.0;
  if (token < tables_->kinds) return p + open / tables_->kinds;
  if (token < 2 * tables_->kinds) {
    return p + (!open_.empty() && open_.back() + tables_->kinds == token ? close : 0.0);
  }
  double text = 0;
  for (int k = 0; k < 2; ++k) {
    if (successor(context2(past(1), past(2)), k) == token)
      text += kOrder2 * kOrder2Weights[static_cast<std::size_t>(k)];
  }
  for (int k = 0; k < 4; ++k) {
    if (successor(context1(past(1)), k) == token)
      text += kOrder1 * kOrder1Weights[static_cast<std::size_t>(k)];
  }
  const auto rank = static_cast<std::size_t>(token - 2 * tables_->kinds);
  text += kUnigram * (tables_->cdf[rank] - (rank > 0 ? tables_->cdf[rank - 1] : 0.0));
  return p + (1.0 - copy - open - close) * text;
}

double SyntheticStream::entropy_floor(int vocab, std::uint64_t seed, int tokens) {
  SyntheticStream stream(vocab, seed, 2);
  double sum = 0;
  for (int i = 0; i < tokens; ++i) {
    double p = 1;
    stream.next(&p);
    sum -= std::log(p);
  }
  return sum / tokens;
}

}  // namespace ridgeline::gpt2
