#include "ranks/causes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

constexpr double kMostOfIt = 0.6;

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

}  // namespace

ReferenceStep reference_of(const JobView& view, const std::vector<StepParts>& parts, std::size_t step,
                           std::optional<std::size_t> leave_out) {
  struct Values {
    std::vector<double> launches, blocks, time_ns;
  };
  std::map<store::Id, Values> kernels;
  std::vector<double> own, compute, copy, idle, clocks;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
    if (rank == leave_out) continue;
    ++count;
    const store::JobStep& row = view.step(rank, step);
    const StepParts& part = parts[rank * view.steps().size() + step];
    own.push_back(part.own_ns);
    compute.push_back(static_cast<double>(row.compute_ns));
    copy.push_back(part.copies_ns);
    idle.push_back(part.idle_ns);
    if (row.sm_clock_hz) clocks.push_back(*row.sm_clock_hz);
    const RowRange range = view.kernels(rank, step);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const store::JobKernelStep& of = view.job().kernel_steps[i];
      Values& values = kernels[of.kernel_id];
      values.launches.push_back(static_cast<double>(of.launches));
      values.blocks.push_back(static_cast<double>(of.blocks));
      values.time_ns.push_back(static_cast<double>(of.time_ns));
    }
  }
  std::map<store::Id, std::string> names;
  for (const store::JobKernel& kernel : view.job().kernels) names[kernel.id] = kernel.name;
  ReferenceStep reference;
  for (auto& [id, values] : kernels) {
    for (auto* of : {&values.launches, &values.blocks, &values.time_ns})
      of->resize(count, 0);  // not launched: none
    reference.kernels[names[id]] = {median(std::move(values.launches)), median(std::move(values.blocks)),
                                    median(std::move(values.time_ns))};
  }
  reference.own_ns = median(std::move(own));
  reference.compute_ns = median(std::move(compute));
  reference.copy_ns = median(std::move(copy));
  reference.idle_ns = median(std::move(idle));
  reference.sm_clock_hz = median_of(std::move(clocks));
  return reference;
}

ReferenceStep step_of(const JobView& view, const std::vector<StepParts>& parts, std::size_t rank,
                      std::size_t step) {
  const store::JobStep& row = view.step(rank, step);
  ReferenceStep of;
  const StepParts& part = parts[rank * view.steps().size() + step];
  of.own_ns = part.own_ns;
  of.compute_ns = static_cast<double>(row.compute_ns);
  of.copy_ns = part.copies_ns;
  of.idle_ns = part.idle_ns;
  of.sm_clock_hz = row.sm_clock_hz;
  std::map<store::Id, std::string> names;
  for (const store::JobKernel& kernel : view.job().kernels) names[kernel.id] = kernel.name;
  const RowRange range = view.kernels(rank, step);
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const store::JobKernelStep& kernel = view.job().kernel_steps[i];
    of.kernels[names[kernel.kernel_id]] = {static_cast<double>(kernel.launches),
                                           static_cast<double>(kernel.blocks),
                                           static_cast<double>(kernel.time_ns)};
  }
  return of;
}

LatenessParts lateness_parts(const ReferenceStep& step, const ReferenceStep& reference, bool clock_counts) {
  LatenessParts parts;
  const bool clocks = clock_counts && step.sm_clock_hz && reference.sm_clock_hz && *reference.sm_clock_hz > 0;
  const double slower = clocks ? *step.sm_clock_hz / *reference.sm_clock_hz : 1;  // below 1: it was
  double cycles_ns = 0;
  for (const auto& [name, own] : step.kernels) {
    const auto found = reference.kernels.find(name);
    const ReferenceStep::Kernel other =
        found == reference.kernels.end() ? ReferenceStep::Kernel{} : found->second;
    const double at_its_clock = own.time_ns * slower;  // what it would take at the reference's clock
    parts.lower_clock_ns += own.time_ns - at_its_clock;
    if (own.blocks <= 0) continue;
    const double each = at_its_clock / own.blocks;
    parts.more_work_ns += (own.blocks - other.blocks) * each;
    cycles_ns += other.blocks * each - other.time_ns;
  }
  for (const auto& [name, other] : reference.kernels) {
    if (!step.kernels.contains(name)) parts.more_work_ns -= other.time_ns;
  }
  (clocks ? parts.more_cycles_ns : parts.slower_kernels_ns) = cycles_ns;
  parts.host_gaps_ns = step.idle_ns - reference.idle_ns;
  parts.copies_ns = step.copy_ns - reference.copy_ns;
  parts.rest_ns = step.own_ns - reference.own_ns - parts.sum_ns();
  return parts;
}

LatenessCause cause_of(const LatenessParts& parts) {
  const std::pair<double, LatenessCause> all[] = {{parts.more_work_ns, LatenessCause::more_work},
                                                  {parts.more_cycles_ns, LatenessCause::more_cycles},
                                                  {parts.lower_clock_ns, LatenessCause::lower_clock},
                                                  {parts.slower_kernels_ns, LatenessCause::slower_kernels},
                                                  {parts.host_gaps_ns, LatenessCause::host_gaps},
                                                  {parts.copies_ns, LatenessCause::copies}};
  const auto most = *std::max_element(std::begin(all), std::end(all),
                                      [](const auto& a, const auto& b) { return a.first < b.first; });
  return most.first >= kMostOfIt * parts.sum_ns() ? most.second : LatenessCause::unexplained;
}

}  // namespace ridgeline::analyzer::ranks
