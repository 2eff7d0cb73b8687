// timeline_scene.h: what a timeline shows of its data: which rows in which order, which events are meant by the
// selection and by the search. No window, no pixels.
#pragma once

#include <QRegularExpression>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/selection.h"
#include "ridgeline/analyzer/accounting.h"
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

  [[nodiscard]] const RowArrangement& arrangement() const { return arrangement_; }
  void arrange(RowArrangement arrangement);
  void set_hidden(std::size_t row, bool hidden);
  void set_pinned(std::size_t row, bool pinned);
  /// Up (-1) or down (1) among the rows that are shown.
  void move(std::size_t row, int by);
  void show_all();
  /// Indices of rows as they are to be drawn.
  [[nodiscard]] const std::vector<std::size_t>& pinned_rows() const { return pinned_; }
  [[nodiscard]] const std::vector<std::size_t>& scrolling_rows() const { return scrolling_; }
  [[nodiscard]] bool is_shown(std::size_t row) const;

  /// Marks the events of these kernels. In each row they are indices in order.
  void set_kernel(const KernelChoice& kernel);
  [[nodiscard]] bool has_kernel() const { return !kernel_.empty(); }
  [[nodiscard]] const std::vector<std::uint32_t>& marked(std::size_t row) const { return marked_[row]; }
  /// Events whose name matches; "": none.
  void search(const QString& text);
  [[nodiscard]] const std::vector<std::uint32_t>& found(std::size_t row) const { return found_[row]; }
  [[nodiscard]] std::int64_t found_count() const;
  /// The first found event that starts after a time, in any row that is shown; or the last before it.
  [[nodiscard]] std::optional<EventPlace> next_found(std::int64_t after_ns) const;
  [[nodiscard]] std::optional<EventPlace> previous_found(std::int64_t before_ns) const;

  /// Launches of the kernel in the order of their begin, over all streams.
  [[nodiscard]] std::optional<EventPlace> next_launch(store::Id kernel, std::int64_t after_ns) const;
  [[nodiscard]] std::optional<EventPlace> previous_launch(store::Id kernel, std::int64_t before_ns) const;
  /// The launch that starts then.
  [[nodiscard]] std::optional<EventPlace> launch_at(const LaunchChoice& launch) const;
  /// Durations of all launches of these kernels, in order of time; at most so many.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> launches_of(const KernelChoice& kernel,
                                                                               std::size_t most) const;
  /// The begin or end of an event of that row nearest to a time, if within `reach_ns`.
  [[nodiscard]] std::optional<std::int64_t> edge_near(std::size_t row, std::int64_t ns,
                                                      std::int64_t reach_ns) const;

 private:
  using Indices = std::vector<std::vector<std::uint32_t>>;
  void gather();
  void apply_arrangement();
  [[nodiscard]] Indices events_named(const std::vector<bool>& names) const;
  [[nodiscard]] std::optional<EventPlace> first_after(const Indices& indices, std::int64_t ns) const;
  [[nodiscard]] std::optional<EventPlace> last_before(const Indices& indices, std::int64_t ns) const;
  [[nodiscard]] Indices launches_named(store::Id kernel) const;

  std::shared_ptr<const TimelineData> data_ = std::make_shared<const TimelineData>();
  std::shared_ptr<const TimelineRow> gaps_;
  std::vector<const TimelineRow*> rows_;
  RowArrangement arrangement_;
  std::vector<std::size_t> order_, pinned_, scrolling_;
  KernelChoice kernel_;
  QString search_;
  Indices marked_, found_;
};

/// "launch-bound gap", as it is called in the row of gaps.
[[nodiscard]] const EventName& gap_name(analyzer::GapKind kind);

}  // namespace ridgeline::gui
