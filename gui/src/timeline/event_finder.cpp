// event_finder.cpp: looks through all events of a timeline, by another thread than the window's.
#include <algorithm>
#include <map>

#include "models/table_model.h"
#include "models/text.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {
namespace {

constexpr std::size_t kAtOnce = 0x10000;  // events between two looks at whether the answer is still wanted

Failure cancelled() {
  return {ErrorKind::cancelled, "looking for events was cancelled"};
}

}  // namespace

std::vector<bool> EventFinder::names_of(const KernelChoice& kernel) const {
  std::vector<bool> names(data_->names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EventName& name = data_->names[i];
    names[i] = name.kind == EventName::Kind::kernel && kernel.holds(name.kernel_id);
  }
  return names;
}

Result<EventIndices> EventFinder::of_kernel(const KernelChoice& kernel, const std::stop_token& stop) const {
  return named(names_of(kernel), stop);
}

Result<EventIndices> EventFinder::matching(const QString& text, const std::stop_token& stop) const {
  std::vector<bool> names(data_->names.size());
  if (!text.isEmpty()) {
    const QRegularExpression pattern = pattern_of(text);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i % 1024 == 0 && stop.stop_requested()) return cancelled();
      names[i] = pattern.match(shown(data_->names[i].text)).hasMatch();
    }
  }
  Result<EventIndices> found = named(names, stop);
  if (!found || text.isEmpty()) return found;
  // Gaps have names of their own: "gap: CPU-bound".
  const QRegularExpression pattern = pattern_of(text);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r]->kind != RowKind::gaps) continue;
    const EventRow& gaps = rows_[r]->events;
    std::map<std::uint32_t, bool> kinds;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (i % kAtOnce == 0 && stop.stop_requested()) return cancelled();
      const auto [kind, first] = kinds.try_emplace(gaps.name(i), false);
      if (first)
        kind->second =
            pattern.match(shown(gap_name(static_cast<analyzer::GapKind>(kind->first)).text)).hasMatch();
      if (kind->second) found.value()[r].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return found;
}

Result<EventIndices> EventFinder::named(const std::vector<bool>& names, const std::stop_token& stop) const {
  EventIndices indices(rows_.size());
  if (std::find(names.begin(), names.end(), true) == names.end()) return indices;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const EventRow& events = rows_[r]->events;
    // Names of gaps are not the data's; a range on the GPU is found by the range itself.
    if (rows_[r]->kind == RowKind::gaps || rows_[r]->kind == RowKind::gpu_ranges) continue;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i % kAtOnce == 0 && stop.stop_requested()) return cancelled();
      if (names[events.name(i)]) indices[r].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return indices;
}

Result<EventFinder::Launches> EventFinder::launches_of(const KernelChoice& kernel, std::size_t most,
                                                       const std::stop_token& stop) const {
  Launches launches;
  const std::vector<bool> names = names_of(kernel);
  for (const TimelineRow* line : rows_) {
    if (line->kind != RowKind::kernels) continue;
    for (std::size_t i = 0; i < line->events.size() && launches.size() < most; ++i) {
      if (i % kAtOnce == 0 && stop.stop_requested()) return cancelled();
      if (names[line->events.name(i)])
        launches.emplace_back(line->events.start_ns(i), line->events.duration_ns(i));
    }
  }
  std::sort(launches.begin(), launches.end());
  return launches;
}

}  // namespace ridgeline::gui
