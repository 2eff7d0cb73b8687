#include "ridgeline/analyzer/accounting/accounting.h"

#include <algorithm>
#include <map>
#include <set>

#include "accounting/account.h"
#include "execution/host_calls.h"
#include "execution/sweep.h"

namespace ridgeline::analyzer {

namespace {

// What the step launched on one device.
struct DeviceLaunches {
  std::int64_t launches = 0;
  std::int64_t without_time = 0;
  std::int64_t time_ns = 0;
};

std::map<store::Id, DeviceLaunches> launches_by_device(const Model& model, const RepresentativeStep& step) {
  std::vector<DeviceLaunches> sites(model.launches.sites().size());
  for (const LaunchIndex index : step.launches) {
    const Launches::Row& launch = model.launches.row(index);
    DeviceLaunches& site = sites[launch.site];
    ++site.launches;
    if (has_time(launch)) {
      site.time_ns += launch.end_ns - launch.start_ns;
    } else {
      ++site.without_time;
    }
  }
  std::map<store::Id, DeviceLaunches> devices;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (sites[i].launches == 0) continue;
    DeviceLaunches& device = devices[model.launches.sites()[i].device_id];
    device.launches += sites[i].launches;
    device.without_time += sites[i].without_time;
    device.time_ns += sites[i].time_ns;
  }
  return devices;
}

store::Id busiest_device(const std::map<store::Id, DeviceLaunches>& devices) {
  const auto most = std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return a.second.time_ns < b.second.time_ns;
  });
  return most == devices.end() ? 0 : most->first;
}

// Of a window in which the process launched nothing: the one that its other launches are on.
store::Id busiest_device_of(const Model& model, store::Id process_id) {
  std::map<store::Id, DeviceLaunches> devices;
  for (LaunchIndex i = 0; i < model.launches.size(); ++i) {
    const Launches::Row& launch = model.launches.row(i);
    if (model.launches.site(i).process_id == process_id && has_time(launch))
      devices[model.launches.site(i).device_id].time_ns += launch.end_ns - launch.start_ns;
  }
  return busiest_device(devices);
}

// The launch that starts at this moment, on the device if there is one: the next step's first.
std::optional<LaunchIndex> launch_at(const Model& model, store::Id process_id, store::Id device_id,
                                     std::int64_t time_ns) {
  std::optional<LaunchIndex> found;
  for (LaunchIndex i = model.launches.first_from(process_id, time_ns);
       i < model.launches.size() && model.launches.site(i).process_id == process_id &&
       model.launches.row(i).start_ns == time_ns;
       ++i) {
    if (model.launches.site(i).device_id == device_id) return i;
    if (!found) found = i;
  }
  return found;
}

// What a device does first from a time on: the launch, or that something else comes before any.
struct NextWork {
  std::optional<LaunchIndex> launch;
  const store::Memcpy* copy = nullptr;
  const store::Memset* set = nullptr;
};

NextWork work_after(const Model& model, store::Id process_id, store::Id device_id, std::int64_t time_ns) {
  NextWork next;
  std::int64_t first_ns = INT64_MAX;
  for (LaunchIndex i = model.launches.first_from(process_id, time_ns);
       i < model.launches.size() && model.launches.site(i).process_id == process_id; ++i) {
    if (model.launches.site(i).device_id != device_id) continue;
    next.launch = i;
    first_ns = model.launches.row(i).start_ns;
    break;
  }
  const auto sooner = [&](const auto& row) {
    return row.process_id == process_id && row.device_id == device_id && row.start_ns >= time_ns &&
           row.start_ns < first_ns;
  };
  for (const store::Memcpy& copy : model.memcpys) {
    if (!sooner(copy)) continue;
    next = {.copy = &copy};
    first_ns = copy.start_ns;
  }
  for (const store::Memset& set : model.memsets) {
    if (!sooner(set)) continue;
    next = {.set = &set};
    first_ns = set.start_ns;
  }
  return next;
}

