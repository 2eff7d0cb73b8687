#include "ranks/interference_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

constexpr std::size_t kMinSteps = 4;

// Of a rank, or means over ranks: a number a step.
struct OfSteps {
  std::vector<double> beside, controlled, cost;
};

InterferenceCost cost_of(const OfSteps& of) {
  InterferenceCost out{mean(of.beside), mean(of.controlled), mean(of.cost), 0, 0};
  const double error = student_95(static_cast<double>(of.cost.size() - 1)) *
                       standard_deviation(of.cost).value_or(0) /
                       std::sqrt(static_cast<double>(of.cost.size()));
  out.low_ns = out.cost_ns - error;
  out.high_ns = out.cost_ns + error;
  return out;
}

// A kernel that runs at 1 / f of its pace for the time o takes o (1 - 1 / f) longer.
std::optional<double> factor_of(double controlled_ns, double cost_ns) {
  if (controlled_ns <= 0 || cost_ns >= controlled_ns) return std::nullopt;
  return controlled_ns / (controlled_ns - cost_ns);
}

InterferenceRefusal refusal_of(const JobView& view) {
  bool beside = false;
  bool controls = true;
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    for (std::size_t step = 0; step < view.steps().size(); ++step) {
      const store::JobStep& row = view.step(rank, step);
      if (!row.beside_ns || !row.beside_controlled_ns) return InterferenceRefusal::not_kept;
      beside = beside || *row.beside_ns > 0;
      controls = controls && (row.beside_cost_ns || *row.beside_ns == 0);
    }
  }
  if (!beside) return InterferenceRefusal::none_beside;
  if (!controls) return InterferenceRefusal::no_controls;
  return view.steps().size() < kMinSteps ? InterferenceRefusal::few_steps : InterferenceRefusal::none;
}

std::vector<KernelInterference> kernels_of(const JobView& view) {
  std::map<store::Id, std::string> names;
  for (const store::JobKernel& kernel : view.job().kernels) names[kernel.id] = kernel.name;
  std::map<std::pair<store::Id, std::optional<CollectiveFunction>>, KernelInterference> rows;
  std::map<std::pair<store::Id, std::optional<CollectiveFunction>>, double> costs;
  for (const store::JobInterference& of : view.job().interference) {
    KernelInterference& row = rows[{of.kernel_id, of.function}];
    row.kernel = names.at(of.kernel_id);
    row.function = of.function;
    row.launches += of.launches;
    row.compared += of.compared;
    row.controls += of.controls;
    row.beside_ns += static_cast<double>(of.beside_ns);
    row.controlled_ns += static_cast<double>(of.controlled_ns);
    costs[{of.kernel_id, of.function}] += of.cost_ns;
  }
  // Of the ranks' own steps, which may be more than those that all have.
  const auto count = static_cast<double>(std::max<std::size_t>(1, view.job().steps.size()));
  std::vector<KernelInterference> all;
  for (auto& [key, row] : rows) {
    if (row.compared > 0) {
      row.factor_ratio = factor_of(row.controlled_ns, costs[key]);
      row.cost_ns = costs[key] / count;
    }
    row.beside_ns /= count;
    row.controlled_ns /= count;
    all.push_back(std::move(row));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.beside_ns > b.beside_ns; });
  return all;
}

}  // namespace

InterferenceOfJob interference_cost(const JobView& view) {
  InterferenceOfJob out;
  out.refusal = refusal_of(view);
  out.kernels = kernels_of(view);
  if (out.refusal != InterferenceRefusal::none) return out;
  const std::size_t steps = view.steps().size();
  const auto ranks = static_cast<double>(view.ranks());
  OfSteps all{std::vector<double>(steps), std::vector<double>(steps), std::vector<double>(steps)};
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    OfSteps of;
    for (std::size_t step = 0; step < steps; ++step) {
      const store::JobStep& row = view.step(rank, step);
      of.beside.push_back(static_cast<double>(*row.beside_ns));
      of.controlled.push_back(static_cast<double>(*row.beside_controlled_ns));
      of.cost.push_back(row.beside_cost_ns.value_or(0));
      all.beside[step] += of.beside.back() / ranks;
      all.controlled[step] += of.controlled.back() / ranks;
      all.cost[step] += of.cost.back() / ranks;
    }
    out.ranks.push_back({view.job().ranks[rank].rank, cost_of(of)});
  }
  out.cost = cost_of(all);
  out.factor_ratio = factor_of(out.cost.controlled_ns, out.cost.cost_ns);
  return out;
}

}  // namespace ridgeline::analyzer::ranks
