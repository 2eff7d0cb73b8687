// timeline_view.h: the widget: lines over time, with a strip of everything above and the rows' names on the left.
// What is where is computed by TimeAxis and TimelineScene; this draws it and turns keys and mouse into changes of the
// shared selection.
#pragma once

#include <QCache>
#include <QScrollBar>
#include <QWidget>
#include <memory>

#include "models/key_map.h"
#include "models/selection.h"
#include "models/sidecar.h"
#include "models/worker.h"
#include "timeline/row_painter.h"
#include "timeline/time_axis.h"
#include "timeline/timeline_scene.h"

namespace ridgeline::gui {

/// From the call that launched a kernel to the kernel.
struct LaunchArrow {
  std::int64_t process_id = 0;
  std::int64_t thread_id = 0;
  std::int64_t call_start_ns = 0;
  std::int64_t call_end_ns = 0;
  LaunchChoice launch;
};

class TimelineView : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineView(Selection& selection, QWidget* parent = nullptr);
  ~TimelineView() override;

  [[nodiscard]] TimelineScene& scene() { return scene_; }
  [[nodiscard]] const TimelineScene& scene() const { return scene_; }
  /// After a change of the scene's data or rows.
  void scene_changed();
  /// Times are written from there; it is named on the left of the axis.
  void set_origin(std::int64_t ns, const QString& name);
  void set_step(const TimeWindow& step) { step_ = step; }
  void set_arrow(const std::optional<LaunchArrow>& arrow);
  void set_notes(std::vector<TimelineNote> notes);
  void add_note(std::int64_t time_ns, const std::string& row, const QString& text);
  /// No text removes it.
  void set_note(std::size_t note, const QString& text);
  /// The note whose flag is there.
  [[nodiscard]] std::optional<std::size_t> note_at(const QPoint& at) const;
  [[nodiscard]] const std::vector<TimelineNote>& notes() const { return notes_; }
  /// Looks for events beside the window; what was being looked for before is given up. "": shows none.
  void search(const QString& text);
  /// Whether the matches of the search are not known yet.
  [[nodiscard]] bool matching() const { return matching_; }
  /// Whether marks or matches are being looked for.
  [[nodiscard]] bool finding() const { return finder_.busy(); }
  /// Which key does what; it outlives the view. Without one, the standard keys hold.
  void set_keys(const KeyMap* keys) { keys_ = keys; }
  /// Does what the command of that name says; false: it is none of the timeline's.
  bool run(const QString& command);
  using Bookmarks = std::array<std::optional<TimeWindow>, 10>;
  [[nodiscard]] const Bookmarks& bookmarks() const { return bookmarks_; }
  void set_bookmarks(const Bookmarks& bookmarks) { bookmarks_ = bookmarks; }

  [[nodiscard]] TimeAxis axis() const;
  [[nodiscard]] int label_width() const { return label_width_; }
  /// What the names of its rows want.
  [[nodiscard]] int natural_label_width() const;
  /// Two timelines over each other have one axis only if their names are of one width.
  void set_min_label_width(int width);
  /// A row on the screen, in the widget's coordinates; labels included.
  struct Box {
    std::size_t row = 0;
    QRect rect;
    std::vector<std::size_t> folded =
        {};  ///< rows that it stands for, for none has anything in view; empty: the row
  };
  [[nodiscard]] std::vector<Box> boxes() const;
  [[nodiscard]] std::optional<std::size_t> row_at(int y) const;
  [[nodiscard]] std::optional<EventPlace> event_at(const QPoint& at) const;
  [[nodiscard]] QRect event_rect(const EventPlace& place) const;
  /// Scrolls and pans so that it is seen.
  void reveal(const EventPlace& place);
  void choose(const EventPlace& place);
  /// What the rows hold in a stretch, a line each.
  [[nodiscard]] QStringList statistics(const TimeWindow& range) const;
  /// What an instance of an NVTX range took on the host and on the GPU, a line each. What others ran in its time is not
  /// its own: that is in the panels, which ask for its launches.
  [[nodiscard]] QStringList about(const RangeChoice& instance) const;
  /// A sentence about an event.
  [[nodiscard]] QString describe(const EventPlace& place) const;

