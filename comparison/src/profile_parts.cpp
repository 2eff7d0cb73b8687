#include "profile_parts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

using analyzer::Accounting;
using analyzer::Launches;
using analyzer::Model;
using analyzer::QueryOptions;
using analyzer::RepresentativeStep;
using analyzer::StepAnalysis;
using store::Id;

// When some kernel ran on each device beside the step's copies and memsets, as stretches in order of time. A copy for
// the next step may run beside the kernels of that one.
class KernelStretches {
 public:
  KernelStretches(const Model& model, Id process_id, const RepresentativeStep& step) {
    std::int64_t from_ns = step.window_start_ns, to_ns = step.window_end_ns;
    const auto include = [&](const auto& row) {
      from_ns = std::min(from_ns, row.start_ns);
      to_ns = std::max(to_ns, row.end_ns);
    };
    for (const std::size_t i : step.memcpys) include(model.memcpys[i]);
    for (const std::size_t i : step.memsets) include(model.memsets[i]);
    for (const Launches::Row& row : model.launches.rows()) {
      const store::Launch& site = model.launches.sites()[row.site];
      if (site.process_id != process_id || row.start_ns <= 0 || row.end_ns < from_ns || row.start_ns > to_ns)
        continue;
      auto& stretches = by_device_[site.device_id];
      if (!stretches.empty() && row.start_ns <= stretches.back().second) {
        stretches.back().second = std::max(stretches.back().second, row.end_ns);
      } else {
        stretches.emplace_back(row.start_ns, row.end_ns);
      }
    }
  }

  [[nodiscard]] std::int64_t beside(Id device_id, std::int64_t start_ns, std::int64_t end_ns) const {
    const auto found = by_device_.find(device_id);
    if (found == by_device_.end()) return 0;
    auto at = std::partition_point(found->second.begin(), found->second.end(),
                                   [&](const auto& stretch) { return stretch.second <= start_ns; });
    std::int64_t sum = 0;
    for (; at != found->second.end() && at->first < end_ns; ++at)
      sum += std::min(end_ns, at->second) - std::max(start_ns, at->first);
    return sum;
  }

 private:
  std::map<Id, std::vector<std::pair<std::int64_t, std::int64_t>>> by_device_;
};

using TransferPlace = std::tuple<std::string, TransferKind, CopyKind>;

struct TransferSums {
  std::vector<double> calls, bytes, time_ns;
  double shown_ns = 0, exposed_ns = 0;  // of the representative step
};

class Transfers {
 public:
  Transfers(const Model& model, const StepAnalysis& steps, const std::vector<Id>& step_ids)
      : model_(model), steps_(steps), columns_(std::max<std::size_t>(1, step_ids.size())) {
    for (std::size_t i = 0; i < step_ids.size(); ++i) column_.emplace(step_ids[i], i);
  }

  void add(const store::Memcpy& copy) { add(copy, TransferKind::copy, copy.kind); }
  void add(const store::Memset& set) { add(set, TransferKind::memset, CopyKind::unknown); }

  std::vector<TransferSite> sites() {
    std::vector<TransferSite> result;
    if (sums_.empty()) return result;
    const RepresentativeStep& step = steps_.representative;
    const KernelStretches kernels(model_, steps_.process_id, step);
    for (const std::size_t i : step.memcpys)
      expose(model_.memcpys[i], TransferKind::copy, model_.memcpys[i].kind, kernels);
    for (const std::size_t i : step.memsets)
      expose(model_.memsets[i], TransferKind::memset, CopyKind::unknown, kernels);
    for (const auto& [key, sums] : sums_) {
      TransferSite site;
      std::tie(site.path, site.kind, site.direction) = key;
      site.calls = median(sums.calls);
      site.bytes = median(sums.bytes);
      site.time_ns = median(sums.time_ns);
      site.exposed_ns = sums.shown_ns > 0 ? site.time_ns * sums.exposed_ns / sums.shown_ns : site.time_ns;
      result.push_back(std::move(site));
    }
    return result;
  }

