#include "ridgeline/analyzer/work/step_pace.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

void add_amount(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

std::optional<double> outermost_sum(const std::vector<SizedRange>& ranges,
                                    std::optional<double> StepSize::*quantity) {
  std::optional<double> sum;
  std::unordered_map<std::int64_t, std::int64_t> covered_until;  // by thread
  for (const SizedRange& range : ranges) {
    const std::optional<double>& amount = range.size.*quantity;
    if (!amount) continue;
    const auto [until, fresh] = covered_until.try_emplace(range.thread_id, range.start_ns);
    if (!fresh && range.start_ns < until->second) continue;
    until->second = std::max(until->second, range.end_ns);
    add_amount(sum, amount);
  }
  return sum;
}

// What a process holds as time passes.
class MemoryWalk {
 public:
  explicit MemoryWalk(std::vector<HeldMemory> calls) : calls_(std::move(calls)) {
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const HeldMemory& a, const HeldMemory& b) { return a.time_ns < b.time_ns; });
  }
  // Steps come in the order of their beginnings.
  std::optional<std::int64_t> peak_in(const HostStep& step) {
    while (at_ < calls_.size() && calls_[at_].time_ns < step.start_ns) take();
    std::optional<std::int64_t> most;
    if (!by_device_.empty()) most = sum_;
    for (; at_ < calls_.size() && calls_[at_].time_ns < step.end_ns;) {
      take();
      most = std::max(most.value_or(0), sum_);
    }
    return most;
  }

 private:
  void take() {
    const HeldMemory& call = calls_[at_++];
    std::int64_t& held = by_device_[call.device_id];
    sum_ += call.allocated_bytes - held;
    held = call.allocated_bytes;
  }
  std::vector<HeldMemory> calls_;
  std::size_t at_ = 0;
  std::map<store::Id, std::int64_t> by_device_;
  std::int64_t sum_ = 0;
};

std::unordered_map<store::Id, std::int64_t> peak_held(std::vector<HeldMemory> memory,
                                                      std::vector<HostStep> hosts) {
  std::map<store::Id, std::vector<HeldMemory>> by_process;
  for (HeldMemory& call : memory) by_process[call.process_id].push_back(call);
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const HostStep& a, const HostStep& b) { return a.start_ns < b.start_ns; });
  std::unordered_map<store::Id, std::int64_t> most;
  for (auto& [process_id, calls] : by_process) {
    MemoryWalk walk(std::move(calls));
    for (const HostStep& step : hosts) {
      if (step.process_id != process_id) continue;
      if (const auto held = walk.peak_in(step)) most[step.step_id] = *held;
    }
  }
  return most;
}

std::optional<PaceSummary::Spread> spread_over(const std::vector<const StepPace*>& pace,
                                               std::optional<double> StepPace::*rate) {
  std::vector<double> values;
  for (const StepPace* one : pace)
    if (const auto& value = one->*rate) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  PaceSummary::Spread spread;
  spread.steps = static_cast<std::int64_t>(values.size());
  spread.p10 = quantile(values, 0.1);
  spread.median = median(values);
  spread.p90 = quantile(values, 0.9);
  return spread;
}

}  // namespace

StepSize size_of(std::vector<SizedRange> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const SizedRange& a, const SizedRange& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.depth < b.depth;
  });
  return {outermost_sum(ranges, &StepSize::tokens), outermost_sum(ranges, &StepSize::samples)};
}

std::vector<StepPace> step_pace(const std::vector<StepSummary>& steps, const std::vector<SizedRange>& ranges,
                                std::vector<HeldMemory> memory, const std::vector<HostStep>& hosts) {
  std::unordered_map<store::Id, std::vector<SizedRange>> ranges_of;
  for (const SizedRange& range : ranges) ranges_of[range.step_id].push_back(range);
  const auto held = peak_held(std::move(memory), hosts);
  std::vector<StepPace> pace;
  pace.reserve(steps.size());
  for (const StepSummary& step : steps) {
    StepPace one;
    one.step_id = step.step_id;
    if (const auto found = ranges_of.find(step.step_id); found != ranges_of.end())
      one.size = size_of(std::move(found->second));
    // A step that was cut short says nothing of what a step takes.
    if (step.status == StepStatus::ok && step.gpu_duration_ns > 0) {
      const double seconds = static_cast<double>(step.gpu_duration_ns) / 1e9;
      if (step.source != StepSource::window) one.steps_per_s = 1 / seconds;
      if (one.size.tokens) one.tokens_per_s = *one.size.tokens / seconds;
      if (one.size.samples) one.samples_per_s = *one.size.samples / seconds;
    }
    if (const auto found = held.find(step.step_id); found != held.end()) one.allocated_bytes = found->second;
    pace.push_back(one);
  }
  return pace;
}

void add_links(const std::vector<StepSummary>& steps, store::Id process_id,
               const std::vector<LinkSamples>& devices, std::vector<StepPace>& pace) {
  for (std::size_t i = 0; i < std::min(steps.size(), pace.size()); ++i) {
    const StepSummary& step = steps[i];
    if (step.process_id != process_id || step.gpu_start_ns <= 0 || step.gpu_duration_ns <= 0) continue;
    for (const LinkSamples& device : devices)
      add_link_bytes(pace[i].links,
                     device.during(step.gpu_start_ns, step.gpu_start_ns + step.gpu_duration_ns));
  }
}

PaceSummary summarise_pace(const StepAnalysis& steps, const std::vector<StepPace>& pace) {
  std::vector<const StepPace*> of, timeline;
  for (std::size_t i = 0; i < std::min(pace.size(), steps.steps.size()); ++i) {
    const StepSummary& step = steps.steps[i];
    if (step.process_id != steps.process_id || step.status != StepStatus::ok) continue;
    of.push_back(&pace[i]);
    if (step.phase == Phase::timeline) timeline.push_back(&pace[i]);
  }
  if (!timeline.empty()) of = std::move(timeline);
  PaceSummary summary;
  summary.steps_per_s = spread_over(of, &StepPace::steps_per_s);
  summary.tokens_per_s = spread_over(of, &StepPace::tokens_per_s);
  summary.samples_per_s = spread_over(of, &StepPace::samples_per_s);
  for (const StepPace* one : of) {
    if (!one->allocated_bytes) continue;
    summary.min_allocated_bytes =
        std::min(summary.min_allocated_bytes.value_or(INT64_MAX), *one->allocated_bytes);
    summary.max_allocated_bytes = std::max(summary.max_allocated_bytes.value_or(0), *one->allocated_bytes);
  }
  return summary;
}

}  // namespace ridgeline::analyzer
