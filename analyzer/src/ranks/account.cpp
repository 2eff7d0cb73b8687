#include "ranks/account.h"

#include <algorithm>
#include <map>

#include "ranks/causes.h"
#include "ranks/interference_cost.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

struct AccountMeans {
  double compute = 0, copies = 0, idle = 0, wait = 0, transfer = 0, duration = 0;
};

AccountMeans means_of(const JobView& view, const CollectiveCosts& costs) {
  AccountMeans sum;
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    for (std::size_t step = 0; step < view.steps().size(); ++step) {
      const store::JobStep& row = view.step(rank, step);
      const StepParts& parts = costs.parts[rank * view.steps().size() + step];
      sum.compute += static_cast<double>(row.compute_ns);
      sum.copies += parts.copies_ns;
      sum.idle += parts.idle_ns;
      sum.wait += parts.wait_ns;
      sum.transfer += parts.transfer_ns;
      sum.duration += static_cast<double>(row.duration_ns);
    }
  }
  const auto count = static_cast<double>(view.ranks() * view.steps().size());
  for (double* value : {&sum.compute, &sum.copies, &sum.idle, &sum.wait, &sum.transfer, &sum.duration})
    *value /= count;
  return sum;
}

double time_of(const std::vector<AccountRow>& account, AccountPart part, bool alone) {
  for (const AccountRow& row : account) {
    if (row.part == part) return alone ? row.alone_ns.value_or(0) : row.time_ns;
  }
  return 0;
}

// Kernels and clock of a step, means over ranks and steps as the account's times are: so they add up with them.
ReferenceStep mean_step(const JobView& view) {
  std::map<store::Id, std::string> names;
  for (const store::JobKernel& kernel : view.job().kernels) names[kernel.id] = kernel.name;
  const auto count = static_cast<double>(view.ranks() * view.steps().size());
  ReferenceStep step;
  std::vector<double> clocks;
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    for (std::size_t i = 0; i < view.steps().size(); ++i) {
      if (const auto clock = view.step(rank, i).sm_clock_hz) clocks.push_back(*clock);
      const RowRange range = view.kernels(rank, i);
      for (std::size_t row = range.begin; row < range.end; ++row) {
        const store::JobKernelStep& of = view.job().kernel_steps[row];
        ReferenceStep::Kernel& kernel = step.kernels[names[of.kernel_id]];
        kernel.launches += static_cast<double>(of.launches) / count;
        kernel.blocks += static_cast<double>(of.blocks) / count;
        kernel.time_ns += static_cast<double>(of.time_ns) / count;
      }
    }
  }
  if (!clocks.empty()) step.sm_clock_hz = mean(clocks);
  return step;
}

// Where it cannot be said, or the interval has none, it stays in the kernels' time.
double shown_interference_ns(const InterferenceOfJob& of) {
  return of.refusal == InterferenceRefusal::none && of.cost.shown() ? of.cost.cost_ns : 0;
}

}  // namespace

std::vector<AccountRow> account_of(const JobView& view, const CollectiveCosts& costs, const Alone* alone) {
  const AccountMeans job = means_of(view, costs);
  std::vector<AccountRow> rows = {{AccountPart::compute, job.compute, {}},
                                  {AccountPart::copies, job.copies, {}},
                                  {AccountPart::idle, job.idle, {}},
                                  {AccountPart::exposed_wait, job.wait, {}},
                                  {AccountPart::exposed_transfer, job.transfer, {}},
                                  {AccountPart::duration, job.duration, {}}};
  if (alone == nullptr) return rows;
  const AccountMeans one = means_of(alone->view, alone->costs);
  const double times[] = {one.compute, one.copies, one.idle, one.wait, one.transfer, one.duration};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].alone_ns = times[i];
  return rows;
}

ScalingLoss scaling_loss(const std::vector<AccountRow>& account, const InterferenceOfJob& interference,
                         const JobView& view, const JobView& alone) {
  ScalingLoss loss;
  loss.job_ns = time_of(account, AccountPart::duration, false);
  loss.alone_ns = time_of(account, AccountPart::duration, true);
  loss.efficiency_ratio = loss.job_ns > 0 ? loss.alone_ns / loss.job_ns : 0;
  loss.exposed_wait_ns =
      time_of(account, AccountPart::exposed_wait, false) - time_of(account, AccountPart::exposed_wait, true);
  loss.exposed_transfer_ns = time_of(account, AccountPart::exposed_transfer, false) -
                             time_of(account, AccountPart::exposed_transfer, true);
  const auto with_times = [&](ReferenceStep step, bool of_alone) {
    step.compute_ns = time_of(account, AccountPart::compute, of_alone);
    step.copy_ns = time_of(account, AccountPart::copies, of_alone);
    step.idle_ns = time_of(account, AccountPart::idle, of_alone);
    step.own_ns = step.compute_ns + step.copy_ns + step.idle_ns;
    return step;
  };
  loss.parts = lateness_parts(with_times(mean_step(view), false), with_times(mean_step(alone), true), true);
  loss.parts.beside_collectives_ns =
      shown_interference_ns(interference) - shown_interference_ns(interference_cost(alone));
  (loss.parts.slower_kernels_ns != 0 ? loss.parts.slower_kernels_ns : loss.parts.more_cycles_ns) -=
      loss.parts.beside_collectives_ns;
  return loss;
}

std::vector<KernelOverRanks> kernels_over_ranks(const JobView& view) {
  const std::size_t steps = view.steps().size();
  std::map<store::Id, std::map<std::size_t, std::pair<std::vector<double>, std::int64_t>>> times;
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    for (std::size_t step = 0; step < steps; ++step) {
      const RowRange range = view.kernels(rank, step);
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const store::JobKernelStep& row = view.job().kernel_steps[i];
        auto& [of_rank, launches] = times[row.kernel_id][rank];
        of_rank.resize(steps, 0);
        of_rank[step] = static_cast<double>(row.time_ns);
        launches += row.launches;
      }
    }
  }
  std::map<store::Id, std::string> names;
  for (const store::JobKernel& kernel : view.job().kernels) names[kernel.id] = kernel.name;
  std::vector<KernelOverRanks> rows;
  for (auto& [kernel, of_ranks] : times) {
    KernelOverRanks row;
    row.kernel = names[kernel];
    row.ranks = static_cast<std::int64_t>(of_ranks.size());
    std::vector<double> each;
    std::vector<double> launches;
    row.best_ns = -1;
    for (auto& [rank, values] : of_ranks) {
      const double time = median(std::move(values.first));
      each.push_back(time);
      launches.push_back(static_cast<double>(values.second) / static_cast<double>(steps));
      if (row.best_ns < 0 || time < row.best_ns) row.best_ns = time;
      if (time > row.worst_ns || each.size() == 1) {
        row.worst_ns = time;
        row.worst_rank = view.job().ranks[rank].rank;
      }
    }
    row.median_ns = median(each);
    row.launches = median(std::move(launches));
    if (row.median_ns > 0) row.spread_ratio = (quantile(each, 0.9) - quantile(each, 0.1)) / row.median_ns;
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.median_ns != b.median_ns ? a.median_ns > b.median_ns : a.kernel < b.kernel;
  });
  return rows;
}

}  // namespace ridgeline::analyzer::ranks
