#include "timeline/timeline_scene.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "models/table_model.h"
#include "models/text.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::gui {

const EventName& gap_name(analyzer::GapKind kind) {
  using analyzer::GapKind;
  static const std::vector<EventName> kNames = [] {
    std::vector<EventName> names;
    for (const GapKind each : {GapKind::launch_bound, GapKind::host_bound, GapKind::synchronisation,
                               GapKind::queued, GapKind::unknown, GapKind::tail}) {
      names.push_back({"gap: " + reports::gap_words(each), EventName::Kind::gap, KernelClass::other, 0,
                       static_cast<int>(each)});
    }
    return names;
  }();
  return kNames.at(static_cast<std::size_t>(kind));
}

void TimelineScene::set_data(std::shared_ptr<const TimelineData> data) {
  data_ = std::move(data);
  gather();
}

void TimelineScene::set_gaps(const analyzer::Accounting& accounting) {
  auto row = std::make_shared<TimelineRow>();
  row->kind = RowKind::gaps;
  row->id = "gaps";
  row->label = "Gaps by cause";
  row->help = "Stretches of the analysed steps in which the device did nothing, by what it waited for";
  row->process_id = accounting.process_id;
  row->device_id = accounting.device_id;
  for (const analyzer::Gap& gap : accounting.gaps)
    row->events.add(gap.start_ns, gap.end_ns, static_cast<std::uint32_t>(gap.kind));
  row->events.finish();
  gaps_ = std::move(row);
  gather();
}

void TimelineScene::gather() {
  rows_.clear();
  bool placed = gaps_ == nullptr;
  for (const TimelineRow& row : data_->rows) {
    if (!placed && (row.kind == RowKind::kernels || row.kind == RowKind::copies) &&
        row.process_id == gaps_->process_id) {
      rows_.push_back(gaps_.get());
      placed = true;
    }
    rows_.push_back(&row);
  }
  apply_arrangement();
  set_kernel(kernel_);
  search(search_);
}

const EventName& TimelineScene::name_of(const EventPlace& place) const {
  const TimelineRow& line = row(place.row);
  const std::uint32_t name = line.events.name(place.event);
  return line.kind == RowKind::gaps ? gap_name(static_cast<analyzer::GapKind>(name)) : data_->names[name];
}

TimeWindow TimelineScene::time_of(const EventPlace& place) const {
  const EventRow& events = row(place.row).events;
  return {events.start_ns(place.event), events.end_ns(place.event)};
}

void TimelineScene::arrange(RowArrangement arrangement) {
  arrangement_ = std::move(arrangement);
  apply_arrangement();
}

bool TimelineScene::is_shown(std::size_t row) const {
  const TimelineRow& line = *rows_[row];
  return line.secondary ? arrangement_.shown.contains(line.id) : !arrangement_.hidden.contains(line.id);
}

void TimelineScene::apply_arrangement() {
  order_.clear();
  std::vector<bool> taken(rows_.size());
  for (const std::string& id : arrangement_.order) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (taken[i] || rows_[i]->id != id) continue;
      order_.push_back(i);
      taken[i] = true;
    }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!taken[i]) order_.push_back(i);
  }
  pinned_.clear();
  scrolling_.clear();
  for (const std::size_t i : order_) {
    if (!is_shown(i)) continue;
    (arrangement_.pinned.contains(rows_[i]->id) ? pinned_ : scrolling_).push_back(i);
  }
}

void TimelineScene::set_hidden(std::size_t row, bool hidden) {
  const TimelineRow& line = *rows_[row];
  std::set<std::string>& ids = line.secondary ? arrangement_.shown : arrangement_.hidden;
  if (hidden == line.secondary) {
    ids.erase(line.id);
  } else {
    ids.insert(line.id);
  }
  apply_arrangement();
}

void TimelineScene::set_pinned(std::size_t row, bool pinned) {
  if (pinned) {
    arrangement_.pinned.insert(rows_[row]->id);
  } else {
    arrangement_.pinned.erase(rows_[row]->id);
  }
  apply_arrangement();
}

void TimelineScene::move(std::size_t row, int by) {
  const bool pinned = arrangement_.pinned.contains(rows_[row]->id);
  const std::vector<std::size_t>& among = pinned ? pinned_ : scrolling_;
  const auto at = std::find(among.begin(), among.end(), row) - among.begin();
  const auto to = at + by;
  if (to < 0 || to >= static_cast<std::ptrdiff_t>(among.size())) return;
  std::vector<std::size_t> order = order_;
  std::iter_swap(std::find(order.begin(), order.end(), row),
                 std::find(order.begin(), order.end(), among[static_cast<std::size_t>(to)]));
  arrangement_.order.clear();
  for (const std::size_t i : order) arrangement_.order.push_back(rows_[i]->id);
  apply_arrangement();
}

void TimelineScene::show_all() {
  arrangement_.hidden.clear();
  for (const TimelineRow* row : rows_) {
    if (row->secondary) arrangement_.shown.insert(row->id);
  }
  apply_arrangement();
}

