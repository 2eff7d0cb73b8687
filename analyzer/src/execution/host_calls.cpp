#include "execution/host_calls.h"

#include <algorithm>
#include <tuple>

namespace ridgeline::analyzer {

HostCalls::HostCalls(const Model& model, store::Id process_id, const TimeWindow& window)
    : model_(model), process_id_(process_id) {
  waits_recorded_ = std::any_of(model.recording_windows.begin(), model.recording_windows.end(),
                                [&](const store::RecordingWindow& recorded) {
                                  return recorded.synchronisation && recorded.process_id == process_id &&
                                         recorded.start_ns < window.end_ns &&
                                         (!recorded.end_ns || *recorded.end_ns > window.start_ns);
                                });
  for (std::size_t i = 0; i < model.synchronisations.size(); ++i) {
    const store::Synchronisation& wait = model.synchronisations[i];
    if (wait.process_id == process_id && wait.start_ns < window.end_ns && wait.end_ns() > window.start_ns)
      by_correlation_.emplace(wait.correlation_id, i);
  }
}

std::optional<HostCall> HostCalls::of_launch(const Launches& launches, LaunchIndex index) {
  const Launches::Row& row = launches.row(index);
  if (row.host_start_ns == Launches::Row::kAbsent) return std::nullopt;
  HostCall call{row.host_start_ns, {}, launches.site(index).thread_id};
  if (row.host_end_ns != Launches::Row::kAbsent) call.end_ns = row.host_end_ns;
  return call;
}

std::optional<HostCall> HostCalls::of_copy(const store::Memcpy& copy) const {
  const auto found = by_correlation_.find(copy.correlation_id);
  if (found == by_correlation_.end()) return std::nullopt;
  const store::Synchronisation& call = model_.synchronisations[found->second];
  return HostCall{call.start_ns, call.end_ns(), call.thread_id};
}

HostCalls::Waited HostCalls::waited(std::int64_t thread_id, const TimeWindow& time) const {
  Waited waited;
  const auto& waits = model_.synchronisations;
  const auto key = std::tuple(process_id_, thread_id, time.start_ns);
  auto wait = std::upper_bound(waits.begin(), waits.end(), key, [](const auto& at, const auto& row) {
    return at < std::tie(row.process_id, row.thread_id, row.start_ns);
  });
  if (wait != waits.begin()) --wait;  // may reach in; those of one thread do not overlap
  std::int64_t max_ns = 0;
  for (; wait != waits.end(); ++wait) {
    const auto row = std::tie(wait->process_id, wait->thread_id);
    if (row > std::tie(process_id_, thread_id)) break;
    if (row < std::tie(process_id_, thread_id)) continue;
    if (wait->start_ns >= time.end_ns) break;
    const std::int64_t part_ns =
        std::min(wait->end_ns(), time.end_ns) - std::max(wait->start_ns, time.start_ns);
    if (part_ns <= 0) continue;
    waited.total_ns += part_ns;
    if (part_ns <= max_ns) continue;
    max_ns = part_ns;
    waited.longest = Wait{wait->call, wait->duration_ns};
  }
  return waited;
}

}  // namespace ridgeline::analyzer
