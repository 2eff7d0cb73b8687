#include <algorithm>
#include <cmath>

#include "findings/assess.h"
#include "ridgeline/base/statistics.h"
#include "utilisation/timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

struct ThrottleReason {
  std::int64_t bit;
  const char* text;
};
// NVML's nvmlClocksEventReason* bits. 0x1 (idle) and 0x2, 0x100 (clocks set by the user) are no throttling.
constexpr ThrottleReason kThrottleReasons[] = {
    {0x4, "power limit"},         {0x8, "hardware slowdown"},   {0x10, "sync boost"},
    {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"}, {0x80, "external power brake"},
};

// The time that the representative's peers cover; everything if none has times.
bool in_timeline(std::int64_t time_ns, std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns < end_ns ? time_ns >= start_ns && time_ns <= end_ns : true;
}

ClockSummary summarise_clocks(const QualityInput& input, const store::Device& device, std::int64_t start_ns,
                              std::int64_t end_ns) {
  ClockSummary summary;
  summary.device_id = device.id;
  std::vector<double> sm, memory, power;
  std::int64_t with_reasons = 0, throttled = 0, seen = 0;
  for (const store::ClockSample& sample : input.model.clock_samples) {
    if (sample.device_id != device.id || !in_timeline(sample.time_ns, start_ns, end_ns)) continue;
    ++summary.samples;
    if (sample.sm_clock_hz) sm.push_back(static_cast<double>(*sample.sm_clock_hz));
    if (sample.memory_clock_hz) memory.push_back(static_cast<double>(*sample.memory_clock_hz));
    if (sample.power_mw) power.push_back(static_cast<double>(*sample.power_mw) / 1e3);
    if (sample.temperature_c) {
      summary.temperature_max_c = std::max(summary.temperature_max_c.value_or(-273), *sample.temperature_c);
    }
    if (!sample.throttle_reasons) continue;
    ++with_reasons;
    std::int64_t known = 0;
    for (const ThrottleReason& reason : kThrottleReasons) known |= reason.bit;
    if ((*sample.throttle_reasons & known) != 0) ++throttled;
    seen |= *sample.throttle_reasons;
  }
  if (!sm.empty()) {
    summary.sm_clock_min_hz = *std::min_element(sm.begin(), sm.end());
    summary.sm_clock_max_hz = *std::max_element(sm.begin(), sm.end());
    summary.sm_clock_median_hz = median(sm);
  }
  if (!memory.empty()) summary.memory_clock_median_hz = median(memory);
  if (!power.empty()) {
    summary.power_max_w = *std::max_element(power.begin(), power.end());
    summary.power_median_w = median(power);
  }
  summary.throttle_reasons = throttle_words(seen);
  if (with_reasons > 0)
    summary.throttled_share = static_cast<double>(throttled) / static_cast<double>(with_reasons);
  return summary;
}

void report_clocks(const QualityInput& input, const store::Device& device, const ClockSummary& summary,
                   Quality& quality) {
  if (summary.sm_clock_median_hz && *summary.sm_clock_median_hz > 0) {
    const double spread = (*summary.sm_clock_max_hz - *summary.sm_clock_min_hz) / *summary.sm_clock_median_hz;
    if (spread > input.options.clock_spread_warning) {
      Finding finding{.severity = Severity::warning, .code = FindingCode::clock_spread};
      finding.subject.name = device.name;
      finding.subject.device_id = device.id;
      finding.evidence = {{"least_hz", *summary.sm_clock_min_hz, {}, {}},
                          {"most_hz", *summary.sm_clock_max_hz, {}, {}}};
      finding.remedy = Remedy::steady_clocks;
      quality.findings.push_back(std::move(finding));
    }
  }
  if (summary.throttle_reasons.empty()) return;
  Finding finding{.severity = Severity::info, .code = FindingCode::clock_throttled};
  finding.subject.name = device.name;
  finding.subject.device_id = device.id;
  finding.evidence = {{"samples_ratio", summary.throttled_share, {}, {}}};
  for (const std::string& reason : summary.throttle_reasons)
    finding.detail.text += (finding.detail.empty() ? "" : ", ") + reason;
  finding.remedy = Remedy::steady_clocks;
  quality.findings.push_back(std::move(finding));
}

// Worth knowing although compute utilisation counts cycles at each one's clock: the memory did not slow
// with the SMs.
void compare_replay_clock(const QualityInput& input, Quality& quality) {
  double weight = 0, sum = 0;
  store::Id device_id = 0;
  for (const LaunchUtilisations::Group& launch : input.utilisation.launches.groups()) {
    // The cycle counter of a short launch includes the time around it.
    if (!launch.values->replay_clock_hz || launch.time_ns < input.options.disagreement_floor_ns) continue;
    weight += static_cast<double>(launch.time_ns);
    sum += static_cast<double>(launch.time_ns) * *launch.values->replay_clock_hz;
    device_id = input.model.launches.site(input.utilisation.launches.row(launch.longest).launch).device_id;
  }
  if (weight <= 0) return;
  for (const ClockSummary& summary : quality.clocks) {
    if (summary.device_id != device_id || !summary.sm_clock_median_hz || *summary.sm_clock_median_hz <= 0)
      continue;
    const double ratio = sum / weight / *summary.sm_clock_median_hz - 1.0;
    if (std::fabs(ratio) <= input.options.clock_spread_warning) continue;
    Finding finding{.severity = Severity::info, .code = FindingCode::clock_replay_differs};
    finding.subject.device_id = device_id;
    finding.evidence = {{"replay_hz", sum / weight, Tier::t2, {}},
                        {"timeline_hz", *summary.sm_clock_median_hz, {}, {}}};
    quality.findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<std::string> throttle_words(std::int64_t reasons) {
  std::vector<std::string> words;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((reasons & reason.bit) != 0) words.emplace_back(reason.text);
  }
  return words;
}

void assess_clocks(const QualityInput& input, Quality& quality) {
  const auto [start_ns, end_ns] = timeline_window(input.steps);
  for (const store::Device& device : input.model.devices) {
    ClockSummary summary = summarise_clocks(input, device, start_ns, end_ns);
    if (summary.samples == 0) summary = summarise_clocks(input, device, 0, 0);
    if (summary.samples == 0) continue;
    report_clocks(input, device, summary, quality);
    quality.clocks.push_back(std::move(summary));
  }
  const bool clock_known =
      std::any_of(input.utilisation.launches.groups().begin(), input.utilisation.launches.groups().end(),
                  [](const LaunchVerdict& l) { return l.values->t1.clock_hz.has_value(); });
  if (quality.clocks.empty() && !clock_known) {
    quality.findings.push_back({.severity = Severity::info, .code = FindingCode::clock_unknown});
  }
  compare_replay_clock(input, quality);
}

}  // namespace ridgeline::analyzer