 public slots:
  void zoom(double factor);
  void pan(double share);
  void fit();
  void home();
  void zoom_to_range();
  void next_same();
  void previous_same();
  void next_match();
  void previous_match();
  void follow_flow();
  void next_event();
  void previous_event();
  void row_below();
  void row_above();
  void toggle_pin();
  /// The panels show all NVTX ranges called as the one under the mouse, else as the one that was chosen last.
  void choose_ranges();
  /// Asks for a note at the mouse.
  void mark();
  void clear_choice();

 signals:
  void arrangement_changed();
  void notes_changed();
  void bookmarks_changed();
  void found_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void enterEvent(QEnterEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Drag { none, range, pan, strip, strip_start, strip_end, labels };
  static constexpr int kStripHeight = 30;
  static constexpr int kAxisHeight = 20;
  static constexpr int kMaxNoteWidth = 260;  // pixels of a note's flag

  void paint_strip(QPainter& painter);
  void paint_axis(QPainter& painter);
  void paint_rows(QPainter& painter);
  void paint_label(QPainter& painter, const Box& box);
  void paint_counter_label(QPainter& painter, const Box& box, QRect& words);
  void paint_folded(QPainter& painter, const Box& box);
  void paint_overlays(QPainter& painter);
  void paint_arrow(QPainter& painter);
  void paint_instance(QPainter& painter);
  void paint_notes(QPainter& painter);
  void paint_statistics(QPainter& painter);
  [[nodiscard]] const QImage& row_image(std::size_t row, const TimeAxis& axis);
  [[nodiscard]] int top_of_rows() const;
  [[nodiscard]] const std::vector<RowLine>& lines(const std::vector<std::size_t>& rows) const;
  [[nodiscard]] int height_of(const std::vector<std::size_t>& rows) const;
  void update_scroll_bar();
  void update_label_width();
  void find_marks();
  void find_matches();
  void go_to_match(int direction);
  [[nodiscard]] std::optional<std::int64_t> chosen_in_view() const;
  [[nodiscard]] std::optional<EventPlace> first_found_in_view() const;
  void walk(int along, int across);
  void edit_note(std::size_t note);
  [[nodiscard]] QRectF note_rect(const TimelineNote& note) const;
  void drop_images();
  void drop_row(const QPoint& at);
  [[nodiscard]] std::optional<std::string> range_meant() const;
  [[nodiscard]] std::optional<std::size_t> drop_place(int y) const;
  void paint_drop(QPainter& painter);
  [[nodiscard]] std::int64_t snapped(const QPoint& at) const;
  [[nodiscard]] QRect graph_rect() const;
  [[nodiscard]] TimeAxis strip_axis() const;
  [[nodiscard]] Drag strip_part(int x) const;
  void show_view(const TimeWindow& view, Selection::Gesture gesture);
  void hover(const QPoint& at);
  bool show_elsewhere(const QPoint& at);
  bool position_key(const QKeyEvent& event);

  Selection& selection_;
  TimelineScene scene_;
  std::unique_ptr<RowPainter> painter_;
  QScrollBar* scroll_;
  int label_width_ = 190;
  int min_label_width_ = 0;
  std::int64_t origin_ns_ = 0;
  QString origin_name_;
  std::optional<TimeWindow> step_;
  std::optional<LaunchArrow> arrow_;
  std::optional<EventPlace> cursor_;  // what was chosen last, for keys
  std::vector<TimelineNote> notes_;
  const KeyMap* keys_ = nullptr;
  Bookmarks bookmarks_;
  QString search_;
  bool matching_ = false;
  int match_wanted_ = 0;  // which way to go as soon as the matches are known

  std::vector<std::pair<QImage, TimeWindow>> images_;  // of each row, and what they show
  QImage strip_;
  mutable std::pair<std::vector<bool>, TimeWindow> empty_rows_;  // of each row, in that view
  struct Lines {
    std::vector<std::size_t> rows;
    std::vector<RowLine> lines;
  };
  mutable std::array<Lines, 2> lines_;  // in that view, of the pinned rows and of those that scroll
  Drag drag_ = Drag::none;
  QPoint drag_from_;
  std::int64_t drag_from_ns_ = 0;
  TimeWindow drag_view_;
  std::optional<TimeWindow> dragged_;  // the range under way
  QPoint mouse_{-1, -1};
  std::optional<std::size_t> hovered_row_;
  std::optional<std::size_t> dragged_row_;  // by its name
  bool space_ = false;
  Worker finder_;  // last: what it is asked refers to the rest
};

}  // namespace ridgeline::gui