TimelineScene::Indices TimelineScene::events_named(const std::vector<bool>& names) const {
  Indices indices(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const TimelineRow& line = *rows_[r];
    if (line.kind == RowKind::gaps) continue;
    for (std::size_t i = 0; i < line.events.size(); ++i) {
      if (names[line.events.name(i)]) indices[r].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return indices;
}

void TimelineScene::set_kernel(const KernelChoice& kernel) {
  kernel_ = kernel;
  if (kernel.empty()) {
    marked_.assign(rows_.size(), {});
    return;
  }
  std::vector<bool> names(data_->names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EventName& name = data_->names[i];
    names[i] = name.kind == EventName::Kind::kernel && kernel.holds(name.kernel_id);
  }
  marked_ = events_named(names);
}

void TimelineScene::search(const QString& text) {
  search_ = text;
  if (text.isEmpty()) {
    found_.assign(rows_.size(), {});
    return;
  }
  const QRegularExpression pattern = pattern_of(text);
  std::vector<bool> names(data_->names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = pattern.match(shown(data_->names[i].text)).hasMatch();
  found_ = events_named(names);
}

std::int64_t TimelineScene::found_count() const {
  std::int64_t count = 0;
  for (std::size_t row = 0; row < found_.size(); ++row) {
    if (is_shown(row)) count += static_cast<std::int64_t>(found_[row].size());
  }
  return count;
}

std::optional<EventPlace> TimelineScene::first_after(const Indices& indices, std::int64_t ns) const {
  std::optional<EventPlace> best;
  for (std::size_t r = 0; r < indices.size(); ++r) {
    if (!is_shown(r)) continue;
    const EventRow& events = rows_[r]->events;
    const auto next =
        std::upper_bound(indices[r].begin(), indices[r].end(), ns,
                         [&](std::int64_t at, std::uint32_t i) { return at < events.start_ns(i); });
    if (next == indices[r].end()) continue;
    if (!best || events.start_ns(*next) < time_of(*best).start_ns) best = EventPlace{r, *next};
  }
  return best;
}

std::optional<EventPlace> TimelineScene::last_before(const Indices& indices, std::int64_t ns) const {
  std::optional<EventPlace> best;
  for (std::size_t r = 0; r < indices.size(); ++r) {
    if (!is_shown(r)) continue;
    const EventRow& events = rows_[r]->events;
    const auto next =
        std::lower_bound(indices[r].begin(), indices[r].end(), ns,
                         [&](std::uint32_t i, std::int64_t at) { return events.start_ns(i) < at; });
    if (next == indices[r].begin()) continue;
    const std::uint32_t before = *(next - 1);
    if (!best || events.start_ns(before) > time_of(*best).start_ns) best = EventPlace{r, before};
  }
  return best;
}

std::optional<EventPlace> TimelineScene::next_found(std::int64_t after_ns) const {
  return first_after(found_, after_ns);
}
std::optional<EventPlace> TimelineScene::previous_found(std::int64_t before_ns) const {
  return last_before(found_, before_ns);
}

TimelineScene::Indices TimelineScene::launches_named(store::Id kernel) const {
  Indices indices(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const TimelineRow& line = *rows_[r];
    if (line.kind != RowKind::kernels) continue;
    for (std::size_t i = 0; i < line.events.size(); ++i) {
      if (data_->names[line.events.name(i)].kernel_id == kernel)
        indices[r].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return indices;
}

std::optional<EventPlace> TimelineScene::next_launch(store::Id kernel, std::int64_t after_ns) const {
  return first_after(launches_named(kernel), after_ns);
}
std::optional<EventPlace> TimelineScene::previous_launch(store::Id kernel, std::int64_t before_ns) const {
  return last_before(launches_named(kernel), before_ns);
}

std::optional<EventPlace> TimelineScene::launch_at(const LaunchChoice& launch) const {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const TimelineRow& line = *rows_[r];
    if (line.kind != RowKind::kernels || line.device_id != launch.device_id) continue;
    const std::size_t i = line.events.at(launch.start_ns);
    if (i < line.events.size() && data_->names[line.events.name(i)].kernel_id == launch.kernel_id)
      return EventPlace{r, i};
  }
  return std::nullopt;
}

std::vector<std::pair<std::int64_t, std::int64_t>> TimelineScene::launches_of(const KernelChoice& kernel,
                                                                              std::size_t most) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> launches;
  std::vector<bool> names(data_->names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EventName& name = data_->names[i];
    names[i] = name.kind == EventName::Kind::kernel && kernel.holds(name.kernel_id);
  }
  for (const TimelineRow* line : rows_) {
    if (line->kind != RowKind::kernels) continue;
    for (std::size_t i = 0; i < line->events.size() && launches.size() < most; ++i) {
      if (names[line->events.name(i)])
        launches.emplace_back(line->events.start_ns(i), line->events.duration_ns(i));
    }
  }
  std::sort(launches.begin(), launches.end());
  return launches;
}

std::optional<std::int64_t> TimelineScene::edge_near(std::size_t row, std::int64_t ns,
                                                     std::int64_t reach_ns) const {
  const EventRow& events = rows_[row]->events;
  if (events.empty()) return std::nullopt;
  std::optional<std::int64_t> best;
  const auto consider = [&](std::int64_t edge) {
    if (std::abs(edge - ns) <= reach_ns && (!best || std::abs(edge - ns) < std::abs(*best - ns))) best = edge;
  };
  const std::size_t at = events.first_ending_after(ns);
  for (std::size_t i = at > 0 ? at - 1 : 0; i < std::min(at + 2, events.size()); ++i) {
    consider(events.start_ns(i));
    consider(events.end_ns(i));
  }
  return best;
}

}  // namespace ridgeline::gui
