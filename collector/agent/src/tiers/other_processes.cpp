#include "tiers/other_processes.h"

#include <algorithm>

#include "messages.h"

namespace ridgeline::agent {
namespace {

constexpr std::size_t kMaxNamed = 4;
constexpr std::size_t kMaxRanges = 12;

}  // namespace

void OtherProcesses::seen(const std::vector<std::uint32_t>& pids, bool takes_turns) noexcept try {
  there_.store(!pids.empty() || takes_turns, std::memory_order_relaxed);
  if (pids.empty()) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const std::uint32_t pid : pids)
    if (pids_.size() < kMaxNamed && std::find(pids_.begin(), pids_.end(), pid) == pids_.end())
      pids_.push_back(pid);
} catch (...) {  // without memory they stay unnamed
}

// With mutex_ held. NVML's numbers are the machine's, which in a container are not those seen there.
std::string OtherProcesses::who() const {
  if (pids_.empty()) return "another recorded process is";
  std::string text = pids_.size() == 1 ? "another process (" : "other processes (";
  for (std::size_t i = 0; i < pids_.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(pids_[i]);
  return text + (pids_.size() == 1 ? ") is" : ") are");
}

void OtherProcesses::measured(std::uint32_t step_index, std::int64_t now_ns) noexcept try {
  if (!there_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (count_++ == 0)
    put_message(writer_, now_ns, Severity::info, spool::Topic::company,
                who() + " on this GPU: counters and samples from " + name_of_step(step_index) +
                    " on hold the traffic of device memory and caches that others cause meanwhile");
  if (!steps_.empty() && steps_.back().last + 1 == step_index) {
    steps_.back().last = step_index;
  } else if (steps_.empty() || steps_.back().last != step_index) {
    steps_.push_back({step_index, step_index});
  }
} catch (...) {
}

void OtherProcesses::tell(std::int64_t now_ns) noexcept try {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (steps_.empty()) return;
  std::string text = who() + " on this GPU: counters and samples hold the traffic of others in ";
  for (std::size_t i = 0; i < std::min(steps_.size(), kMaxRanges); ++i) {
    text += (i > 0 ? ", " : "") + name_of_step(steps_[i].first);
    if (steps_[i].last != steps_[i].first) text += " to " + name_of_step(steps_[i].last);
  }
  if (steps_.size() > kMaxRanges) text += " and later ones";
  put_message(writer_, now_ns, Severity::warning, spool::Topic::company, text);
} catch (...) {
}

}  // namespace ridgeline::agent