// The call of the launch that follows other work, whose own call is not known. That work was called before it: if this
// launch was called after the device fell idle, so was the work, or it would have begun at once.
std::optional<HostCall> call_behind(const Model& model, store::Id process_id, std::int64_t correlation_id,
                                    const Gap& gap, const AccountingOptions& options) {
  if (gap.end_ns - gap.start_ns <= options.launch_latency_ns) return std::nullopt;
  constexpr LaunchIndex kMaxExamined =
      16;  // in order of time, which with several streams is not that of the calls
  const LaunchIndex first = model.launches.first_from(process_id, gap.end_ns);
  for (LaunchIndex i = first; i < std::min(first + kMaxExamined, model.launches.size()) &&
                              model.launches.site(i).process_id == process_id;
       ++i) {
    if (model.launches.row(i).correlation_id <= correlation_id) continue;
    const std::optional<HostCall> call = HostCalls::of_launch(model.launches, i);
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

template <typename Indices>
std::vector<bool> marked(const Indices& indices, std::size_t size) {
  std::vector<bool> marks(size, false);
  for (const std::size_t index : indices) marks[index] = true;
  return marks;
}

// Goes through what the device did in the step's time, whichever step launched it (the end of the step before may
// reach in): launches, copies and memsets together in order of their begins, so that nothing is collected.
class StepSweep {
 public:
  StepSweep(const Model& model, const RepresentativeStep& step, const TimeWindow& window,
            const AccountingOptions& options, Accounting& accounting)
      : model_(model),
        window_(window),
        cut_from_time_(step.scope == ScopeKind::window),
        options_(options),
        accounting_(accounting),
        host_(model, accounting.process_id, window),
        range_(model.launches.near(accounting.process_id, window.start_ns, window.end_ns)),
        own_launches_(marked(step.launches, model.launches.size())),
        own_copies_(marked(step.memcpys, model.memcpys.size())),
        own_sets_(marked(step.memsets, model.memsets.size())),
        sweep_(window, [this](const TimeWindow& idle) { add_idle(idle); }) {
    for (const store::Launch& site : model.launches.sites()) {
      sites_.push_back({site.process_id == accounting.process_id && site.device_id == accounting.device_id,
                        model.kernel_class(site) == KernelClass::communication, false});
    }
  }

  void run() {
    if (host_.waits_recorded()) accounting_.gap_synchronisation_ns = 0;
    launch_ = next_launch(range_.first);
    copy_ = next(model_.memcpys, 0);
    set_ = next(model_.memsets, 0);
    // Memory is taken when it is written: too much does no harm, and growing would copy.
    accounting_.gaps.reserve(range_.last - range_.first + model_.memcpys.size() + model_.memsets.size() + 1);
    for (;;) {
      const std::int64_t launch_ns =
          launch_ < range_.last ? model_.launches.row(launch_).start_ns : INT64_MAX;
      const std::int64_t copy_ns = start_of(model_.memcpys, copy_);
      const std::int64_t set_ns = start_of(model_.memsets, set_);
      if (launch_ < range_.last && launch_ns <= copy_ns && launch_ns <= set_ns) {
        add_launch();
        launch_ = next_launch(launch_ + 1);
      } else if (copy_ < model_.memcpys.size() && copy_ns <= set_ns) {
        add_copy(model_.memcpys[copy_], own_copies_[copy_]);
        copy_ = next(model_.memcpys, copy_ + 1);
      } else if (set_ < model_.memsets.size()) {
        add_set(model_.memsets[set_], own_sets_[set_]);
        set_ = next(model_.memsets, set_ + 1);
      } else {
        break;
      }
    }
    sweep_.finish();
    accounting_.stream_count = static_cast<std::int64_t>(streams_.size());
    sum_up();
  }

 private:
  struct Site {
    bool here = false;  // of the process and the device
    bool communicates = false;
    bool stream_known = false;
  };

  template <typename Row>
  TimeWindow clip(const Row& row) const {
    return {std::max(row.start_ns, window_.start_ns), std::min(row.end_ns, window_.end_ns)};
  }
  template <typename Row>
  bool in_window(const Row& row) const {
    return row.start_ns > 0 && row.end_ns > window_.start_ns && row.start_ns < window_.end_ns &&
           row.end_ns > row.start_ns;
  }
  LaunchIndex next_launch(LaunchIndex i) const {
    while (i < range_.last &&
           (!sites_[model_.launches.row(i).site].here || !in_window(model_.launches.row(i))))
      ++i;
    return i;
  }
  template <typename Row>
  std::size_t next(const std::vector<Row>& rows, std::size_t i) const {
    while (i < rows.size() && (rows[i].process_id != accounting_.process_id ||
                               rows[i].device_id != accounting_.device_id || !in_window(rows[i])))
      ++i;
    return i;
  }
  template <typename Row>
  static std::int64_t start_of(const std::vector<Row>& rows, std::size_t i) {
    return i < rows.size() ? rows[i].start_ns : INT64_MAX;
  }

  void add_launch() {
    const Launches::Row& launch = model_.launches.row(launch_);
    Site& site = sites_[launch.site];
    const TimeWindow part = clip(launch);
    const std::int64_t length_ns = part.end_ns - part.start_ns;
    if (!site.stream_known) streams_.insert(model_.launches.sites()[launch.site].stream_id);
    site.stream_known = true;
    sweep_.add(part, (site.communicates ? ExecutionSweep::kCommunication : ExecutionSweep::kComputation) |
                         (own_launches_[launch_] ? 0U : ExecutionSweep::kForeign));
    accounting_.kernel_sum_ns += length_ns;
    if (site.communicates) accounting_.communication_sum_ns += length_ns;
    if (part.end_ns >= last_end_ns_) {
      last_end_ns_ = part.end_ns;
      last_to_end_ = launch_;
    }
  }
  void add_copy(const store::Memcpy& copy, bool own) {
    const TimeWindow part = clip(copy);
    streams_.insert(copy.stream_id);
    sweep_.add(part, ExecutionSweep::kCopy | (own ? 0U : ExecutionSweep::kForeign));
    accounting_.copy_sum_ns += part.end_ns - part.start_ns;
    accounting_.copy_bytes += copy.bytes;
  }
  void add_set(const store::Memset& set, bool own) {
    const TimeWindow part = clip(set);
    streams_.insert(set.stream_id);
    sweep_.add(part, ExecutionSweep::kMemset | (own ? 0U : ExecutionSweep::kForeign));
    accounting_.memset_sum_ns += part.end_ns - part.start_ns;
    accounting_.memset_bytes += set.bytes;
  }

  // The launch that begins then. Of launches that begin together, the first whose call is known explains a gap best.
  std::optional<LaunchIndex> next_launch_at(std::int64_t start_ns) const {
    std::optional<LaunchIndex> found;
    for (LaunchIndex i = launch_; i < range_.last && model_.launches.row(i).start_ns == start_ns;
         i = next_launch(i + 1)) {
      found = i;
      if (model_.launches.row(i).host_start_ns != Launches::Row::kAbsent) break;
    }
    return found;
  }
  std::optional<HostCall> call_that_ended(const Gap& gap) const {
    if (gap.after) return HostCalls::of_launch(model_.launches, *gap.after);
    if (start_of(model_.memcpys, copy_) == gap.end_ns) {
      const store::Memcpy& copy = model_.memcpys[copy_];
      const std::optional<HostCall> own = host_.of_copy(copy);
      return own ? own : call_behind(model_, accounting_.process_id, copy.correlation_id, gap, options_);
    }
    if (start_of(model_.memsets, set_) == gap.end_ns)
      return call_behind(model_, accounting_.process_id, model_.memsets[set_].correlation_id, gap, options_);
    return std::nullopt;
  }
  // A window that somebody chose ends anywhere: also within a gap, which is then what the whole of it is.
  std::optional<HostCall> call_behind_the_window(Gap& gap) const {
    const NextWork next = work_after(model_, accounting_.process_id, accounting_.device_id, window_.end_ns);
    gap.after = next.launch;
    if (next.launch) return HostCalls::of_launch(model_.launches, *next.launch);
    const std::optional<HostCall> own = next.copy != nullptr ? host_.of_copy(*next.copy) : std::nullopt;
    if (own || (next.copy == nullptr && next.set == nullptr)) return own;
    Gap whole = gap;  // with the part of it that comes after the window
    whole.end_ns = next.copy != nullptr ? next.copy->start_ns : next.set->start_ns;
    return call_behind(model_, accounting_.process_id,
                       next.copy != nullptr ? next.copy->correlation_id : next.set->correlation_id, whole,
                       options_);
  }
  void add_idle(const TimeWindow& idle) {
    Gap gap{.start_ns = idle.start_ns, .end_ns = idle.end_ns};
    if (last_end_ns_ == idle.start_ns) gap.before = last_to_end_;
    // What ended the gap at the step's end is the next step's.
    const bool at_end = idle.end_ns == window_.end_ns;
    if (at_end && cut_from_time_) {
      explain(call_behind_the_window(gap), host_, options_, gap);
    } else {
      gap.after = at_end ? launch_at(model_, accounting_.process_id, accounting_.device_id, window_.end_ns)
                         : next_launch_at(idle.end_ns);
      explain(call_that_ended(gap), host_, options_, gap);
    }
    if (at_end && gap.kind == GapKind::unknown) gap.kind = GapKind::tail;
    add_gap(gap, accounting_);
  }

  void sum_up() {
    using S = ExecutionSweep;
    accounting_.kernel_busy_ns = sweep_.time_ns([](unsigned kinds) { return (kinds & S::kKernel) != 0; });
    accounting_.kernel_overlap_ns = accounting_.kernel_sum_ns - accounting_.kernel_busy_ns;
    const auto split = [&](unsigned kind, unsigned before, std::int64_t& exposed_ns) {
      exposed_ns =
          sweep_.time_ns([&](unsigned kinds) { return (kinds & kind) != 0 && (kinds & before) == 0; });
      return sweep_.time_ns([&](unsigned kinds) { return (kinds & kind) != 0; }) - exposed_ns;
    };
    accounting_.copy_hidden_ns = split(S::kCopy, S::kKernel, accounting_.copy_exposed_ns);
    split(S::kMemset, S::kKernel | S::kCopy, accounting_.memset_exposed_ns);
    accounting_.communication_hidden_ns =
        split(S::kCommunication, S::kComputation, accounting_.communication_exposed_ns);
    accounting_.foreign_busy_ns = sweep_.time_ns([](unsigned kinds) { return (kinds & S::kForeign) != 0; });
  }

  const Model& model_;
  const TimeWindow window_;
  const bool cut_from_time_;  // the window's end is where somebody put it
  const AccountingOptions& options_;
  Accounting& accounting_;
  const HostCalls host_;
  const Launches::Range range_;
  const std::vector<bool> own_launches_, own_copies_, own_sets_;
  std::vector<Site> sites_;
  ExecutionSweep sweep_;
  std::set<std::int64_t> streams_;
  LaunchIndex launch_ = 0;  // what comes next
  std::size_t copy_ = 0, set_ = 0;
  std::int64_t last_end_ns_ = 0;
  std::optional<LaunchIndex> last_to_end_;
};

}  // namespace

Accounting account_step(const Model& model, const StepAnalysis& steps, const AccountingOptions& options,
                        std::optional<store::Id> device_id) {
  const RepresentativeStep& step = steps.representative;
  Accounting accounting;
  accounting.process_id = steps.process_id;
  accounting.scope = step.scope;
  const std::map<store::Id, DeviceLaunches> devices = launches_by_device(model, step);
  accounting.device_id = device_id         ? *device_id
                         : devices.empty() ? busiest_device_of(model, steps.process_id)
                                           : busiest_device(devices);
  const TimeWindow window{step.window_start_ns, step.window_end_ns};
  if (window.end_ns <= window.start_ns) return accounting;
  accounting.step_ns = window.end_ns - window.start_ns;

  if (const auto known = devices.find(accounting.device_id); known != devices.end()) {
    accounting.launches = known->second.launches;
    accounting.launches_without_time = known->second.without_time;
  }
  StepSweep(model, step, window, options, accounting).run();
  accounting.remainder_ns = accounting.step_ns - accounting.kernel_busy_ns - accounting.copy_exposed_ns -
                            accounting.memset_exposed_ns - accounting.gap_total_ns;
  return accounting;
}

std::optional<Gap> longest_gap(const Accounting& accounting) {
  const Gaps& gaps = accounting.gaps;
  if (gaps.empty()) return std::nullopt;
  std::size_t longest = 0;
  for (std::size_t i = 1; i < gaps.size(); ++i) {
    if (gaps.length_ns(i) > gaps.length_ns(longest)) longest = i;
  }
  return gaps[longest];
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
  sum.gaps.append(other.gaps);
}

Accounting account(const Model& model, const Selection& selection, const AccountingOptions& options,
                   std::optional<store::Id> device_id) {
  StepAnalysis steps = selection.steps;
  Accounting sum;
  for (const Selection::Part& part : selection.parts) {
    steps.representative = part.step;
    Accounting one = account_step(model, steps, options, device_id);
    if (!device_id) device_id = one.device_id;
    if (&part == &selection.parts.front()) {
      sum = std::move(one);
    } else {
      add_to(sum, one);
    }
  }
  return sum;
}

}  // namespace ridgeline::analyzer
