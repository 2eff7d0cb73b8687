#include "trace/painter.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ridgeline::analyzer {

namespace {

// Borders of the bins: whole nanoseconds, as equal as they can be.
class Grid {
 public:
  Grid(const TimeWindow& window, std::size_t bins)
      : window_(window),
        bins_(bins),
        width_(static_cast<double>(window.length_ns()) / static_cast<double>(bins)) {}

  [[nodiscard]] std::int64_t start_of(std::size_t bin) const {
    return bin == bins_ ? window_.end_ns
                        : window_.start_ns + static_cast<std::int64_t>(width_ * static_cast<double>(bin));
  }
  // Of a time inside the window.
  [[nodiscard]] std::size_t bin_of(std::int64_t time_ns) const {
    auto bin = std::min(static_cast<std::size_t>(static_cast<double>(time_ns - window_.start_ns) / width_),
                        bins_ - 1);
    while (bin > 0 && start_of(bin) > time_ns) --bin;
    while (bin + 1 < bins_ && start_of(bin + 1) <= time_ns) ++bin;
    return bin;
  }

 private:
  TimeWindow window_;
  std::size_t bins_;
  double width_;
};

}  // namespace

std::vector<TraceBin> paint_events(std::vector<PaintEvent>& events, const TimeWindow& window,
                                   std::size_t bins) {
  std::vector<TraceBin> out(bins);
  const Grid grid(window, bins);
  const auto by_start = [](const PaintEvent& a, const PaintEvent& b) {
    return std::tie(a.start_ns, a.end_ns, a.id) < std::tie(b.start_ns, b.end_ns, b.id);
  };
  if (!std::is_sorted(events.begin(), events.end(), by_start))
    std::sort(events.begin(), events.end(), by_start);
  std::int64_t covered_ns = window.start_ns;  // busy time is counted up to here
  for (const PaintEvent& event : events) {
    const std::int64_t start_ns = std::max(event.start_ns, window.start_ns);
    const std::int64_t end_ns = std::min(event.end_ns, window.end_ns);
    if (end_ns < start_ns || start_ns >= window.end_ns) continue;
    const std::size_t first = grid.bin_of(start_ns);
    if (event.start_ns >= window.start_ns) ++out[first].count;
    const std::size_t last = end_ns > start_ns ? grid.bin_of(end_ns - 1) : first;
    const std::int64_t length_ns = event.end_ns - event.start_ns;
    for (std::size_t bin = first; bin <= last; ++bin) {
      TraceBin& slot = out[bin];
      if (slot.longest == 0 || length_ns > slot.longest_ns) {
        slot.longest_ns = length_ns;
        slot.longest = event.id;
      }
      const std::int64_t from_ns = std::max({start_ns, covered_ns, grid.start_of(bin)});
      const std::int64_t to_ns = std::min(end_ns, grid.start_of(bin + 1));
      if (to_ns > from_ns) slot.busy_ns += to_ns - from_ns;
    }
    covered_ns = std::max(covered_ns, end_ns);
  }
  return out;
}

std::vector<TraceBin> paint_samples(const std::vector<store::PmSample>& samples, const TimeWindow& window,
                                    std::size_t bins) {
  std::vector<TraceBin> out(bins);
  const Grid grid(window, bins);
  const auto first = std::lower_bound(
      samples.begin(), samples.end(), window.start_ns,
      [](const store::PmSample& sample, std::int64_t time_ns) { return sample.time_ns < time_ns; });
  for (auto sample = first; sample != samples.end() && sample->time_ns < window.end_ns; ++sample) {
    if (!std::isfinite(sample->value)) continue;
    TraceBin& bin = out[grid.bin_of(sample->time_ns)];
    ++bin.count;
    bin.mean += (sample->value - bin.mean) / static_cast<double>(bin.count);
  }
  return out;
}

}  // namespace ridgeline::analyzer
