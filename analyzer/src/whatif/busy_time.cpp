#include "whatif/busy_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace ridgeline::analyzer {

std::int64_t covered_ns(std::vector<TimeWindow> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t sum_ns = 0, end_ns = INT64_MIN;
  for (const TimeWindow& interval : intervals) {
    if (interval.end_ns <= std::max(interval.start_ns, end_ns)) continue;
    sum_ns += interval.end_ns - std::max(interval.start_ns, end_ns);
    end_ns = interval.end_ns;
  }
  return sum_ns;
}

BusyTime::BusyTime(const Model& model, const RepresentativeStep& step)
    : step_{step.window_start_ns, step.window_end_ns} {
  std::map<std::tuple<store::Id, std::int64_t, std::int64_t>, Intervals> streams;
  const auto add = [&](const auto& row, std::int64_t start_ns, std::int64_t end_ns, bool host_copy = false) {
    const TimeWindow part{std::clamp(start_ns, step_.start_ns, step_.end_ns),
                          std::clamp(end_ns, step_.start_ns, step_.end_ns)};
    all_.push_back(part);
    (host_copy ? host_copies_ : others_).push_back(part);
    streams[{row.device_id, row.context_id, row.stream_id}].push_back(part);
    return part;
  };
  for (const LaunchIndex i : step.launches) {
    const Launches::Row& row = model.launches.row(i);
    launches_.push_back(has_time(row) ? add(model.launches.site(i), row.start_ns, row.end_ns) : TimeWindow{});
  }
  for (const std::size_t i : step.memcpys) {
    const store::Memcpy& copy = model.memcpys[i];
    if (copy.start_ns <= 0 || copy.end_ns < copy.start_ns) continue;
    add(copy, copy.start_ns, copy.end_ns,
        copy.kind == CopyKind::host_to_device || copy.kind == CopyKind::device_to_host);
  }
  for (const std::size_t i : step.memsets) {
    const store::Memset& set = model.memsets[i];
    if (set.start_ns > 0 && set.end_ns >= set.start_ns) add(set, set.start_ns, set.end_ns);
  }
  Intervals ran = all_;
  std::sort(ran.begin(), ran.end());
  std::int64_t ended_ns = step_.start_ns;
  for (const TimeWindow& part : ran) {
    if (part.start_ns > ended_ns) idle_.push_back({ended_ns, part.start_ns});
    ended_ns = std::max(ended_ns, part.end_ns);
  }
  if (step_.end_ns > ended_ns) idle_.push_back({ended_ns, step_.end_ns});
  for (auto& [stream, work] : streams) {
    std::sort(work.begin(), work.end());
    std::int64_t end_ns = step_.start_ns;
    for (const TimeWindow& part : work) {
      if (part.start_ns > end_ns) pauses_ns_.push_back(part.start_ns - end_ns);
      end_ns = std::max(end_ns, part.end_ns);
    }
  }
}

std::int64_t BusyTime::pauses_beside_ns(const std::vector<double>& ratios) const {
  std::set<std::int64_t> starts_ns, ends_ns;
  for (std::size_t i = 0; i < std::min(ratios.size(), launches_.size()); ++i) {
    if (std::isnan(ratios[i]) || ratios[i] >= 0) continue;  // only what is removed is below 0
    starts_ns.insert(launches_[i].start_ns);
    ends_ns.insert(launches_[i].end_ns);
  }
  std::int64_t sum_ns = 0;
  for (const TimeWindow& pause : idle_) {
    if (starts_ns.contains(pause.end_ns) || ends_ns.contains(pause.start_ns)) sum_ns += pause.length_ns();
  }
  return sum_ns;
}

double BusyTime::bound_ns(const std::vector<double>& ratios, const StepChange& change) const {
  Intervals changed;
  double before_ns = 0, after_ns = 0;
  for (std::size_t i = 0; i < std::min(ratios.size(), launches_.size()); ++i) {
    if (std::isnan(ratios[i])) continue;
    changed.push_back(launches_[i]);
    const auto ns = static_cast<double>(launches_[i].length_ns());
    before_ns += ns;
    after_ns += ns * std::max(ratios[i], 0.0);
  }
  double bound_ns = 0;
  if (before_ns > 0)
    bound_ns += static_cast<double>(covered_ns(std::move(changed))) * (1 - after_ns / before_ns);
  bound_ns += static_cast<double>(pauses_beside_ns(ratios));
  if (change.as_graph) bound_ns += static_cast<double>(step_.length_ns() - covered_ns(all_));
  if (change.hide_copies && !host_copies_.empty()) {
    bound_ns += static_cast<double>(covered_ns(all_) - covered_ns(others_));
  }
  return bound_ns;
}

double BusyTime::naive_ns(const StepChange& change, std::int64_t graph_pause_ns) const {
  double sum_ns = 0;
  if (change.as_graph) {
    for (const std::int64_t pause_ns : pauses_ns_)
      sum_ns += static_cast<double>(std::max<std::int64_t>(pause_ns - graph_pause_ns, 0));
  }
  if (change.hide_copies) {
    for (const TimeWindow& copy : host_copies_) sum_ns += static_cast<double>(copy.length_ns());
  }
  return sum_ns;
}

}  // namespace ridgeline::analyzer
