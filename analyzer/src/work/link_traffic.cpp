#include "ridgeline/analyzer/work/link_traffic.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kGapIntervals = 4;  // so far apart, samples do not follow each other
constexpr double kMaxUncovered = 0.02;     // of a stretch that is asked for

// Times beyond are no times, and could not be subtracted.
constexpr std::int64_t kLatestSampleNs = 2'200'000'000'000'000'000;
bool is_timed(const store::PmSample& sample) {
  return sample.time_ns > 0 && sample.time_ns < kLatestSampleNs;
}

std::int64_t usual_interval(const std::vector<store::PmSample>& samples) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (is_timed(samples[i - 1]) && is_timed(samples[i]))
      intervals.push_back(samples[i].time_ns - samples[i - 1].time_ns);
  }
  return intervals.empty() ? 0 : std::max<std::int64_t>(upper_median(std::move(intervals)), 1);
}

}  // namespace

void add_link_bytes(LinkBytes& sum, const LinkBytes& more) {
  for (const LinkMetric& metric : kLinkMetrics) {
    const auto& value = more.*metric.field;
    if (value) sum.*metric.field = (sum.*metric.field).value_or(0) + *value;
  }
}

LinkBytes mean_link_bytes(const LinkBytes& sum, std::int64_t count) {
  LinkBytes mean;
  for (const LinkMetric& metric : kLinkMetrics) {
    const auto& value = sum.*metric.field;
    if (value && count > 0) mean.*metric.field = *value / static_cast<double>(count);
  }
  return mean;
}

double LinkSamples::Stretch::until(std::int64_t at_ns) const {
  const auto after = std::upper_bound(time_ns.begin(), time_ns.end(), at_ns);
  if (after == time_ns.begin()) return 0;
  const auto i = static_cast<std::size_t>(after - time_ns.begin());
  if (after == time_ns.end()) return bytes.back();
  const double share =
      static_cast<double>(at_ns - time_ns[i - 1]) / static_cast<double>(time_ns[i] - time_ns[i - 1]);
  return bytes[i - 1] + share * (bytes[i] - bytes[i - 1]);
}

void LinkSamples::add(std::size_t metric, const std::vector<store::PmSample>& samples) {
  const std::int64_t usual = usual_interval(samples);
  if (usual == 0) return;
  interval_ns_ = usual;
  std::vector<Stretch>& stretches = stretches_.at(metric);
  for (const store::PmSample& sample : samples) {
    if (!is_timed(sample)) continue;
    const bool follows = !stretches.empty() && sample.time_ns > stretches.back().time_ns.back() &&
                         (sample.time_ns - stretches.back().time_ns.back()) / kGapIntervals <= usual;
    if (!follows) stretches.push_back({{sample.time_ns - usual}, {0}});
    Stretch& stretch = stretches.back();
    const double bytes = std::isfinite(sample.value) ? std::max(sample.value, 0.0) : 0;
    stretch.time_ns.push_back(sample.time_ns);
    stretch.bytes.push_back(stretch.bytes.back() + bytes);
  }
}

bool LinkSamples::empty() const {
  return std::all_of(stretches_.begin(), stretches_.end(), [](const auto& of) { return of.empty(); });
}

LinkBytes LinkSamples::during(std::int64_t start_ns, std::int64_t end_ns) const {
  LinkBytes out;
  const double most = kMaxUncovered * static_cast<double>(end_ns - start_ns);
  if (end_ns <= start_ns) return out;
  for (std::size_t i = 0; i < kLinkMetrics.size(); ++i) {
    for (const Stretch& stretch : stretches_[i]) {
      const std::int64_t first = std::max(start_ns, stretch.time_ns.front());
      const std::int64_t last = std::min(end_ns, stretch.time_ns.back());
      if (last <= first || static_cast<double>((end_ns - start_ns) - (last - first)) > most) continue;
      out.*kLinkMetrics[i].field = stretch.until(last) - stretch.until(first);
      break;
    }
  }
  return out;
}

LinkSamples read_link_samples(const store::Capture& capture, store::Id device_id) {
  LinkSamples samples;
  for (const store::Metric& metric : capture.metrics()) {
    for (std::size_t i = 0; i < kLinkMetrics.size(); ++i) {
      if (metric.name == kLinkMetrics[i].metric) samples.add(i, capture.pm_samples(device_id, metric.id));
    }
  }
  return samples;
}

}  // namespace ridgeline::analyzer
