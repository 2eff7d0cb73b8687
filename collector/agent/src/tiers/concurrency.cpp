#include "tiers/concurrency.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ridgeline::agent {

void ConcurrencyWatch::add(const spool::KernelRecord& kernel) noexcept {
  if (kernel.start_ns <= 0 || kernel.end_ns <= kernel.start_ns) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (!watching() || runs_.size() == kCapacity) return;
  runs_.push_back({kernel.start_ns, kernel.end_ns, kernel.correlation_id, kernel.kernel_id, kernel.stream_id,
                   kernel.device_id, false});
}

std::vector<std::uint32_t> ConcurrencyWatch::finish() noexcept try {
  std::vector<Run> runs;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    watching_.store(false, std::memory_order_relaxed);
    runs.swap(runs_);
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.start_ns < b.start_ns; });
  std::vector<Run*> running;
  for (Run& later : runs) {
    std::erase_if(running, [&](const Run* run) { return run->end_ns <= later.start_ns; });
    for (Run* earlier : running)
      if (earlier->device_id == later.device_id && earlier->stream_id != later.stream_id &&
          earlier->correlation_id < later.correlation_id)
        earlier->overlapped = true;
    running.push_back(&later);
  }
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> counts;  // runs, overlapped
  for (const Run& run : runs) {
    auto& [all, overlapped] = counts[run.kernel_id];
    ++all;
    if (run.overlapped) ++overlapped;
  }
  std::vector<std::uint32_t> found;
  for (const auto& [kernel_id, count] : counts)
    if (count.first >= kLeastRuns && count.second == count.first) found.push_back(kernel_id);
  return found;
} catch (...) {
  return {};  // out of memory: the time-out is left
}

}  // namespace ridgeline::agent
