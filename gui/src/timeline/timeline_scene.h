// timeline_scene.h: what a timeline shows of its data: which rows in which order, which events are meant by the
// selection and by the search. No window, no pixels.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "models/selection.h"
#include "ridgeline/analyzer/accounting/accounting.h"
#include "timeline/timeline_data.h"

namespace ridgeline::gui {

/// A place of an event: of which row, which one.
struct EventPlace {
  std::size_t row = 0;
  std::size_t event = 0;
  friend auto operator<=>(const EventPlace&, const EventPlace&) = default;
};

/// What people change about the rows; by TimelineRow::id, so that it holds for other captures too.
struct RowArrangement {
  std::vector<std::string> order;  ///< rows that were moved, from the top; others follow in their own order
  std::set<std::string> hidden;
  std::set<std::string> shown;   ///< secondary rows that were asked for
  std::set<std::string> pinned;  ///< stay at the top while the others scroll
  friend bool operator==(const RowArrangement&, const RowArrangement&) = default;
};

/// Of each row, events by their index, in order of time.
using EventIndices = std::vector<std::vector<std::uint32_t>>;

/// All events of a scene, to be looked through by another thread; it keeps what it looks at.
class EventFinder {
 public:
  EventFinder() = default;
  EventFinder(std::shared_ptr<const TimelineData> data, std::shared_ptr<const TimelineRow> gaps,
              std::vector<const TimelineRow*> rows)
      : data_(std::move(data)), gaps_(std::move(gaps)), rows_(std::move(rows)) {}

  /// The launches of these kernels, and the calls that launched them. Failure: cancelled.
  [[nodiscard]] Result<EventIndices> of_kernel(const KernelChoice& kernel,
                                               const std::stop_token& stop = {}) const;
  /// Events whose name matches; "": none. Failure: cancelled.
  [[nodiscard]] Result<EventIndices> matching(const QString& text, const std::stop_token& stop = {}) const;
  /// Begin and duration of the launches of these kernels, in order of time; at most so many. Failure: cancelled.
  using Launches = std::vector<std::pair<std::int64_t, std::int64_t>>;
  [[nodiscard]] Result<Launches> launches_of(const KernelChoice& kernel, std::size_t most,
                                             const std::stop_token& stop = {}) const;

 private:
  [[nodiscard]] std::vector<bool> names_of(const KernelChoice& kernel) const;
  [[nodiscard]] Result<EventIndices> named(const std::vector<bool>& names, const std::stop_token& stop) const;

  std::shared_ptr<const TimelineData> data_;
  std::shared_ptr<const TimelineRow> gaps_;  // one of the rows, which is not the data's
  std::vector<const TimelineRow*> rows_;
};

/// A line of the drawing: a row, or rows below each other that have nothing in view: counters, or rows of events.
struct RowLine {
  std::size_t row = 0;  ///< of several that are folded, the one that has something nearest to the view
  std::vector<std::size_t> folded =
      {};  ///< that the line stands for, `row` among them; empty: the row itself is drawn
};

class TimelineScene {
 public:
  /// The data of a capture; the arrangement stays.
  void set_data(std::shared_ptr<const TimelineData> data);
  /// Stretches in which the device did nothing, by cause; they are a row above the streams.
  void set_gaps(const analyzer::Accounting& accounting);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const TimeWindow& extent() const { return data_->extent; }
  [[nodiscard]] const TimelineData& data() const { return *data_; }
  [[nodiscard]] const std::shared_ptr<const TimelineData>& shared_data() const { return data_; }

  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  [[nodiscard]] const TimelineRow& row(std::size_t i) const { return *rows_[i]; }
  [[nodiscard]] const EventName& name_of(const EventPlace& place) const;
  [[nodiscard]] TimeWindow time_of(const EventPlace& place) const;
  /// The instance of an NVTX range that an event stands for, in a row of the host or of the GPU; empty: it is no range.
  [[nodiscard]] std::optional<RangeChoice> range_at(const EventPlace& place) const;

