// disturbance.cpp: why steps took unusually long, where clocks and power say it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "findings/assess.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

// A clock this far below that of the other steps explains a longer one.
constexpr double kLowerClock = 0.97;

struct ClocksOf {
  std::vector<double> hz;
  std::int64_t reasons = 0;
  void add(const store::ClockSample& sample) {
    if (sample.sm_clock_hz.value_or(0) > 0) hz.push_back(static_cast<double>(*sample.sm_clock_hz));
    reasons |= sample.throttle_reasons.value_or(0);
  }
};

}  // namespace

void explain_outliers(const QualityInput& input, Findings& findings) {
  const auto outliers = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.code == FindingCode::steps_outlier;
  });
  const RepresentativeStep& representative = input.steps.representative;
  if (outliers == findings.end() || representative.launches.empty()) return;
  // Steps that were shorter than usual are not explained by a lower clock.
  if (outliers->value("shortest_ns") < outliers->value("median_ns")) return;
  const store::Id device_id = input.model.launches.site(representative.launches.front()).device_id;
  ClocksOf slow, usual;
  for (const StepSummary& step : input.steps.steps) {
    if (step.process_id != input.steps.process_id || outliers->subject.phase != step.phase ||
        step.gpu_start_ns == 0)
      continue;
    const bool is_slow =
        std::binary_search(outliers->subject.steps.begin(), outliers->subject.steps.end(), step.step_index);
    const auto begin = std::lower_bound(
        input.model.clock_samples.begin(), input.model.clock_samples.end(),
        std::pair(device_id, step.gpu_start_ns),
        [](const store::ClockSample& sample, const std::pair<store::Id, std::int64_t>& from) {
          return std::pair(sample.device_id, sample.time_ns) < from;
        });
    for (auto sample = begin; sample != input.model.clock_samples.end() && sample->device_id == device_id &&
                              sample->time_ns - step.gpu_start_ns < step.gpu_duration_ns;
         ++sample)
      (is_slow ? slow : usual).add(*sample);
  }
  if (slow.hz.empty() || usual.hz.empty()) return;
  const double lowest = *std::min_element(slow.hz.begin(), slow.hz.end());
  const double others = median(usual.hz);
  if (lowest > kLowerClock * others) return;
  outliers->evidence.push_back({"lowest_hz", lowest, {}, {}});
  outliers->evidence.push_back({"others_hz", others, {}, {}});
  for (const std::string& reason : throttle_words(slow.reasons))
    outliers->detail.text += (outliers->detail.empty() ? "" : ", ") + reason;
  // Said by this finding now.
  for (Finding& finding : findings) {
    if (finding.code == FindingCode::clock_spread && finding.subject.device_id == device_id)
      finding.severity = std::min(finding.severity, Severity::info);
  }
}

}  // namespace ridgeline::analyzer
