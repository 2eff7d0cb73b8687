#include "ridgeline/analyzer/accounting.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "accounting/host_calls.h"
#include "intervals.h"

namespace ridgeline::analyzer {

namespace {

store::Id busiest_device(const Model& model, const RepresentativeStep& step) {
  std::map<store::Id, std::int64_t> time;
  for (const LaunchIndex index : step.launches) {
    time[model.launches[index].device_id] += duration_ns(model.launches[index]);
  }
  const auto most = std::max_element(time.begin(), time.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time.end() ? 0 : most->first;
}

struct Work {
  std::vector<Interval> kernels, communication, computation, copies, memsets, foreign;
  std::unordered_map<std::int64_t, LaunchIndex> launch_starting_at;
  std::unordered_map<std::int64_t, LaunchIndex> launch_ending_at;
  std::unordered_map<std::int64_t, std::size_t> copy_starting_at, set_starting_at;
};

// The launch that starts at this moment, on the device if there is one: the next step's first.
std::optional<LaunchIndex> launch_at(const Model& model, store::Id process_id, store::Id device_id,
                                     std::int64_t time_ns) {
  std::optional<LaunchIndex> found;
  auto launch = std::lower_bound(
      model.launches.begin(), model.launches.end(), std::tie(process_id, time_ns),
      [](const store::Launch& row, const auto& key) { return std::tie(row.process_id, row.start_ns) < key; });
  for (; launch != model.launches.end() && launch->process_id == process_id && launch->start_ns == time_ns;
       ++launch) {
    const auto index = static_cast<LaunchIndex>(launch - model.launches.begin());
    if (launch->device_id == device_id) return index;
    if (!found) found = index;
  }
  return found;
}

// The call of the launch that follows other work, whose own call is not known. That work was called before it: if this
// launch was called after the device fell idle, so was the work, or it would have begun at once.
std::optional<HostCall> call_behind(const Model& model, store::Id process_id, std::int64_t correlation_id,
                                    const Gap& gap, const AccountingOptions& options) {
  if (gap.end_ns - gap.start_ns <= options.launch_latency_ns) return std::nullopt;
  constexpr int kMostLooked = 16;  // in order of time, which with several streams is not that of the calls
  auto launch = std::lower_bound(
      model.launches.begin(), model.launches.end(), std::tie(process_id, gap.end_ns),
      [](const store::Launch& row, const auto& key) { return std::tie(row.process_id, row.start_ns) < key; });
  for (int i = 0; i < kMostLooked && launch != model.launches.end() && launch->process_id == process_id;
       ++i, ++launch) {
    if (launch->correlation_id <= correlation_id) continue;
    const std::optional<HostCall> call = HostCalls::of_launch(*launch);
    return call && call->start_ns > gap.start_ns ? call : std::nullopt;
  }
  return std::nullopt;
}

GapKind classify(const std::optional<HostCall>& next, std::int64_t gap_start_ns, std::int64_t gap_ns,
                 const AccountingOptions& options) {
  if (!next) return GapKind::unknown;
  if (next->start_ns > gap_start_ns) return GapKind::host_bound;
  if (next->end_ns && *next->end_ns > gap_start_ns) return GapKind::launch_bound;
  return gap_ns <= options.launch_latency_ns ? GapKind::launch_bound : GapKind::queued;
}

// The call that ended a gap, and what its thread did before it.
void explain(const std::optional<HostCall>& next, const HostCalls& host, const AccountingOptions& options,
             Gap& gap) {
  const std::int64_t length_ns = gap.end_ns - gap.start_ns;
  gap.kind = classify(next, gap.start_ns, length_ns, options);
  if (!next) return;
  gap.thread_id = next->thread_id;
  if (gap.kind != GapKind::host_bound || !next->thread_id || !host.waits_recorded()) return;
  const HostCalls::Waited waited =
      host.waited(*next->thread_id, {gap.start_ns, std::min(next->start_ns, gap.end_ns)});
  gap.synchronisation_ns = waited.total_ns;
  gap.wait = waited.longest;
  if (waited.total_ns >= length_ns - waited.total_ns) gap.kind = GapKind::synchronisation;
}

void add_gap(const Gap& gap, Accounting& accounting) {
  const std::int64_t length = gap.end_ns - gap.start_ns;
  switch (gap.kind) {
    case GapKind::launch_bound:
      accounting.gap_launch_bound_ns += length;
      break;
    case GapKind::host_bound:
    case GapKind::synchronisation:
      accounting.gap_host_bound_ns += length - gap.synchronisation_ns;
      if (accounting.gap_synchronisation_ns) *accounting.gap_synchronisation_ns += gap.synchronisation_ns;
      break;
    case GapKind::queued:
      accounting.gap_queued_ns += length;
      break;
    case GapKind::unknown:
      accounting.gap_unknown_ns += length;
      break;
    case GapKind::tail:
      accounting.gap_tail_ns += length;
      break;
  }
  accounting.gap_total_ns += length;
  accounting.gaps.push_back(gap);
}

std::vector<bool> marked(const std::vector<std::size_t>& indices, std::size_t size) {
  std::vector<bool> marks(size, false);
  for (const std::size_t index : indices) marks[index] = true;
  return marks;
}

}  // namespace

std::string_view to_string(GapKind kind) {
  switch (kind) {
    case GapKind::launch_bound:
      return "launch_bound";
    case GapKind::host_bound:
      return "host_bound";
    case GapKind::synchronisation:
      return "synchronisation";
    case GapKind::queued:
      return "queued";
    case GapKind::unknown:
      return "unknown";
    case GapKind::tail:
      return "tail";
  }
  return "unknown";
}

Accounting account_step(const Model& model, const StepAnalysis& steps, const AccountingOptions& options,
                        std::optional<store::Id> device_id) {
  const RepresentativeStep& step = steps.representative;
  Accounting accounting;
  accounting.process_id = steps.process_id;
  accounting.device_id = device_id.value_or(busiest_device(model, step));
  const Interval window{step.window_start_ns, step.window_end_ns};
  if (window.end_ns <= window.start_ns) return accounting;
  accounting.step_ns = window.end_ns - window.start_ns;

  for (const LaunchIndex index : step.launches) {
    const store::Launch& launch = model.launches[index];
    if (launch.device_id != accounting.device_id) continue;
    ++accounting.launches;
    if (!has_time(launch)) ++accounting.launches_without_time;
  }

  // What the device did in the step's time, whichever step launched it: the end of the step before may reach
  // in.
  Work work;
  std::set<std::int64_t> streams;
  const auto clip = [&](const auto& row) -> Interval {
    return {std::max(row.start_ns, window.start_ns), std::min(row.end_ns, window.end_ns)};
  };
  const auto here = [&](const auto& row) {
    return row.process_id == accounting.process_id && row.device_id == accounting.device_id &&
           row.start_ns > 0 && row.end_ns > window.start_ns && row.start_ns < window.end_ns &&
           row.end_ns > row.start_ns;
  };
  const auto note = [&](const auto& row, const Interval& part, bool own) {
    streams.insert(row.stream_id);
    if (!own) work.foreign.push_back(part);
  };
  const std::vector<bool> own_launches = marked(step.launches, model.launches.size());
  const std::vector<bool> own_copies = marked(step.memcpys, model.memcpys.size());
  const std::vector<bool> own_sets = marked(step.memsets, model.memsets.size());
  for (LaunchIndex i = 0; i < model.launches.size(); ++i) {
    const store::Launch& launch = model.launches[i];
    if (!here(launch)) continue;
    const Interval part = clip(launch);
    const bool communicates = model.kernel_class(launch) == "communication";
    note(launch, part, own_launches[i]);
    work.kernels.push_back(part);
    (communicates ? work.communication : work.computation).push_back(part);
    accounting.kernel_sum_ns += part.end_ns - part.start_ns;
    if (communicates) accounting.communication_sum_ns += part.end_ns - part.start_ns;
    // Of launches that begin together, one whose call is known explains the gap best.
    const auto [place, fresh] = work.launch_starting_at.emplace(part.start_ns, i);
    if (!fresh && !model.launches[place->second].host_start_ns) place->second = i;
    work.launch_ending_at[part.end_ns] = i;
  }
  for (std::size_t i = 0; i < model.memcpys.size(); ++i) {
    const store::Memcpy& copy = model.memcpys[i];
    if (!here(copy)) continue;
    const Interval part = clip(copy);
    note(copy, part, own_copies[i]);
    work.copies.push_back(part);
    work.copy_starting_at.emplace(part.start_ns, i);
    accounting.copy_sum_ns += part.end_ns - part.start_ns;
    accounting.copy_bytes += copy.bytes;
  }
  for (std::size_t i = 0; i < model.memsets.size(); ++i) {
    const store::Memset& set = model.memsets[i];
    if (!here(set)) continue;
    const Interval part = clip(set);
    note(set, part, own_sets[i]);
    work.memsets.push_back(part);
    work.set_starting_at.emplace(part.start_ns, i);
    accounting.memset_sum_ns += part.end_ns - part.start_ns;
    accounting.memset_bytes += set.bytes;
  }
  accounting.stream_count = static_cast<std::int64_t>(streams.size());

  const IntervalSet kernels = make_union(work.kernels);
  const IntervalSet copies = make_union(work.copies);
  const IntervalSet kernels_copies = unite(kernels, copies);
  const IntervalSet memsets = make_union(work.memsets);
  const IntervalSet busy = unite(kernels_copies, memsets);
  accounting.kernel_busy_ns = total_ns(kernels);
  accounting.kernel_overlap_ns = accounting.kernel_sum_ns - accounting.kernel_busy_ns;
  accounting.copy_exposed_ns = total_ns(subtract(copies, kernels));
  accounting.copy_hidden_ns = total_ns(copies) - accounting.copy_exposed_ns;
  accounting.memset_exposed_ns = total_ns(subtract(memsets, kernels_copies));
  const IntervalSet communication = make_union(work.communication);
  accounting.communication_exposed_ns = total_ns(subtract(communication, make_union(work.computation)));
  accounting.communication_hidden_ns = total_ns(communication) - accounting.communication_exposed_ns;
  accounting.foreign_busy_ns = total_ns(make_union(work.foreign));

  const HostCalls host(model, accounting.process_id, window);
  if (host.waits_recorded()) accounting.gap_synchronisation_ns = 0;
  for (const Interval& idle : subtract({window}, busy)) {
    Gap gap{.start_ns = idle.start_ns, .end_ns = idle.end_ns};
    if (const auto found = work.launch_ending_at.find(idle.start_ns); found != work.launch_ending_at.end()) {
      gap.before = found->second;
    }
    if (const auto found = work.launch_starting_at.find(idle.end_ns);
        found != work.launch_starting_at.end()) {
      gap.after = found->second;
    }
    // What ended the gap at the step's end is the next step's.
    const bool at_end = idle.end_ns == window.end_ns;
    if (at_end) gap.after = launch_at(model, accounting.process_id, accounting.device_id, window.end_ns);
    std::optional<HostCall> next;
    if (gap.after) {
      next = HostCalls::of_launch(model.launches[*gap.after]);
    } else if (const auto copy = work.copy_starting_at.find(idle.end_ns);
               copy != work.copy_starting_at.end()) {
      next = host.of_copy(model.memcpys[copy->second]);
      if (!next)
        next = call_behind(model, accounting.process_id, model.memcpys[copy->second].correlation_id, gap,
                           options);
    } else if (const auto set = work.set_starting_at.find(idle.end_ns); set != work.set_starting_at.end()) {
      next =
          call_behind(model, accounting.process_id, model.memsets[set->second].correlation_id, gap, options);
    }
    explain(next, host, options, gap);
    if (at_end && gap.kind == GapKind::unknown) gap.kind = GapKind::tail;
    add_gap(gap, accounting);
  }
  accounting.remainder_ns = accounting.step_ns - accounting.kernel_busy_ns - accounting.copy_exposed_ns -
                            accounting.memset_exposed_ns - accounting.gap_total_ns;
  return accounting;
}

const Gap* longest_gap(const Accounting& accounting) {
  const auto longest = std::max_element(
      accounting.gaps.begin(), accounting.gaps.end(),
      [](const Gap& a, const Gap& b) { return a.end_ns - a.start_ns < b.end_ns - b.start_ns; });
  return longest == accounting.gaps.end() ? nullptr : &*longest;
}

void add_to(Accounting& sum, const Accounting& other) {
  if (other.gap_synchronisation_ns)
    sum.gap_synchronisation_ns = sum.gap_synchronisation_ns.value_or(0) + *other.gap_synchronisation_ns;
  for (std::int64_t Accounting::*part : {&Accounting::step_ns,
                                         &Accounting::kernel_sum_ns,
                                         &Accounting::kernel_busy_ns,
                                         &Accounting::kernel_overlap_ns,
                                         &Accounting::copy_sum_ns,
                                         &Accounting::copy_exposed_ns,
                                         &Accounting::copy_hidden_ns,
                                         &Accounting::copy_bytes,
                                         &Accounting::memset_sum_ns,
                                         &Accounting::memset_exposed_ns,
                                         &Accounting::memset_bytes,
                                         &Accounting::communication_sum_ns,
                                         &Accounting::communication_exposed_ns,
                                         &Accounting::communication_hidden_ns,
                                         &Accounting::gap_launch_bound_ns,
                                         &Accounting::gap_host_bound_ns,
                                         &Accounting::gap_queued_ns,
                                         &Accounting::gap_unknown_ns,
                                         &Accounting::gap_tail_ns,
                                         &Accounting::gap_total_ns,
                                         &Accounting::remainder_ns,
                                         &Accounting::launches,
                                         &Accounting::launches_without_time,
                                         &Accounting::foreign_busy_ns}) {
    sum.*part += other.*part;
  }
  sum.stream_count = std::max(sum.stream_count, other.stream_count);
  sum.gaps.insert(sum.gaps.end(), other.gaps.begin(), other.gaps.end());
}

}  // namespace ridgeline::analyzer
