#include "tiers/concurrency.h"

#include <algorithm>
#include <utility>

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kFreeShare = 16;  // one of so many runs, at least

}  // namespace

void ConcurrencyWatch::add(const spool::KernelRecord& kernel) noexcept {
  if (kernel.start_ns <= 0 || kernel.end_ns <= kernel.start_ns) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (!watching() || runs_.size() == kCapacity) return;
  runs_.push_back({kernel.start_ns, kernel.end_ns, kernel.correlation_id, kernel.kernel_id, kernel.stream_id,
                   kernel.device_id, false});
}

void ConcurrencyWatch::count(std::vector<Run>& runs, Counts* counts) {
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
  for (const Run& run : runs) {
    auto& [all, overlapped] = (*counts)[run.kernel_id];
    ++all;
    if (run.overlapped) ++overlapped;
  }
}

std::vector<std::uint32_t> ConcurrencyWatch::finish() noexcept try {
  std::vector<Run> runs;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    watching_.store(false, std::memory_order_relaxed);
    runs.swap(runs_);
  }
  Counts counts;
  count(runs, &counts);
  std::vector<std::uint32_t> found;
  for (const auto& [kernel_id, of] : counts)
    if (of.first >= kMinRuns && of.second == of.first) found.push_back(kernel_id);
  return found;
} catch (...) {
  return {};  // out of memory: the time-out is left
}

// Where one review ends and the next begins a run may seem to overlap nothing: hence several, and a share.
void ConcurrencyWatch::review() noexcept try {
  std::vector<Run> runs;
  runs.reserve(kCapacity);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    runs.swap(runs_);
  }
  if (runs.empty()) return;
  count(runs, &reviewed_);
  for (const auto& [kernel_id, of] : reviewed_) {
    const std::uint32_t free_runs = of.first - of.second;
    if (kernel_id < kMaxKernels)
      free_[kernel_id].store(free_runs >= kMinFreeRuns && kFreeShare * free_runs >= of.first,
                             std::memory_order_relaxed);
  }
} catch (...) {
  return;  // out of memory: what was not looked at is not counted
}

}  // namespace ridgeline::agent
