#include "ridgeline/analyzer/session/explanation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {
namespace {

bool same_place(Roof a, Roof b) {
  return a.level == b.level && a.pipe == b.pipe;
}

// The value with its error where the row keeps one; else the ratio alone.
Measured use_of(const RankingRow& row, Roof roof, double ratio) {
  // The row keeps single floats.
  constexpr double kSame = 1e-4;
  const auto agrees = [&](const std::optional<Measured>& known) {
    return known && std::fabs(known->value - ratio) < kSame;
  };
  if (roof == Roof::kDram && agrees(row.dram)) return *row.dram;
  if (same_place(roof, Roof::kTensor)) {
    if (agrees(row.tensor_t2)) return *row.tensor_t2;
    if (agrees(row.tensor_t1)) return *row.tensor_t1;
  }
  if (row.busiest_pipe && same_place(roof, *row.busiest_pipe) && agrees(row.compute)) return *row.compute;
  if (roof == Roof::kL2) {
    if (const auto l2 = row.metrics.of("l2_utilisation_ratio"); agrees(l2)) return *l2;
  }
  if (roof == Roof::kIssue) {
    if (const auto issue = row.metrics.of("issue_utilisation_ratio"); agrees(issue)) return *issue;
  }
  Measured plain;
  plain.value = ratio;
  plain.tier = row.tier;
  return plain;
}

std::vector<KernelLimit> limits_of(const RankingRow& row) {
  std::vector<KernelLimit> limits;
  for (const Roof roof : kRoofs) {
    const std::optional<double> ratio = row.roofs.of(roof);
    if (!ratio) continue;
    KernelLimit limit{.roof = roof, .use = use_of(row, roof, *ratio)};
    limit.nearest = row.nearest && same_place(*row.nearest, roof);
    limit.as_near = std::any_of(row.near_roofs.begin(), row.near_roofs.end(),
                                [&](Roof near) { return same_place(near, roof); });
    limit.bounds = row.bound_roof && same_place(*row.bound_roof, roof);
    limits.push_back(limit);
  }
  std::stable_sort(limits.begin(), limits.end(),
                   [](const KernelLimit& a, const KernelLimit& b) { return a.use.value > b.use.value; });
  return limits;
}

void add_shape(const Model& model, const store::Launch& launch, LaunchConfiguration& of) {
  const store::Device* device = model.device(launch.device_id);
  if (device == nullptr) return;
  if (const auto shape = launch_shape(*device, launch)) {
    of.waves = shape->waves;
    of.idle_ratio = shape->idle_ratio;
    of.occupancy_ratio = shape->occupancy_ratio;
  }
  if (!device->compute_capability) return;
  if (const auto occupancy = theoretical_occupancy(launch, *device->compute_capability))
    of.occupancy_limiter = occupancy->limiter;
}

std::vector<LaunchConfiguration> configurations_of(const Model& model, const Analysis& analysis,
                                                   const RankingRow& row) {
  std::map<std::tuple<store::Dim3, store::Dim3, std::optional<store::Dim3>, std::int64_t, std::int64_t,
                      std::int64_t>,
           LaunchConfiguration>
      by_shape;
  for (const std::uint32_t i : row.launches) {
    const LaunchUtilisations::Row& launch = analysis.utilisation.launches.row(i);
    const store::Launch& site = model.launches.site(launch.launch);
    LaunchConfiguration& of = by_shape[{site.grid, site.block, site.cluster, site.registers_per_thread,
                                        site.static_smem_bytes, site.dynamic_smem_bytes}];
    if (of.calls == 0) {
      of.grid = site.grid;
      of.block = site.block;
      of.cluster = site.cluster;
      of.registers_per_thread = site.registers_per_thread;
      of.static_smem_bytes = site.static_smem_bytes;
      of.dynamic_smem_bytes = site.dynamic_smem_bytes;
      add_shape(model, site, of);
    }
    ++of.calls;
    of.time_ns += launch.duration_ns;
  }
  std::vector<LaunchConfiguration> list;
  for (auto& [shape, of] : by_shape) list.push_back(of);
  std::stable_sort(list.begin(), list.end(), [](const LaunchConfiguration& a, const LaunchConfiguration& b) {
    return a.time_ns > b.time_ns;
  });
  return list;
}

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
  out.limits = limits_of(of);
  out.configurations = configurations_of(model, analysis, of);
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
