#include "trace/gpu_ranges.h"

#include <algorithm>
#include <limits>

namespace ridgeline::analyzer {

namespace {

constexpr int kNear = 4;  // ranges after that of the last call that are looked at before all are searched
constexpr TimeWindow kLaunchedNothing{std::numeric_limits<std::int64_t>::max(), 0};

// The last event that starts at `ns` or before; size(): none. Nearly always that of the last call, or the next.
std::size_t last_begun(const EventRow& events, std::int64_t ns, std::size_t near) {
  if (near < events.size() && events.start_ns(near) <= ns) {
    for (int looked = 0; looked < kNear; ++looked, ++near) {
      if (near + 1 == events.size() || events.start_ns(near + 1) > ns) return near;
    }
  }
  const std::size_t after = events.first_from(ns + 1);
  return after == 0 ? events.size() : after - 1;
}

}  // namespace

std::vector<Lane> in_lanes(EventRow&& events, int most) {
  std::vector<Lane> lanes;
  EventRow rest = std::move(events);
  do {
    EventRow overlapping;
    rest.finish(static_cast<int>(lanes.size()) + 1 < most ? &overlapping : nullptr);
    const std::size_t size = rest.size();
    lanes.push_back({std::move(rest), RangeLinks(size)});
    rest = std::move(overlapping);
  } while (!rest.empty());
  return lanes;
}

GpuRanges::Depth::Depth(std::vector<Lane>& on_host) {
  for (Lane& lane : on_host)
    rows_.push_back({&lane, std::vector<TimeWindow>(lane.events.size(), kLaunchedNothing)});
}

void GpuRanges::Depth::include(Row& row, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
  const EventRow& events = row.on_host->events;
  const std::size_t i = last_begun(events, call_ns, row.last);
  if (i == events.size() || events.end_ns(i) < call_ns) return;
  TimeWindow& on_gpu = row.on_gpu[i];
  on_gpu = {std::min(on_gpu.start_ns, start_ns), std::max(on_gpu.end_ns, end_ns)};
  row.last = i;
}

void GpuRanges::Depth::include(std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
  for (Row& row : rows_) include(row, call_ns, start_ns, end_ns);
}

std::vector<Lane> GpuRanges::Depth::project() {
  EventRow all;
  std::vector<Place> order;
  for (std::uint32_t r = 0; r < rows_.size(); ++r) {
    const EventRow& events = rows_[r].on_host->events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const TimeWindow& time = rows_[r].on_gpu[i];
      if (time.end_ns < time.start_ns) continue;
      all.add(time.start_ns, time.end_ns, events.name(i));
      order.push_back({r, i});
    }
  }
  if (order.empty()) return {};
  std::vector<Lane> lanes = in_lanes(std::move(all), RangeLinks::kLanes);
  // As the rows have them: by their start, and what begins together in the order of adding.
  const auto earlier = [this](const Place& a, const Place& b) {
    return on_gpu(a).start_ns < on_gpu(b).start_ns;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  link(order, lanes);
  rows_ = {};
  return lanes;
}

// Both sides in order of time on the GPU, hand in hand. What the last lane cut is not the whole instance: no link.
void GpuRanges::Depth::link(const std::vector<Place>& order, std::vector<Lane>& lanes) {
  std::vector<std::size_t> next(lanes.size());
  for (const Place& place : order) {
    const TimeWindow& time = on_gpu(place);
    const std::int64_t end_ns = std::max(time.end_ns, time.start_ns + 1);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const EventRow& events = lanes[l].events;
      std::size_t& i = next[l];
      while (i < events.size() && events.start_ns(i) < time.start_ns) ++i;
      if (i == events.size() || events.start_ns(i) != time.start_ns || events.end_ns(i) != end_ns) continue;
      lanes[l].links.link(i, place.row, place.event);
      rows_[place.row].on_host->links.link(place.event, l, i);
      ++i;
      break;
    }
  }
}

void GpuRanges::add(store::Id process_id, std::int64_t thread_id, int depth, std::vector<Lane>& on_host) {
  threads_[{process_id, thread_id}].emplace(depth, Depth(on_host));
}

GpuRanges::Thread* GpuRanges::thread(store::Id process_id, std::int64_t thread_id) {
  const auto found = threads_.find({process_id, thread_id});
  return found == threads_.end() ? nullptr : &found->second;
}

void GpuRanges::include(Thread& thread, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
  for (auto& [depth, ranges] : thread) ranges.include(call_ns, start_ns, end_ns);
}

}  // namespace ridgeline::analyzer
