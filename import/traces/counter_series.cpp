#include "traces/counter_series.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxMetrics = 256;
constexpr double kLongestInterval = 1.5;  // of the usual one; what is longer has a pause in it

std::string_view unit_of_metric(std::string_view name) {
  if (name.find("pct") != std::string_view::npos) return "percent";
  if (name.find("bytes") != std::string_view::npos)
    return name.ends_with("per_second") ? "bytes/s" : name.ends_with(".sum") ? "bytes" : "";
  return "";
}

}  // namespace

bool CounterSeries::add(const Value& value) {
  if (values_ >= max_values_) return false;
  Device& device = devices_[value.device];
  auto metric = device.metrics.find(value.metric);
  if (metric == device.metrics.end()) {
    if (device.metrics.size() >= kMaxMetrics) return false;
    metric =
        device.metrics.emplace(std::string(value.metric), static_cast<std::uint32_t>(device.metrics.size()))
            .first;
  }
  device.rows.push_back({value.time_ns, metric->second, value.value});
  ++values_;
  return true;
}

ForeignSamples CounterSeries::samples_of(std::uint32_t number, Device& device) {
  std::stable_sort(device.rows.begin(), device.rows.end(),
                   [](const Row& a, const Row& b) { return a.time_ns < b.time_ns; });
  ForeignSamples made{.device = number, .metrics = {}, .start_ns = {}, .end_ns = {}, .values = {}};
  const std::size_t metrics = device.metrics.size();
  made.metrics.resize(metrics);
  for (const auto& [name, place] : device.metrics) {
    std::string text = one_line(name);
    made.metrics[place] = {.unit = std::string(unit_of_metric(text)), .meaning = {}};
    made.metrics[place].name = std::move(text);
  }
  std::vector<double> intervals;
  std::int64_t before_ns = device.rows.empty() ? 0 : device.rows.front().time_ns;
  for (const Row& row : device.rows) {
    if (row.time_ns != before_ns) intervals.push_back(static_cast<double>(row.time_ns - before_ns));
    before_ns = row.time_ns;
  }
  if (intervals.empty()) return made;
  const auto longest_ns = static_cast<std::int64_t>(kLongestInterval * median(intervals));
  std::int64_t start_ns = device.rows.front().time_ns;
  for (std::size_t i = 0; i < device.rows.size();) {
    const std::int64_t end_ns = device.rows[i].time_ns;
    std::vector<double> values(metrics, NAN);
    for (; i < device.rows.size() && device.rows[i].time_ns == end_ns; ++i)
      values[device.rows[i].metric] = device.rows[i].value;
    if (end_ns > start_ns && end_ns - start_ns <= longest_ns) {
      made.start_ns.push_back(start_ns);
      made.end_ns.push_back(end_ns);
      made.values.insert(made.values.end(), values.begin(), values.end());
    }
    start_ns = end_ns;
  }
  return made;
}

std::vector<ForeignSamples> CounterSeries::samples() {
  std::vector<ForeignSamples> all;
  for (auto& [number, device] : devices_) {
    ForeignSamples made = samples_of(number, device);
    if (made.size() > 0) all.push_back(std::move(made));
  }
  devices_.clear();
  values_ = 0;
  return all;
}

}  // namespace ridgeline::import
