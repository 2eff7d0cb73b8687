#include "ridgeline/analyzer/session/explanation.h"

#include <algorithm>
#include <set>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {
namespace {

DurationSpread spread_of(const Model& model, const Analysis& analysis, const RankingRow& row) {
  std::vector<double> durations, deviations;
  for (const std::uint32_t i : row.launches) {
    const LaunchUtilisation launch = analysis.utilisation.launches[i];
    if (!has_time(model.launches.row(launch.launch))) continue;
    durations.push_back(static_cast<double>(launch.duration_ns));
    if (launch.duration_deviation_ns) deviations.push_back(*launch.duration_deviation_ns);
  }
  DurationSpread spread;
  if (durations.empty()) return spread;
  spread.calls = static_cast<std::int64_t>(durations.size());
  spread.min_ns = *std::min_element(durations.begin(), durations.end());
  spread.max_ns = *std::max_element(durations.begin(), durations.end());
  spread.p10_ns = quantile(durations, 0.1);
  spread.median_ns = median(durations);
  spread.p90_ns = quantile(durations, 0.9);
  if (!deviations.empty()) spread.between_steps_ns = mean(deviations);
  return spread;
}

// Whether advice is about the kernel, or about some of its launches: of the step as a whole it is about none.
class Concern {
 public:
  Concern(const Model& model, const Analysis& analysis, const RankingRow& row) : row_(row) {
    for (const std::uint32_t i : row.launches)
      launches_.insert(model.launches.row(analysis.utilisation.launches.row(i).launch).id);
  }
  [[nodiscard]] bool names(const std::string& subject) const {
    return !subject.empty() && (subject == row_.kernel || subject == row_.key);
  }
  [[nodiscard]] bool operator()(const Advice& advice) const {
    if (advice.subject.empty()) return false;
    return names(advice.subject) || std::any_of(advice.launches.begin(), advice.launches.end(),
                                                [&](store::Id id) { return launches_.contains(id); });
  }

 private:
  const RankingRow& row_;
  std::set<store::Id> launches_;
};

}  // namespace

KernelExplanation explain_kernel(const Model& model, const Analysis& analysis, std::size_t row) {
  const RankingRow& of = analysis.ranking.rows.at(row);
  KernelExplanation out;
  out.row = row;
  out.hold = kernel_hold(model, analysis.utilisation, of);
  out.spread = spread_of(model, analysis, of);
  const Concern concerns(model, analysis, of);
  for (const Advice& advice : analysis.advice.advice)
    if (concerns(advice)) out.advice.push_back(advice);
  for (const Advice& advice : analysis.advice.small)
    if (concerns(advice)) out.small.push_back(advice);
  for (const AdviceUnknown& unknown : analysis.advice.unknown)
    if (concerns.names(unknown.subject)) out.unknown.push_back(unknown);
  const auto& stalled = analysis.stalls.kernels;
  for (std::size_t i = 0; i < stalled.size(); ++i)
    if (stalled[i].ranking_row == row) out.stalls = i;
  const auto& points = analysis.roofline.points;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].ranking_row == row) out.roofline = i;
  return out;
}

}  // namespace ridgeline::analyzer
