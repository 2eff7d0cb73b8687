#include "execution/sweep.h"

#include <algorithm>

namespace ridgeline::analyzer {

void ExecutionSweep::add(const TimeWindow& part, unsigned kinds, LaunchIndex launch) {
  run_until(part.start_ns);
  if (launch != kNoLaunch) share_out();
  running_.push_back({part.end_ns, kinds, launch});
}

void ExecutionSweep::finish() {
  run_until(window_.end_ns);
  share_out();  // of what reaches to the end
}

// Time is shared when the launches that run change, not when a copy begins or ends: it divides the same way however
// many copies there are.
void ExecutionSweep::share_out() {
  const std::int64_t length_ns = now_ns_ - std::exchange(shared_until_ns_, now_ns_);
  if (exposure_ == nullptr || length_ns <= 0) return;
  const auto is_launch = [](const Running& item) { return item.launch != kNoLaunch; };
  const auto count = std::count_if(running_.begin(), running_.end(), is_launch);
  if (count == 0) return;
  std::int64_t left_over_ns = length_ns % count;
  const double share_ns = static_cast<double>(length_ns) / static_cast<double>(count);
  for (const Running& item : running_) {
    if (!is_launch(item)) continue;
    std::int64_t& whole_ns = exposure_->whole_ns[item.launch];
    if (count > 1) {
      exposure_->shared_ns.try_emplace(item.launch, whole_ns).first->second += share_ns;
    } else if (const auto shared = exposure_->shared_ns.find(item.launch);
               shared != exposure_->shared_ns.end()) {
      shared->second += share_ns;
    }
    whole_ns += length_ns / count + std::exchange(left_over_ns, 0);
  }
}

void ExecutionSweep::run_until(std::int64_t until_ns) {
  while (now_ns_ < until_ns) {
    if (running_.empty()) {
      if (idle_) idle_({now_ns_, until_ns});
      now_ns_ = until_ns;
      return;
    }
    unsigned kinds = 0;
    std::int64_t next_ns = until_ns;
    bool launch_ends = false;
    for (const Running& item : running_) {
      kinds |= item.kinds;
      if (item.end_ns < next_ns) launch_ends = false;
      next_ns = std::min(next_ns, item.end_ns);
      launch_ends = launch_ends || (item.end_ns == next_ns && item.launch != kNoLaunch);
    }
    time_ns_[kinds] += next_ns - now_ns_;
    now_ns_ = next_ns;
    if (launch_ends) share_out();
    std::erase_if(running_, [&](const Running& item) { return item.end_ns <= now_ns_; });
  }
}

}  // namespace ridgeline::analyzer
