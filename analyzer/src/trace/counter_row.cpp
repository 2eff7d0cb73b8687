#include "ridgeline/analyzer/trace/counter_row.h"

#include <algorithm>

namespace ridgeline::analyzer {

void CounterRow::add(std::int64_t end_ns, float value) {
  if (!times_.empty() && end_ns <= times_.back()) return;
  times_.push_back(end_ns);
  values_.push_back(value);
}

void CounterRow::finish(std::int64_t longest_gap_ns) {
  longest_gap_ns_ = std::max<std::int64_t>(longest_gap_ns, 1);
  sums_.clear();
  held_.clear();
  peaks_.clear();
  double sum = 0, held = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i % kBlock == 0) {
      sums_.push_back(sum);
      held_.push_back(held);
      peaks_.push_back(values_[i]);
    }
    const auto length = static_cast<double>(times_[i] - start_of(i));
    sum += length * static_cast<double>(values_[i]);
    held += length;
    peaks_.back() = std::max(peaks_.back(), values_[i]);
    max_ = std::max(max_, values_[i]);
  }
}

std::int64_t CounterRow::start_of(std::size_t i) const {
  const std::int64_t least = times_[i] - longest_gap_ns_;
  return i == 0 ? least : std::max(times_[i - 1], least);
}

TimeWindow CounterRow::extent() const {
  return empty() ? TimeWindow{} : TimeWindow{start_of(0), times_.back()};
}

CounterBin CounterRow::over(std::size_t first, const TimeWindow& window) const {
  CounterBin bin;
  double sum = 0, held = 0;
  for (std::size_t i = first; i < size(); ++i) {
    // Whole blocks inside the window are summed up already.
    if (i % kBlock == 0 && i + kBlock < size() && start_of(i) >= window.start_ns &&
        times_[i + kBlock - 1] <= window.end_ns) {
      const std::size_t block = i / kBlock;
      sum += sums_[block + 1] - sums_[block];
      held += held_[block + 1] - held_[block];
      bin.peak = std::max(bin.peak, peaks_[block]);
      i += kBlock - 1;
      continue;
    }
    const std::int64_t from = std::max(start_of(i), window.start_ns);
    if (from >= window.end_ns) break;
    const auto length = static_cast<double>(std::min(times_[i], window.end_ns) - from);
    if (length <= 0) continue;
    sum += length * static_cast<double>(values_[i]);
    held += length;
    bin.peak = std::max(bin.peak, values_[i]);
  }
  bin.known = held > 0;
  if (bin.known) bin.mean = static_cast<float>(sum / held);
  return bin;
}

CounterBin CounterRow::over(const TimeWindow& window) const {
  const auto first = std::upper_bound(times_.begin(), times_.end(), window.start_ns);
  return over(static_cast<std::size_t>(first - times_.begin()), window);
}

void CounterRow::bins(const TimeWindow& window, std::span<CounterBin> out) const {
  const double pixel_ns = static_cast<double>(window.length_ns()) / static_cast<double>(out.size());
  auto first = static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), window.start_ns) -
                                        times_.begin());
  for (std::size_t p = 0; p < out.size(); ++p) {
    const auto at = [&](std::size_t pixel) {
      return window.start_ns + static_cast<std::int64_t>(static_cast<double>(pixel) * pixel_ns);
    };
    const TimeWindow here{at(p), std::max(at(p + 1), at(p) + 1)};
    // The next bin's first sample is near; far ahead it is searched for.
    std::size_t steps = 0;
    while (first < size() && times_[first] <= here.start_ns && ++steps < kBlock) ++first;
    if (first < size() && times_[first] <= here.start_ns) {
      first = static_cast<std::size_t>(
          std::upper_bound(times_.begin() + static_cast<std::ptrdiff_t>(first), times_.end(), here.start_ns) -
          times_.begin());
    }
    out[p] = first < size() ? over(first, here) : CounterBin{};
  }
}

std::size_t CounterRow::bytes() const {
  return times_.capacity() * sizeof(times_[0]) + values_.capacity() * sizeof(values_[0]) +
         (sums_.capacity() + held_.capacity()) * sizeof(double) + peaks_.capacity() * sizeof(float);
}

}  // namespace ridgeline::analyzer