 private:
  template <typename Row>
  TransferPlace key_of(const Row& row, TransferKind kind, CopyKind direction) const {
    return {folded_path(model_.string(row.nvtx_path_id)), kind, direction};
  }
  template <typename Row>
  void add(const Row& row, TransferKind kind, CopyKind direction) {
    if (row.end_ns < row.start_ns) return;
    const auto [at, added] = sums_.try_emplace(key_of(row, kind, direction));
    TransferSums& sums = at->second;
    if (added) {
      for (auto* each : {&sums.calls, &sums.bytes, &sums.time_ns}) each->resize(columns_);
    }
    const auto column = row.step_id ? column_.find(*row.step_id) : column_.end();
    const std::size_t i = column == column_.end() ? 0 : column->second;
    sums.calls[i] += 1;
    sums.bytes[i] += static_cast<double>(row.bytes);
    sums.time_ns[i] += static_cast<double>(row.end_ns - row.start_ns);
  }
  template <typename Row>
  void expose(const Row& row, TransferKind kind, CopyKind direction, const KernelStretches& kernels) {
    const auto found = sums_.find(key_of(row, kind, direction));
    if (found == sums_.end() || row.end_ns < row.start_ns) return;
    const std::int64_t length_ns = row.end_ns - row.start_ns;
    found->second.shown_ns += static_cast<double>(length_ns);
    found->second.exposed_ns +=
        static_cast<double>(length_ns - kernels.beside(row.device_id, row.start_ns, row.end_ns));
  }

  const Model& model_;
  const StepAnalysis& steps_;
  std::size_t columns_;
  std::unordered_map<Id, std::size_t> column_;
  std::map<TransferPlace, TransferSums> sums_;
};

// The thread that made most of the step's launches.
std::optional<std::int64_t> launching_thread(const Model& model, const RepresentativeStep& step) {
  std::map<std::int64_t, std::int64_t> launches;
  for (const analyzer::LaunchIndex i : step.launches) {
    if (const auto& thread = model.launches.site(i).thread_id) ++launches[*thread];
  }
  const auto most = std::max_element(launches.begin(), launches.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  if (most == launches.end()) return std::nullopt;
  return most->first;
}

}  // namespace

StepParts parts_of(const Model& model, const StepAnalysis& steps, const Accounting& accounting,
                   double own_kernels_ns) {
  const auto number = [](std::int64_t ns) { return static_cast<double>(ns); };
  StepParts parts;
  // Kernels of no step may run in its time, where ranges that are named as steps hold a part of the launches: then no
  // overlap is seen, and what they take is not explained by the step.
  parts.overlap_ns = std::max(0.0, own_kernels_ns - number(accounting.kernel_busy_ns));
  parts.copy_exposed_ns = number(accounting.copy_exposed_ns);
  parts.copy_hidden_ns = number(accounting.copy_hidden_ns);
  parts.memset_exposed_ns = number(accounting.memset_exposed_ns);
  parts.communication_exposed_ns = number(accounting.communication_exposed_ns);
  parts.communication_hidden_ns = number(accounting.communication_hidden_ns);
  parts.gap_launch_bound_ns = number(accounting.gap_launch_bound_ns);
  parts.gap_host_bound_ns = number(accounting.gap_host_bound_ns);
  parts.gap_synchronisation_ns = number(accounting.gap_synchronisation_ns.value_or(0));
  parts.gap_queued_ns = number(accounting.gap_queued_ns);
  parts.gap_other_ns = number(accounting.gap_unknown_ns + accounting.gap_tail_ns);
  const RepresentativeStep& step = steps.representative;
  const auto thread = launching_thread(model, step);
  // Of a recording that has no steps, or steps without a start on the CPU, there is no such time.
  if (step.whole_recording || !step.summary.host_duration_ns || !accounting.gap_synchronisation_ns || !thread)
    return parts;
  double waits_ns = 0;
  for (const store::Synchronisation& wait : model.synchronisations) {
    if (wait.process_id == steps.process_id && wait.thread_id == *thread &&
        wait.step_id == step.summary.step_id)
      waits_ns += number(wait.duration_ns);
  }
  parts.wait_ns = waits_ns;
  parts.cpu_ns = std::max(0.0, number(*step.summary.host_duration_ns) - waits_ns);
  return parts;
}

std::vector<TransferSite> transfers_of(const store::Activity& activity, const Model& model,
                                       const StepAnalysis& steps, const std::vector<Id>& step_ids,
                                       const QueryOptions& ask) {
  store::ActivityFilter filter;
  filter.process_id = steps.process_id;
  if (!step_ids.empty()) filter.step_ids = step_ids;
  Transfers transfers(model, steps, step_ids);
  activity.for_each_memcpy(
      filter, [&](const store::Memcpy& copy) { transfers.add(copy); }, ask.stop);
  activity.for_each_memset(
      filter, [&](const store::Memset& set) { transfers.add(set); }, ask.stop);
  return transfers.sites();
}

}  // namespace ridgeline::comparison