  [[nodiscard]] const RowArrangement& arrangement() const { return arrangement_; }
  void arrange(RowArrangement arrangement);
  void set_hidden(std::size_t row, bool hidden);
  void set_pinned(std::size_t row, bool pinned);
  /// Up (-1) or down (1) among the rows that are shown.
  void move(std::size_t row, int by);
  /// To that place among the pinned rows if it is pinned, else among those that scroll.
  void move_to(std::size_t row, std::size_t place);
  void show_all();
  /// Indices of rows as they are to be drawn.
  [[nodiscard]] const std::vector<std::size_t>& pinned_rows() const { return pinned_; }
  [[nodiscard]] const std::vector<std::size_t>& scrolling_rows() const { return scrolling_; }
  [[nodiscard]] bool is_shown(std::size_t row) const;
  /// Of each row, whether nothing of it is to be drawn: a counter without a sample in a stretch, or a row
  /// without an event in the steps that the stretch touches, so that rows do not come and go while somebody
  /// looks about in a step.
  [[nodiscard]] std::vector<bool> empty_rows(const TimeWindow& view) const;
  /// Pinned or scrolling rows as they are to be drawn, those that are `empty` folded.
  [[nodiscard]] std::vector<RowLine> lines(const std::vector<std::size_t>& rows,
                                           const std::vector<bool>& empty, const TimeWindow& view) const;
  /// The event nearest to a stretch that has none of the row, or where a counter was sampled; empty: nowhere, or in it.
  [[nodiscard]] std::optional<TimeWindow> elsewhere(std::size_t row, const TimeWindow& view) const;

  /// Looks through the rows as they are now. What it finds holds until the data or the gaps are others: then nothing is
  /// marked or found, until somebody asks again.
  [[nodiscard]] EventFinder finder() const { return {data_, gaps_, rows_}; }
  /// These events are marked as those of the chosen kernel.
  void set_marked(const KernelChoice& kernel, EventIndices marked);
  [[nodiscard]] bool has_kernel() const { return !kernel_.empty(); }
  [[nodiscard]] const std::vector<std::uint32_t>& marked(std::size_t row) const { return marked_[row]; }
  /// These match the search.
  void set_found(EventIndices found) { found_ = std::move(found); }
  [[nodiscard]] const std::vector<std::uint32_t>& found(std::size_t row) const { return found_[row]; }
  [[nodiscard]] std::int64_t found_count() const;
  /// The first found event that starts after a time, in any row that is shown; or the last before it.
  [[nodiscard]] std::optional<EventPlace> next_found(std::int64_t after_ns) const;
  [[nodiscard]] std::optional<EventPlace> previous_found(std::int64_t before_ns) const;

  /// Launches of the kernel in the order of their start, over all streams.
  [[nodiscard]] std::optional<EventPlace> next_launch(store::Id kernel, std::int64_t after_ns) const;
  [[nodiscard]] std::optional<EventPlace> previous_launch(store::Id kernel, std::int64_t before_ns) const;
  /// The launch that starts then.
  [[nodiscard]] std::optional<EventPlace> launch_at(const LaunchChoice& launch) const;
  /// The begin or end of an event of that row nearest to a time, if within `reach_ns`.
  [[nodiscard]] std::optional<std::int64_t> edge_near(std::size_t row, std::int64_t ns,
                                                      std::int64_t reach_ns) const;

 private:
  void gather();
  void apply_arrangement();

  std::shared_ptr<const TimelineData> data_ = std::make_shared<const TimelineData>();
  std::shared_ptr<const TimelineRow> gaps_;
  std::vector<const TimelineRow*> rows_;
  RowArrangement arrangement_;
  std::vector<std::size_t> order_, pinned_, scrolling_;
  KernelChoice kernel_;
  EventIndices marked_, found_;
};

/// NVTX ranges, on the host or on the GPU.
[[nodiscard]] inline bool is_of_ranges(RowKind kind) {
  return kind == RowKind::ranges || kind == RowKind::gpu_ranges;
}

/// "launch-bound gap", as it is called in the row of gaps.
[[nodiscard]] const EventName& gap_name(analyzer::GapKind kind);

}  // namespace ridgeline::gui
