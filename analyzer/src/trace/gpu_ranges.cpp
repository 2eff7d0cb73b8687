#include "trace/gpu_ranges.h"

#include <algorithm>
#include <limits>

namespace ridgeline::analyzer {

namespace {

// Ranges that begin after one that is still open: more are looked at only in a recording gone wrong.
constexpr int kOpenTogether = 16;

bool holds_call(const TimeWindow& calls, std::int64_t call_ns) {
  return calls.start_ns <= call_ns && call_ns <= calls.end_ns;
}

}  // namespace

void GpuRanges::Depth::add(const TimeWindow& calls, std::uint32_t name) {
  ranges_.push_back({{calls, {std::numeric_limits<std::int64_t>::max(), 0}}, name});
}

void GpuRanges::Depth::finish() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return a.instance.calls.start_ns < b.instance.calls.start_ns;
  });
  for (std::size_t i = 1; i < ranges_.size(); ++i)
    overlaps_ = overlaps_ || ranges_[i - 1].instance.calls.end_ns > ranges_[i].instance.calls.start_ns;
}

void GpuRanges::Depth::widen(Range& range, std::int64_t start_ns, std::int64_t end_ns) {
  TimeWindow& on_gpu = range.instance.on_gpu;
  on_gpu = {std::min(on_gpu.start_ns, start_ns), std::max(on_gpu.end_ns, end_ns)};
}

void GpuRanges::Depth::include(std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
  if (!overlaps_ && last_ < ranges_.size() && holds_call(ranges_[last_].instance.calls, call_ns))
    return widen(ranges_[last_], start_ns, end_ns);
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), call_ns,
      [](std::int64_t ns, const Range& range) { return ns < range.instance.calls.start_ns; });
  auto at = static_cast<std::size_t>(after - ranges_.begin());
  for (int looked = 0; at > 0 && looked < kOpenTogether; ++looked) {
    --at;
    if (!holds_call(ranges_[at].instance.calls, call_ns)) {
      if (!overlaps_) return;
      continue;
    }
    widen(ranges_[at], start_ns, end_ns);
    last_ = at;
    if (!overlaps_) return;
  }
}

std::shared_ptr<const std::vector<RangeInstance>> GpuRanges::Depth::project(EventRow& row) const {
  auto instances = std::make_shared<std::vector<RangeInstance>>();
  for (const Range& range : ranges_) {
    const RangeInstance& instance = range.instance;
    if (instance.on_gpu.end_ns < instance.on_gpu.start_ns) continue;
    row.add(instance.on_gpu.start_ns, instance.on_gpu.end_ns, range.name);
    instances->push_back(instance);
  }
  instances->shrink_to_fit();
  std::stable_sort(instances->begin(), instances->end(),
                   [](const RangeInstance& a, const RangeInstance& b) { return a.on_gpu < b.on_gpu; });
  return instances->empty() ? nullptr : instances;
}

void GpuRanges::add(const store::NvtxRange& range, std::uint32_t name) {
  threads_[{range.process_id, range.thread_id}][range.depth].add({range.start_ns, *range.end_ns}, name);
}

void GpuRanges::finish() {
  for (auto& [id, thread] : threads_) {
    for (auto& [depth, ranges] : thread) ranges.finish();
  }
}

GpuRanges::Thread* GpuRanges::thread(store::Id process_id, std::int64_t thread_id) {
  const auto found = threads_.find({process_id, thread_id});
  return found == threads_.end() ? nullptr : &found->second;
}

void GpuRanges::include(Thread& thread, std::int64_t call_ns, std::int64_t start_ns, std::int64_t end_ns) {
  for (auto& [depth, ranges] : thread) ranges.include(call_ns, start_ns, end_ns);
}

std::optional<RangeInstance> instance_of(const TimelineRow& row, std::size_t event) {
  if (!row.instances) return std::nullopt;
  const TimeWindow time{row.events.start_ns(event), row.events.end_ns(event)};
  const std::vector<RangeInstance>& all = *row.instances;
  if (row.kind == RowKind::gpu_ranges) {
    // An event without length is kept as one of 1 ns.
    auto at = std::lower_bound(
        all.begin(), all.end(), time.start_ns,
        [](const RangeInstance& instance, std::int64_t ns) { return instance.on_gpu.start_ns < ns; });
    for (; at != all.end() && at->on_gpu.start_ns == time.start_ns; ++at) {
      if (std::max(at->on_gpu.end_ns, at->on_gpu.start_ns + 1) == time.end_ns) return *at;
    }
    return std::nullopt;
  }
  const auto found = std::find_if(all.begin(), all.end(), [&](const RangeInstance& instance) {
    return instance.calls.start_ns == time.start_ns &&
           std::max(instance.calls.end_ns, instance.calls.start_ns + 1) == time.end_ns;
  });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ridgeline::analyzer
