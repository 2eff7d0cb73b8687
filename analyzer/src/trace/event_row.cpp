#include "ridgeline/analyzer/trace/event_row.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::analyzer {

void EventRow::add(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t name) {
  const std::int64_t length = std::max<std::int64_t>(end_ns - start_ns, 1);
  if (length >= kLong) added_long_.emplace_back(start_ns, length);
  added_.push_back({start_ns, length >= kLong ? kLong : static_cast<std::uint32_t>(length), name});
}

// Both lists by their start, and what begins together in the order of adding: the long ones stay in step.
void EventRow::sort_added() {
  const auto earlier = [](const Added& a, const Added& b) { return a.start_ns < b.start_ns; };
  if (std::is_sorted(added_.begin(), added_.end(), earlier)) return;
  std::stable_sort(added_.begin(), added_.end(), earlier);
  std::stable_sort(added_long_.begin(), added_long_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

void EventRow::finish(EventRow* overlapping) {
  sort_added();
  events_.clear();
  events_.reserve(added_.size());
  std::int64_t busy_until = std::numeric_limits<std::int64_t>::min();
  std::size_t next_long = 0;
  for (; !added_.empty(); added_.pop_front()) {
    const Added& added = added_.front();
    const std::int64_t length =
        added.duration_ns == kLong ? added_long_[next_long++].second : added.duration_ns;
    const std::int64_t start = added.start_ns, end = start + length;
    if (start < busy_until) {
      if (overlapping != nullptr) {
        overlapping->add(start, end, added.name);
        continue;
      }
      if (end <= busy_until) continue;
    }
    const std::int64_t from = std::max(start, busy_until);
    keep(from, end - from, added.name);
    busy_until = end;
  }
  close_block();
  added_.shrink_to_fit();
  added_long_ = {};
  open_starts_ns_ = {};
  events_.shrink_to_fit();
  wide_starts_ns_.shrink_to_fit();
  blocks_.shrink_to_fit();
  build();
}

void EventRow::keep(std::int64_t start_ns, std::int64_t length_ns, std::uint32_t name) {
  if (open_starts_ns_.size() == kBlock) close_block();
  open_starts_ns_.push_back(start_ns);
  if (length_ns >= kLong) long_[static_cast<std::uint32_t>(events_.size())] = length_ns;
  events_.push_back({0, length_ns >= kLong ? kLong : static_cast<std::uint32_t>(length_ns), name});
}

void EventRow::close_block() {
  if (open_starts_ns_.empty()) return;
  Block block{open_starts_ns_.front(), 0, 0, kNarrow};
  if (open_starts_ns_.back() - block.start_ns > std::numeric_limits<std::uint32_t>::max()) {
    block.wide = static_cast<std::uint32_t>(wide_starts_ns_.size());
    wide_starts_ns_.insert(wide_starts_ns_.end(), open_starts_ns_.begin(), open_starts_ns_.end());
  } else {
    const std::size_t first = events_.size() - open_starts_ns_.size();
    for (std::size_t i = 0; i < open_starts_ns_.size(); ++i)
      events_[first + i].start_offset_ns = static_cast<std::uint32_t>(open_starts_ns_[i] - block.start_ns);
  }
  blocks_.push_back(block);
  open_starts_ns_.clear();
}

TimeWindow EventRow::extent() const {
  return events_.empty() ? TimeWindow{} : TimeWindow{start_ns(0), end_ns(size() - 1)};
}

void EventRow::build() {
  levels_.clear();
  if (events_.empty()) return;
  std::int64_t busy = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    Block& block = blocks_[i / kBlock];
    if (i % kBlock == 0) {
      block.busy_before_ns = busy;
      block.longest = static_cast<std::uint32_t>(i);
    }
    if (duration_ns(i) > duration_ns(block.longest)) block.longest = static_cast<std::uint32_t>(i);
    busy += duration_ns(i);
  }
  const TimeWindow all = extent();
  std::size_t count = std::max<std::size_t>(size() / kEventsPerBin, 1);
  Level base;
  base.bin_ns = static_cast<double>(all.length_ns()) / static_cast<double>(count);
  base.bins.resize(count);
  bins_from_events(all, base.bins);
  levels_.push_back(std::move(base));
  while (levels_.back().bins.size() > kFactor) {
    const Level& below = levels_.back();
    Level level;
    level.bin_ns = below.bin_ns * kFactor;
    level.bins.resize((below.bins.size() + kFactor - 1) / kFactor);
    for (std::size_t i = 0; i < level.bins.size(); ++i) {
      EventBin& bin = level.bins[i];
      bin.longest = EventBin::kNone;
      for (std::size_t j = i * kFactor; j < std::min((i + 1) * kFactor, below.bins.size()); ++j) {
        const EventBin& part = below.bins[j];
        bin.busy += part.busy / kFactor;
        bin.count += part.count;
        if (part.longest != EventBin::kNone &&
            (bin.longest == EventBin::kNone || duration_ns(part.longest) > duration_ns(bin.longest))) {
          bin.longest = part.longest;
        }
      }
    }
    levels_.push_back(std::move(level));
  }
}

std::size_t EventRow::first_ending_after(std::int64_t ns) const {
  const std::size_t next = first_from(ns);
  return next > 0 && end_ns(next - 1) > ns ? next - 1 : next;
}

// The block that begins last before it, then the events of that block.
std::size_t EventRow::first_from(std::int64_t ns) const {
  const auto after =
      std::lower_bound(blocks_.begin(), blocks_.end(), ns,
                       [](const Block& block, std::int64_t at) { return block.start_ns < at; });
  if (after == blocks_.begin()) return 0;
  std::size_t low = static_cast<std::size_t>(after - blocks_.begin() - 1) * kBlock;
  std::size_t high = std::min(low + kBlock, size());
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (start_ns(middle) < ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t EventRow::at(std::int64_t ns) const {
  const std::size_t i = first_ending_after(ns);
  return i < size() && start_ns(i) <= ns ? i : size();
}

std::int64_t EventRow::busy_before(std::size_t i) const {
  if (blocks_.empty()) return 0;
  const std::size_t block = std::min(i / kBlock, blocks_.size() - 1);
  std::int64_t busy = blocks_[block].busy_before_ns;
  for (std::size_t j = block * kBlock; j < i; ++j) busy += duration_ns(j);
  return busy;
}

EventSum EventRow::sum(const TimeWindow& window) const {
  EventSum sum;
  if (events_.empty() || window.length_ns() <= 0) return sum;
  const std::size_t first = first_ending_after(window.start_ns), last = first_from(window.end_ns);
  if (first >= last) return sum;
  sum.count = static_cast<std::int64_t>(last - first);
  sum.busy_ns = busy_before(last) - busy_before(first);
  sum.busy_ns -= std::max<std::int64_t>(window.start_ns - start_ns(first), 0);
  sum.busy_ns -= std::max<std::int64_t>(end_ns(last - 1) - window.end_ns, 0);
  return sum;
}

void EventRow::bins(const TimeWindow& window, std::span<EventBin> out) const {
  std::fill(out.begin(), out.end(), EventBin{0, 0, EventBin::kNone});
  if (events_.empty() || out.empty() || window.length_ns() <= 0) return;
  const double pixel_ns = static_cast<double>(window.length_ns()) / static_cast<double>(out.size());
  const Level* level = nullptr;
  for (const Level& candidate : levels_) {
    if (candidate.bin_ns <= pixel_ns) level = &candidate;
  }
  if (level == nullptr) {
    bins_from_events(window, out);
  } else {
    bins_from_level(*level, window, out);
  }
}

// Each event goes to the bins it touches; whole blocks inside one bin are taken at once.
void EventRow::bins_from_events(const TimeWindow& window, std::span<EventBin> out) const {
  const auto n = static_cast<std::int64_t>(out.size());
  const double bin_ns = static_cast<double>(window.length_ns()) / static_cast<double>(n);
  // Times count from the window's begin: since 1970 they have no nanoseconds left in a double.
  const double bins_per_ns = 1 / bin_ns;
  const auto bin_of = [&](std::int64_t since_ns) {
    return std::clamp(static_cast<std::int64_t>(static_cast<double>(since_ns) * bins_per_ns), std::int64_t{0},
                      n - 1);
  };
  const auto take = [&](EventBin& bin, std::uint32_t event, std::int64_t length_ns) {
    if (bin.longest == EventBin::kNone || length_ns > duration_ns(bin.longest)) bin.longest = event;
  };
  for (EventBin& bin : out) bin = {0, 0, EventBin::kNone};
  std::size_t i = first_ending_after(window.start_ns);
  const std::int64_t length_ns = window.length_ns();
  while (i < size()) {
    const std::int64_t begins = start_ns(i) - window.start_ns;
    if (begins >= length_ns) break;
    if (i % kBlock == 0 && i + kBlock < size() && begins >= 0) {
      const std::int64_t first = bin_of(begins);
      const std::int64_t block_end = end_ns(i + kBlock - 1) - window.start_ns;
      if (block_end < length_ns && bin_of(block_end) == first) {
        EventBin& bin = out[static_cast<std::size_t>(first)];
        const std::size_t block = i / kBlock;
        bin.busy += static_cast<float>(
            static_cast<double>(blocks_[block + 1].busy_before_ns - blocks_[block].busy_before_ns) / bin_ns);
        bin.count += kBlock;
        take(bin, blocks_[block].longest, duration_ns(blocks_[block].longest));
        i += kBlock;
        continue;
      }
    }
    const std::int64_t lasts = duration_ns(i);
    const std::int64_t start = std::max(begins, std::int64_t{0});
    const std::int64_t end = std::min(begins + lasts, length_ns);
    const std::int64_t first = bin_of(start), last = bin_of(end - 1);
    if (begins >= 0) ++out[static_cast<std::size_t>(first)].count;
    for (std::int64_t b = first; b <= last; ++b) {
      const double from = static_cast<double>(b) * bin_ns;
      const double overlap =
          std::min(static_cast<double>(end), from + bin_ns) - std::max(static_cast<double>(start), from);
      EventBin& bin = out[static_cast<std::size_t>(b)];
      bin.busy += static_cast<float>(std::max(overlap, 0.0) * bins_per_ns);
      take(bin, static_cast<std::uint32_t>(i), lasts);
    }
    ++i;
  }
  for (EventBin& bin : out) bin.busy = std::min(bin.busy, 1.0F);
}

void EventRow::bins_from_level(const Level& level, const TimeWindow& window, std::span<EventBin> out) const {
  const std::int64_t origin = start_ns(0);
  const double pixel_ns = static_cast<double>(window.length_ns()) / static_cast<double>(out.size());
  const double offset = static_cast<double>(window.start_ns - origin);
  const auto bins = static_cast<std::int64_t>(level.bins.size());
  for (std::size_t p = 0; p < out.size(); ++p) {
    const double from = (offset + static_cast<double>(p) * pixel_ns) / level.bin_ns;
    const double to = from + pixel_ns / level.bin_ns;
    if (to <= 0 || from >= static_cast<double>(bins)) continue;
    EventBin& bin = out[p];
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(from), 0);
    const auto last = std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(to)), bins);
    for (std::int64_t b = first; b < last; ++b) {
      const EventBin& part = level.bins[static_cast<std::size_t>(b)];
      const double share = std::min(to, static_cast<double>(b + 1)) - std::max(from, static_cast<double>(b));
      bin.busy += static_cast<float>(part.busy * share * level.bin_ns / pixel_ns);
      // A bin's beginnings are counted once: where its own begin lies.
      if (static_cast<double>(b) >= from) bin.count += part.count;
      if (part.longest != EventBin::kNone &&
          (bin.longest == EventBin::kNone || duration_ns(part.longest) > duration_ns(bin.longest))) {
        bin.longest = part.longest;
      }
    }
    bin.busy = std::min(bin.busy, 1.0F);
  }
}

std::size_t EventRow::bytes() const {
  std::size_t all = events_.capacity() * sizeof(Event) + blocks_.capacity() * sizeof(Block) +
                    wide_starts_ns_.capacity() * sizeof(std::int64_t);
  for (const Level& level : levels_) all += level.bins.capacity() * sizeof(EventBin);
  return all;
}

}  // namespace ridgeline::analyzer
