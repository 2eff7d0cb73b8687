#include "ridgeline/steps/range_watch.h"

#include <algorithm>

namespace ridgeline::steps {

FoldedName::FoldedName(std::string_view name) noexcept {
  bool number = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && number) continue;
    number = digit;
    if (size_ == kMaxBytes) break;
    text_[size_++] = digit ? '#' : c;
  }
}

void RangeWatch::begin(std::string_view name, std::uint32_t thread_id, std::uint64_t launches,
                       std::int64_t now_ns) noexcept {
  const FoldedName folded(name);
  Series* own = nullptr;
  for (std::size_t i = 0; i < count_ && own == nullptr; ++i)
    if (series_[i].name == folded) own = &series_[i];
  const bool hops = own != nullptr && own->thread_id != thread_id;
  const bool anew = own == nullptr || hops;
  if (own == nullptr) {
    // Of too many names those that came once give way.
    if (count_ < kMaxSeries) {
      own = &series_[count_++];
    } else {
      for (Series& s : series_)
        if (!s.open && (own == nullptr || s.ranges < own->ranges)) own = &s;
      if (own == nullptr) return;
    }
  }
  if (anew) {
    *own = Series{};
    own->name = folded;
    own->thread_id = thread_id;
    own->of_several = hops;
    own->first = launches;
  }
  own->open = true;
  own->begin = launches;
  own->start_ns = now_ns;
}

void RangeWatch::step(std::uint64_t launches) noexcept {
  if (steps_ == 0) return;
  ++steps_;
  for (std::size_t i = 0; i < count_; ++i) {
    Series& s = series_[i];
    s.ranges = s.empty = 0;
    s.inside = 0;
    s.ns = 0;
    s.first = launches;
    s.open = false;  // it reaches into a step
  }
}

bool RangeWatch::is_enough(const Series& series, bool settled) const noexcept {
  if (series.of_several && series.ranges < kMinOfSeveralThreads) return false;
  if (steps_ == 0) return series.ranges >= kMinRanges;
  const bool as_many = series.ranges >= steps_, as_long = series.ns >= steps_ * step_ns_;
  return series.ranges >= kMinInPlace && (settled ? as_many && as_long : as_many || as_long);
}

bool RangeWatch::end(std::uint32_t thread_id, std::uint64_t launches, std::int64_t now_ns, Found* found,
                     bool settled) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Series& s = series_[i];
    if (!s.open || s.thread_id != thread_id) continue;
    s.open = false;
    ++s.ranges;
    s.empty += launches == s.begin;
    s.inside += launches - s.begin;
    s.ns += now_ns - s.start_ns;
    const std::uint64_t all = launches - s.first;
    if (!is_enough(s, settled) || all == 0 || s.empty * 4 > s.ranges || s.ns / s.ranges < kShortestNs)
      return false;
    const double share = static_cast<double>(s.inside) / static_cast<double>(all);
    if (share < kMinShare) return false;
    *found = {s.name, s.ranges, share, s.ns / s.ranges};
    return true;
  }
  return false;
}

}  // namespace ridgeline::steps
