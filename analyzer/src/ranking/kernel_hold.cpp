#include "ridgeline/analyzer/ranking/kernel_hold.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "ridgeline/analyzer/ranking/launch_shape.h"

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

void add_shape(const Model& model, const store::Launch& site, LaunchConfiguration& of) {
  const store::Device* device = model.device(site.device_id);
  if (device == nullptr) return;
  if (const auto shape = launch_shape(*device, site)) {
    of.waves = shape->waves;
    of.idle_ratio = shape->idle_ratio;
  }
  of.occupancy = theoretical_occupancy(site, device->compute_capability.value_or(""));
}

LaunchConfiguration configuration_of(const Model& model, const store::Launch& site) {
  LaunchConfiguration of;
  of.grid = site.grid;
  of.block = site.block;
  of.cluster = site.cluster;
  of.registers_per_thread = site.registers_per_thread;
  of.static_smem_bytes = site.static_smem_bytes;
  of.dynamic_smem_bytes = site.dynamic_smem_bytes;
  add_shape(model, site, of);
  return of;
}

std::vector<LaunchConfiguration> configurations_of(const Model& model, const UtilisationAnalysis& utilisation,
                                                   const RankingRow& row) {
  // A row may have millions of launches, and few sites.
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> by_site;  // calls, time
  for (const std::uint32_t i : row.launches) {
    const LaunchUtilisations::Row& launch = utilisation.launches.row(i);
    auto& [calls, time_ns] = by_site[model.launches.row(launch.launch).site];
    ++calls;
    time_ns += launch.duration_ns;
  }
  using Shape = std::tuple<store::Dim3, store::Dim3, std::optional<store::Dim3>, std::int64_t, std::int64_t,
                           std::int64_t>;
  std::map<Shape, LaunchConfiguration> by_shape;
  for (const auto& [index, sum] : by_site) {
    const store::Launch& site = model.launches.sites()[index];
    const auto [at, first] =
        by_shape.try_emplace({site.grid, site.block, site.cluster, site.registers_per_thread,
                              site.static_smem_bytes, site.dynamic_smem_bytes});
    if (first) at->second = configuration_of(model, site);
    at->second.calls += sum.first;
    at->second.time_ns += sum.second;
  }
  std::vector<LaunchConfiguration> list;
  list.reserve(by_shape.size());
  for (const auto& [shape, of] : by_shape) list.push_back(of);
  std::stable_sort(list.begin(), list.end(), [](const LaunchConfiguration& a, const LaunchConfiguration& b) {
    return a.time_ns > b.time_ns;
  });
  return list;
}

}  // namespace

KernelHold kernel_hold(const Model& model, const UtilisationAnalysis& utilisation, const RankingRow& row) {
  return {limits_of(row), configurations_of(model, utilisation, row)};
}

}  // namespace ridgeline::analyzer
