#include "timeline/timeline_scene.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

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
  gaps_ = std::make_shared<const TimelineRow>(analyzer::gap_row(accounting));
  gather();
}

void TimelineScene::gather() {
  rows_.clear();
  bool placed = gaps_ == nullptr;
  for (const TimelineRow& row : data_->rows) {
    if (!placed &&
        (row.kind == RowKind::kernels || row.kind == RowKind::collectives || row.kind == RowKind::copies) &&
        row.process_id == gaps_->process_id) {
      rows_.push_back(gaps_.get());
      placed = true;
    }
    rows_.push_back(&row);
  }
  apply_arrangement();
  set_marked({}, EventIndices(rows_.size()));
  set_found(EventIndices(rows_.size()));
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

std::optional<RangeChoice> TimelineScene::range_at(const EventPlace& place) const {
  const TimelineRow& line = row(place.row);
  if (!is_of_ranges(line.kind)) return std::nullopt;
  const auto instance = analyzer::instance_of(*data_, line, place.event);
  const TimeWindow calls = instance ? instance->calls : time_of(place);
  return RangeChoice{line.process_id,
                     {line.thread_id, calls.start_ns, calls.end_ns, name_of(place).text},
                     instance ? instance->on_gpu : TimeWindow{}};
}

void TimelineScene::arrange(RowArrangement arrangement) {
  arrangement_ = std::move(arrangement);
  apply_arrangement();
}

bool TimelineScene::is_shown(std::size_t row) const {
  const TimelineRow& line = *rows_[row];
  return line.secondary ? arrangement_.shown.contains(line.id) : !arrangement_.hidden.contains(line.id);
}

std::vector<bool> TimelineScene::empty_rows(const TimeWindow& view) const {
  TimeWindow steps = view;
  for (const TimelineRow* row : rows_) {
    if (row->kind != RowKind::steps) continue;
    const EventRow& events = row->events;
    const std::size_t first = events.first_ending_after(view.start_ns), end = events.first_from(view.end_ns);
    if (first >= end) continue;
    steps = {std::min(steps.start_ns, events.start_ns(first)),
             std::max(steps.end_ns, events.end_ns(end - 1))};
  }
  std::vector<bool> empty(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const TimelineRow& row = *rows_[i];
    if (row.kind == RowKind::counter) {
      empty[i] = !row.counter.over(view).known;
    } else if (row.kind != RowKind::steps && row.kind != RowKind::gaps) {
      empty[i] = row.events.first_ending_after(steps.start_ns) >= row.events.first_from(steps.end_ns);
    }
  }
  return empty;
}

std::optional<TimeWindow> TimelineScene::elsewhere(std::size_t row, const TimeWindow& view) const {
  const TimelineRow& line = *rows_[row];
  if (line.kind == RowKind::counter) {
    if (line.counter.empty() || line.counter.over(view).known) return std::nullopt;
    const TimeWindow sampled = line.counter.extent();
    const bool between = sampled.start_ns < view.end_ns && sampled.end_ns > view.start_ns;
    return between ? std::nullopt : std::optional(sampled);
  }
  const EventRow& events = line.events;
  const std::size_t after = events.first_from(view.end_ns);
  std::optional<TimeWindow> nearest;
  if (after < events.size()) nearest = {events.start_ns(after), events.end_ns(after)};
  if (after > 0) {
    const TimeWindow before{events.start_ns(after - 1), events.end_ns(after - 1)};
    if (before.end_ns > view.start_ns) return std::nullopt;
    if (!nearest || view.start_ns - before.end_ns < nearest->start_ns - view.end_ns) nearest = before;
  }
  return nearest;
}

std::vector<RowLine> TimelineScene::lines(const std::vector<std::size_t>& rows,
                                          const std::vector<bool>& empty, const TimeWindow& view) const {
  const auto away_ns = [&](std::size_t row) {
    const auto place = elsewhere(row, view);
    if (!place) return INT64_MAX;
    return std::max(place->start_ns - view.end_ns, view.start_ns - place->end_ns);
  };
  std::vector<RowLine> lines;
  std::int64_t nearest_ns = 0;  // of the rows that the last line stands for
  for (const std::size_t row : rows) {
    const bool counter = rows_[row]->kind == RowKind::counter;
    if (!empty[row]) {
      lines.push_back({row, {}});
    } else if (lines.empty() || lines.back().folded.empty() ||
               (rows_[lines.back().row]->kind == RowKind::counter) != counter) {
      lines.push_back({row, {row}});
      nearest_ns = -1;
    } else {
      RowLine& line = lines.back();
      // Asked for only where it decides, and once of each row: thousands of rows may be folded.
      if (nearest_ns < 0) nearest_ns = away_ns(line.row);
      line.folded.push_back(row);
      const std::int64_t own_ns = nearest_ns == 0 ? INT64_MAX : away_ns(row);
      if (own_ns >= nearest_ns) continue;
      line.row = row;
      nearest_ns = own_ns;
    }
  }
  return lines;
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
  const std::vector<std::size_t>& among = arrangement_.pinned.contains(rows_[row]->id) ? pinned_ : scrolling_;
  const auto to = std::find(among.begin(), among.end(), row) - among.begin() + by;
  if (to >= 0 && to < static_cast<std::ptrdiff_t>(among.size())) move_to(row, static_cast<std::size_t>(to));
}

void TimelineScene::move_to(std::size_t row, std::size_t place) {
  const std::vector<std::size_t>& among = arrangement_.pinned.contains(rows_[row]->id) ? pinned_ : scrolling_;
  const auto from = static_cast<std::size_t>(std::find(among.begin(), among.end(), row) - among.begin());
  place = std::min(place, among.empty() ? 0 : among.size() - 1);
  if (from >= among.size() || place == from) return;
  // Before or after the row that has the place, whatever hidden rows lie between.
  const std::size_t there = among[place];
  std::vector<std::size_t> order = order_;
  std::erase(order, row);
  auto at = std::find(order.begin(), order.end(), there);
  if (place > from) ++at;
  order.insert(at, row);
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

void TimelineScene::set_marked(const KernelChoice& kernel, EventIndices marked) {
  kernel_ = kernel;
  marked_ = std::move(marked);
}

std::int64_t TimelineScene::found_count() const {
  std::int64_t count = 0;
  for (std::size_t row = 0; row < found_.size(); ++row) {
    if (is_shown(row)) count += static_cast<std::int64_t>(found_[row].size());
  }
  return count;
}

std::optional<EventPlace> TimelineScene::next_found(std::int64_t after_ns) const {
  std::optional<EventPlace> best;
  for (std::size_t r = 0; r < found_.size(); ++r) {
    if (!is_shown(r)) continue;
    const EventRow& events = rows_[r]->events;
    const auto next =
        std::upper_bound(found_[r].begin(), found_[r].end(), after_ns,
                         [&](std::int64_t at, std::uint32_t i) { return at < events.start_ns(i); });
    if (next == found_[r].end()) continue;
    if (!best || events.start_ns(*next) < time_of(*best).start_ns) best = EventPlace{r, *next};
  }
  return best;
}

std::optional<EventPlace> TimelineScene::previous_found(std::int64_t before_ns) const {
  std::optional<EventPlace> best;
  for (std::size_t r = 0; r < found_.size(); ++r) {
    if (!is_shown(r)) continue;
    const EventRow& events = rows_[r]->events;
    const auto next =
        std::lower_bound(found_[r].begin(), found_[r].end(), before_ns,
                         [&](std::uint32_t i, std::int64_t at) { return events.start_ns(i) < at; });
    if (next == found_[r].begin()) continue;
    const std::uint32_t before = *(next - 1);
    if (!best || events.start_ns(before) > time_of(*best).start_ns) best = EventPlace{r, before};
  }
  return best;
}

// From there on, row by row, no further than the best so far.
std::optional<EventPlace> TimelineScene::next_launch(store::Id kernel, std::int64_t after_ns) const {
  std::optional<EventPlace> best;
  std::int64_t best_ns = INT64_MAX;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const EventRow& events = rows_[r]->events;
    if (rows_[r]->kind != RowKind::kernels || !is_shown(r)) continue;
    for (std::size_t i = events.first_from(after_ns + 1); i < events.size() && events.start_ns(i) < best_ns;
         ++i) {
      if (data_->names[events.name(i)].kernel_id != kernel) continue;
      best = EventPlace{r, i};
      best_ns = events.start_ns(i);
    }
  }
  return best;
}

std::optional<EventPlace> TimelineScene::previous_launch(store::Id kernel, std::int64_t before_ns) const {
  std::optional<EventPlace> best;
  std::int64_t best_ns = INT64_MIN;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const EventRow& events = rows_[r]->events;
    if (rows_[r]->kind != RowKind::kernels || !is_shown(r)) continue;
    for (std::size_t i = events.first_from(before_ns); i > 0 && events.start_ns(i - 1) > best_ns; --i) {
      if (data_->names[events.name(i - 1)].kernel_id != kernel) continue;
      best = EventPlace{r, i - 1};
      best_ns = events.start_ns(i - 1);
    }
  }
  return best;
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
