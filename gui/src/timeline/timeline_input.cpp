// timeline_input.cpp: what keys, wheel and mouse do in the timeline.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>

#include "models/text.h"
#include "ridgeline/reports/timeline_text.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {
namespace {

constexpr int kSnap = 7;         // pixels
constexpr int kMinDrag = 4;      // pixels that tell a drag from a click
constexpr int kScrollZone = 12;  // pixels at the rows' ends where dragging a row scrolls
constexpr int kScrollStep = 10;
constexpr int kStripEdge = 5;     // pixels beside an edge of the strip's window that move it
constexpr double kKeyZoom = 0.8;  // of the stretch in view, a key press
constexpr double kKeyPan = 0.15;

}  // namespace

void TimelineView::show_view(const TimeWindow& view, Selection::Gesture gesture) {
  if (!scene_.empty()) selection_.show(TimeAxis::inside(view, scene_.extent()), gesture);
}

void TimelineView::zoom(double factor) {
  const QRect graph = graph_rect();
  const double x = graph.contains(mouse_) ? mouse_.x() - graph.left() : graph.width() / 2.0;
  show_view(axis().zoomed(factor, x, scene_.extent()), Selection::Gesture::continued);
}

void TimelineView::pan(double share) {
  show_view(axis().panned(share * axis().width(), scene_.extent()), Selection::Gesture::continued);
}

// To the launch, else the range, else the step.
void TimelineView::fit() {
  if (const auto& launch = selection_.launch()) {
    show_view(TimeAxis::around({launch->start_ns, launch->end_ns}, 1.0, scene_.extent()),
              Selection::Gesture::single);
  } else if (selection_.range()) {
    zoom_to_range();
  } else if (step_) {
    show_view(TimeAxis::around(*step_, 0.01, scene_.extent()), Selection::Gesture::single);
  }
}

void TimelineView::home() {
  show_view(scene_.extent(), Selection::Gesture::single);
}

void TimelineView::zoom_to_range() {
  if (selection_.range())
    show_view(TimeAxis::around(*selection_.range(), 0.02, scene_.extent()), Selection::Gesture::single);
}

void TimelineView::choose(const EventPlace& place) {
  cursor_ = place;
  const EventName& name = scene_.name_of(place);
  const TimelineRow& row = scene_.row(place.row);
  if (row.kind == RowKind::kernels || row.kind == RowKind::collectives) {
    const TimeWindow when = scene_.time_of(place);
    selection_.select_launch(LaunchChoice{row.device_id, name.kernel_id, when.start_ns, when.end_ns},
                             name.text);
  } else if (row.kind == RowKind::calls && name.kind == EventName::Kind::kernel) {
    selection_.select_kernel({{name.kernel_id}, name.text});
  } else if (const auto instance = scene_.range_at(place)) {
    selection_.select_instance(*instance);
  } else {
    selection_.select_range(scene_.time_of(place));
  }
}

// The NVTX range under the mouse, else the one that was chosen last.
std::optional<std::string> TimelineView::range_meant() const {
  for (const std::optional<EventPlace>& place : {event_at(mouse_), cursor_}) {
    if (place && is_of_ranges(scene_.row(place->row).kind)) return scene_.name_of(*place).text;
  }
  return std::nullopt;
}

void TimelineView::choose_ranges() {
  if (const auto name = range_meant()) selection_.select_nvtx(*name);
}

void TimelineView::reveal(const EventPlace& place) {
  TimeWindow when = scene_.time_of(place);
  const TimeWindow view = selection_.view();
  const auto instance = scene_.range_at(place);
  if (instance && instance->on_gpu.length_ns() > 0) {
    // A range with what it launched, which may have run much later.
    when = {std::min(instance->calls.start_ns, instance->on_gpu.start_ns),
            std::max(instance->calls.end_ns, instance->on_gpu.end_ns)};
    if (when.start_ns < view.start_ns || when.end_ns > view.end_ns)
      show_view(TimeAxis::around(when, 0.1, scene_.extent()), Selection::Gesture::single);
  } else if (when.start_ns < view.start_ns || when.end_ns > view.end_ns ||
             axis().x_of(when.end_ns) - axis().x_of(when.start_ns) < 3) {
    // So near that it is seen, with what is round it.
    const std::int64_t length =
        std::min(view.length_ns(), std::max<std::int64_t>(when.length_ns() * 40, 2000));
    const std::int64_t middle = when.start_ns + when.length_ns() / 2;
    show_view({middle - length / 2, middle + length / 2}, Selection::Gesture::single);
  }
  int y = 0;
  for (const RowLine& line : lines(scene_.scrolling_rows())) {
    const int tall = line_height(scene_, line) + 1;
    if (line.row == place.row) {
      if (y < scroll_->value()) scroll_->setValue(y);
      if (y + tall > scroll_->value() + scroll_->pageStep())
        scroll_->setValue(y + tall - scroll_->pageStep());
    }
    y += tall;
  }
}

void TimelineView::next_same() {
  if (selection_.kernel().empty()) return;
  const auto& launch = selection_.launch();
  const store::Id kernel = launch ? launch->kernel_id : selection_.kernel().kernels.front();
  const auto next = scene_.next_launch(kernel, launch ? launch->start_ns : selection_.view().start_ns);
  if (!next) return;
  choose(*next);
  reveal(*next);
}

void TimelineView::previous_same() {
  if (selection_.kernel().empty()) return;
  const auto& launch = selection_.launch();
  const store::Id kernel = launch ? launch->kernel_id : selection_.kernel().kernels.front();
  const auto previous = scene_.previous_launch(kernel, launch ? launch->start_ns : selection_.view().end_ns);
  if (!previous) return;
  choose(*previous);
  reveal(*previous);
}

void TimelineView::next_match() {
  go_to_match(1);
}

void TimelineView::previous_match() {
  go_to_match(-1);
}

// While they are still being looked for: as soon as they are known.
void TimelineView::go_to_match(int direction) {
  match_wanted_ = matching_ ? direction : 0;
  if (matching_) return;
  std::optional<EventPlace> place;
  if (const auto from = chosen_in_view()) {
    place = direction > 0 ? scene_.next_found(*from) : scene_.previous_found(*from);
  } else {
    place = direction > 0 ? first_found_in_view() : scene_.previous_found(selection_.view().end_ns);
  }
  if (!place) return;
  choose(*place);
  reveal(*place);
}

// When the chosen launch or range began, for which matches are in order; empty: none is in view.
std::optional<std::int64_t> TimelineView::chosen_in_view() const {
  const TimeWindow view = selection_.view();
  const auto in_view = [&](std::int64_t start_ns, std::int64_t end_ns) {
    return start_ns < view.end_ns && end_ns > view.start_ns;
  };
  if (const auto& launch = selection_.launch(); launch && in_view(launch->start_ns, launch->end_ns))
    return launch->start_ns;
  const auto& range = selection_.instance();
  if (range && (in_view(range->calls.start_ns, range->calls.end_ns) ||
                in_view(range->on_gpu.start_ns, range->on_gpu.end_ns)))
    return range->calls.start_ns;
  return std::nullopt;
}

// A range may have been entered long before what it launched runs: the first that does either in view.
std::optional<EventPlace> TimelineView::first_found_in_view() const {
  constexpr int kMaxBefore = 1000;
  const std::int64_t view_start_ns = selection_.view().start_ns;
  std::optional<EventPlace> first = scene_.next_found(view_start_ns - 1);
  for (int i = 0; i < kMaxBefore; ++i) {
    const auto before =
        scene_.previous_found(first ? scene_.time_of(*first).start_ns : scene_.extent().end_ns);
    const auto range = before ? scene_.range_at(*before) : std::nullopt;
    if (!range || range->on_gpu.length_ns() <= 0 || range->on_gpu.start_ns < view_start_ns) break;
    first = before;
  }
  return first;
}

void TimelineView::next_event() {
  walk(1, 0);
}
void TimelineView::previous_event() {
  walk(-1, 0);
}
void TimelineView::row_below() {
  walk(0, 1);
}
void TimelineView::row_above() {
  walk(0, -1);
}

// From the event that was chosen last to the next of its row, or to what another row has at that time.
void TimelineView::walk(int along, int across) {
  std::vector<std::size_t> rows = scene_.pinned_rows();
  rows.insert(rows.end(), scene_.scrolling_rows().begin(), scene_.scrolling_rows().end());
  std::erase_if(rows, [this](std::size_t row) { return scene_.row(row).events.empty(); });
  if (rows.empty()) return;
  const auto at = cursor_ ? std::find(rows.begin(), rows.end(), cursor_->row) : rows.end();
  if (at == rows.end()) {
    // The first kernel in view, where none was chosen.
    const auto first = std::find_if(rows.begin(), rows.end(), [this](std::size_t row) {
      return scene_.row(row).kind == RowKind::kernels;
    });
    cursor_ = EventPlace{first == rows.end() ? rows.front() : *first, 0};
    const EventRow& events = scene_.row(cursor_->row).events;
    cursor_->event = std::min(events.first_from(selection_.view().start_ns), events.size() - 1);
  } else if (along != 0) {
    const std::size_t last = scene_.row(cursor_->row).events.size() - 1;
    if ((along < 0 && cursor_->event == 0) || (along > 0 && cursor_->event >= last)) return;
    cursor_->event += static_cast<std::size_t>(along);
  } else {
    // What is folded has nothing here to go to.
    const std::vector<bool> empty = scene_.empty_rows(selection_.view());
    auto to = at - rows.begin() + across;
    const auto inside = [&] { return to >= 0 && to < static_cast<std::ptrdiff_t>(rows.size()); };
    while (inside() && empty[rows[static_cast<std::size_t>(to)]]) to += across;
    if (!inside()) return;
    const std::int64_t then = scene_.time_of(*cursor_).start_ns;
    const EventRow& events = scene_.row(rows[static_cast<std::size_t>(to)]).events;
    cursor_ = EventPlace{rows[static_cast<std::size_t>(to)],
                         std::min(events.first_ending_after(then), events.size() - 1)};
  }
  const EventPlace place = *cursor_;
  choose(place);
  reveal(place);
}

// Between a kernel and the call that launched it.
void TimelineView::follow_flow() {
  if (!arrow_) return;
  const TimeWindow view = selection_.view();
  const bool kernel_seen = arrow_->launch.start_ns >= view.start_ns && arrow_->launch.start_ns < view.end_ns;
  const bool call_seen = arrow_->call_start_ns >= view.start_ns && arrow_->call_start_ns < view.end_ns;
  if (kernel_seen && call_seen) {
    const TimeWindow both{std::min(arrow_->call_start_ns, arrow_->launch.start_ns),
                          std::max(arrow_->call_end_ns, arrow_->launch.end_ns)};
    show_view(TimeAxis::around(both, 0.1, scene_.extent()), Selection::Gesture::single);
    return;
  }
  const std::int64_t to = kernel_seen ? arrow_->call_start_ns : arrow_->launch.start_ns;
  show_view({to - view.length_ns() / 2, to + view.length_ns() / 2}, Selection::Gesture::single);
}

void TimelineView::toggle_pin() {
  const auto row = row_at(mouse_.y());
  if (!row) return;
  scene_.set_pinned(*row, !scene_.arrangement().pinned.contains(scene_.row(*row).id));
  update_scroll_bar();
  update();
  emit arrangement_changed();
}

void TimelineView::clear_choice() {
  if (drag_ == Drag::labels) {
    drag_ = Drag::none;
    dragged_row_.reset();
    unsetCursor();
    update();
  } else if (!selection_.nvtx().empty()) {
    selection_.select_nvtx({});
  } else if (selection_.range()) {
    selection_.select_range(std::nullopt);
  } else {
    selection_.select_launch(std::nullopt, "");
    selection_.select_kernel({});
    cursor_.reset();  // keys begin in what is in view
  }
}

// An edge of the window in the strip, if it is near and the window is wide enough to have a middle.
TimelineView::Drag TimelineView::strip_part(int x) const {
  const TimeAxis all = strip_axis();
  const double from = graph_rect().left() + all.x_of(selection_.view().start_ns);
  const double to = graph_rect().left() + all.x_of(selection_.view().end_ns);
  if (to - from < 4 * kStripEdge) return Drag::strip;
  if (std::abs(x - from) < kStripEdge) return Drag::strip_start;
  return std::abs(x - to) < kStripEdge ? Drag::strip_end : Drag::strip;
}

// Edges of the events of the row under the mouse attract; with Alt they do not.
std::int64_t TimelineView::snapped(const QPoint& at) const {
  const TimeAxis time = axis();
  const std::int64_t ns = time.ns_at(at.x() - graph_rect().left());
  if (const auto row = row_at(at.y())) {
    const auto reach = static_cast<std::int64_t>(time.ns_per_pixel() * kSnap);
    if (const auto edge = scene_.edge_near(*row, ns, reach)) return *edge;
  }
  return ns;
}

void TimelineView::hover(const QPoint& at) {
  mouse_ = at;
  hovered_row_ = row_at(at.y());
  const auto place = event_at(at);
  KernelChoice kernel;
  if (place) {
    const EventName& name = scene_.name_of(*place);
    if (name.kind == EventName::Kind::kernel) kernel = {{name.kernel_id}, name.text};
  }
  selection_.hover_kernel(kernel);
  update();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (scene_.empty()) return;
  const QPoint at = event->position().toPoint();
  const QRect graph = graph_rect();
  drag_from_ = at;
  drag_view_ = selection_.view();
  const bool pan =
      event->button() == Qt::MiddleButton ||
      (event->button() == Qt::LeftButton && (space_ || (event->modifiers() & Qt::ShiftModifier)));
  if (at.y() < kStripHeight && at.x() >= graph.left() && event->button() == Qt::LeftButton) {
    drag_ = strip_part(at.x());
    mouseMoveEvent(event);
  } else if (event->button() == Qt::LeftButton && at.x() < graph.left() && at.y() >= graph.top()) {
    dragged_row_ = row_at(at.y());
  } else if (pan && at.x() >= graph.left()) {
    drag_ = Drag::pan;
    setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::LeftButton && at.x() >= graph.left()) {
    drag_ = Drag::range;
    drag_from_ns_ = event->modifiers() & Qt::AltModifier ? axis().ns_at(at.x() - graph.left()) : snapped(at);
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  const QRect graph = graph_rect();
  if (dragged_row_ && drag_ == Drag::none && std::abs(at.y() - drag_from_.y()) >= kMinDrag) {
    drag_ = Drag::labels;
    setCursor(Qt::ClosedHandCursor);
  }
  switch (drag_) {
    case Drag::labels:
      // At the upper and lower end the rows scroll on.
      if (at.y() < graph.top() + kScrollZone) scroll_->setValue(scroll_->value() - kScrollStep);
      if (at.y() > graph.bottom() - kScrollZone) scroll_->setValue(scroll_->value() + kScrollStep);
      mouse_ = at;
      update();
      return;
    case Drag::strip: {
      const std::int64_t middle = strip_axis().ns_at(at.x() - graph.left());
      const std::int64_t half = selection_.view().length_ns() / 2;
      show_view({middle - half, middle + half}, Selection::Gesture::continued);
      return;
    }
    case Drag::strip_start:
    case Drag::strip_end: {
      TimeWindow view = selection_.view();
      const std::int64_t to = strip_axis().ns_at(at.x() - graph.left());
      if (drag_ == Drag::strip_start) {
        view.start_ns = std::min(to, view.end_ns - TimeAxis::kShortestNs);
      } else {
        view.end_ns = std::max(to, view.start_ns + TimeAxis::kShortestNs);
      }
      show_view(view, Selection::Gesture::continued);
      return;
    }
    case Drag::pan:
      show_view(TimeAxis(drag_view_, graph.width()).panned(drag_from_.x() - at.x(), scene_.extent()),
                Selection::Gesture::continued);
      return;
    case Drag::range: {
      if (!dragged_ && std::abs(at.x() - drag_from_.x()) < kMinDrag) return;
      const std::int64_t to =
          event->modifiers() & Qt::AltModifier ? axis().ns_at(at.x() - graph.left()) : snapped(at);
      dragged_ = TimeWindow{std::min(drag_from_ns_, to), std::max({drag_from_ns_, to, drag_from_ns_ + 1})};
      mouse_ = at;
      update();
      return;
    }
    default:
      hover(at);
      if (at.y() < kStripHeight && at.x() >= graph.left() && strip_part(at.x()) != Drag::strip) {
        setCursor(Qt::SizeHorCursor);
      } else {
        unsetCursor();
      }
  }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag was = drag_;
  if (was == Drag::labels) drop_row(event->position().toPoint());
  drag_ = Drag::none;
  dragged_row_.reset();
  unsetCursor();
  if (was != Drag::range) return;
  if (dragged_) {
    const TimeWindow range = *dragged_;
    dragged_.reset();
    selection_.select_range(range);
  } else if (const auto place = event_at(event->position().toPoint())) {
    choose(*place);
  } else if (!show_elsewhere(event->position().toPoint())) {
    clear_choice();
  }
  update();
}

// A line that stands for rows without anything in view says where there is something: a click goes there.
// False: it is none.
bool TimelineView::show_elsewhere(const QPoint& at) {
  const TimeWindow view = selection_.view();
  for (const Box& box : boxes()) {
    if (box.folded.empty() || at.y() < box.rect.top() || at.y() > box.rect.bottom()) continue;
    const auto place = scene_.elsewhere(box.row, view);
    if (!place) return false;
    std::int64_t start = place->start_ns >= view.end_ns ? place->start_ns : place->end_ns - view.length_ns();
    // An event stands in the middle; samples begin or end there.
    if (scene_.row(box.row).kind != RowKind::counter)
      start = place->start_ns - std::max<std::int64_t>((view.length_ns() - place->length_ns()) / 2, 0);
    show_view({start, start + view.length_ns()}, Selection::Gesture::single);
    return true;
  }
  return false;
}

// Among the rows that stay if it is one of them, else among those that scroll: the place of the row under the mouse.
std::optional<std::size_t> TimelineView::drop_place(int y) const {
  if (!dragged_row_) return std::nullopt;
  const bool pinned = scene_.arrangement().pinned.contains(scene_.row(*dragged_row_).id);
  const std::vector<std::size_t>& among = pinned ? scene_.pinned_rows() : scene_.scrolling_rows();
  std::optional<std::size_t> nearest;
  int least = 0;
  for (const Box& box : boxes()) {
    const auto place = std::find(among.begin(), among.end(), box.row);
    if (place == among.end()) continue;
    const int away = std::max({box.rect.top() - y, y - box.rect.bottom(), 0});
    if (nearest && away >= least) continue;
    nearest = static_cast<std::size_t>(place - among.begin());
    least = away;
  }
  return nearest;
}

void TimelineView::drop_row(const QPoint& at) {
  const auto place = drop_place(at.y());
  if (!place) return;
  const RowArrangement before = scene_.arrangement();
  scene_.move_to(*dragged_row_, *place);
  update();
  if (!(scene_.arrangement() == before)) emit arrangement_changed();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto note = note_at(event->position().toPoint())) return edit_note(*note);
  if (const auto place = event_at(event->position().toPoint()))
    show_view(TimeAxis::around(scene_.time_of(*place), 0.3, scene_.extent()), Selection::Gesture::single);
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint at = event->position().toPoint();
  const QRect graph = graph_rect();
  const QPointF turned =
      event->pixelDelta().isNull() ? QPointF(event->angleDelta()) / 120.0 * 60 : QPointF(event->pixelDelta());
  mouse_ = at;
  const bool sideways = std::abs(turned.x()) > std::abs(turned.y());
  const bool pans = sideways || (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool over_names = at.x() < graph.left() && at.y() >= graph.top();
  if (!over_names && pans) {
    show_view(axis().panned((sideways ? turned.x() : turned.y()) * -1.5, scene_.extent()),
              Selection::Gesture::continued);
  } else if (over_names || (event->modifiers() & Qt::ControlModifier) != 0) {
    scroll_->setValue(scroll_->value() - static_cast<int>(turned.y()));
  } else {
    show_view(axis().zoomed(std::pow(1.0035, -turned.y()), at.x() - graph.left(), scene_.extent()),
              Selection::Gesture::continued);
  }
  event->accept();
}

// Who points at the timeline means it, wherever the last click was.
void TimelineView::enterEvent(QEnterEvent* event) {
  qApp->installEventFilter(this);
  QWidget::enterEvent(event);
}

bool TimelineView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress || watched == this) return QWidget::eventFilter(watched, event);
  const auto* widget = qobject_cast<const QWidget*>(watched);
  const auto* key = static_cast<const QKeyEvent*>(event);
  if (widget == nullptr || widget->window() != window() || key->modifiers() != Qt::NoModifier ||
      widget->testAttribute(Qt::WA_InputMethodEnabled)) {
    return QWidget::eventFilter(watched, event);  // words are written there
  }
  if (!position_key(*key)) return QWidget::eventFilter(watched, event);
  hover(mouse_);
  return true;
}

void TimelineView::leaveEvent(QEvent*) {
  qApp->removeEventFilter(this);
  mouse_ = {-1, -1};
  hovered_row_.reset();
  selection_.hover_kernel({});
  update();
}

// W, A, S and D by where they are on the keyboard, whatever letters are on them; where the platform does not say, by
// letter.
bool TimelineView::position_key(const QKeyEvent& event) {
  int key = 0;
  switch (event.nativeScanCode()) {
    case 25:
      key = Qt::Key_W;
      break;
    case 38:
      key = Qt::Key_A;
      break;
    case 39:
      key = Qt::Key_S;
      break;
    case 40:
      key = Qt::Key_D;
      break;
    case 0:
      key = event.key();
      break;
    default:
      return false;
  }
  switch (key) {
    case Qt::Key_W:
      zoom(kKeyZoom);
      return true;
    case Qt::Key_S:
      zoom(1 / kKeyZoom);
      return true;
    case Qt::Key_A:
      pan(-kKeyPan);
      return true;
    case Qt::Key_D:
      pan(kKeyPan);
      return true;
    default:
      return false;
  }
}

bool TimelineView::run(const QString& command) {
  static const std::map<QString, void (TimelineView::*)()> kCommands = {
      {"fit", &TimelineView::fit},
      {"home", &TimelineView::home},
      {"zoom_to_range", &TimelineView::zoom_to_range},
      {"next_same", &TimelineView::next_same},
      {"previous_same", &TimelineView::previous_same},
      {"next_match", &TimelineView::next_match},
      {"previous_match", &TimelineView::previous_match},
      {"follow_flow", &TimelineView::follow_flow},
      {"follow_back", &TimelineView::follow_flow},
      {"next_event", &TimelineView::next_event},
      {"previous_event", &TimelineView::previous_event},
      {"row_below", &TimelineView::row_below},
      {"row_above", &TimelineView::row_above},
      {"mark", &TimelineView::mark},
      {"nvtx_ranges", &TimelineView::choose_ranges},
      {"toggle_pin", &TimelineView::toggle_pin},
      {"clear", &TimelineView::clear_choice}};
  if (command == "zoom_in") {
    zoom(kKeyZoom);
  } else if (command == "zoom_out") {
    zoom(1 / kKeyZoom);
  } else if (const auto found = kCommands.find(command); found != kCommands.end()) {
    (this->*found->second)();
  } else {
    return false;
  }
  return true;
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  static const KeyMap kStandard;
  const KeyMap& keys = keys_ != nullptr ? *keys_ : kStandard;
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  // A sign that needs Shift on some keyboards is the sign all the same.
  const auto command = [&](Qt::KeyboardModifiers with) {
    return keys.command(KeyMap::Place::timeline,
                        QKeySequence(QKeyCombination(with, static_cast<Qt::Key>(event->key()))));
  };
  QString wanted = command(modifiers);
  if (wanted.isEmpty() && modifiers == Qt::ShiftModifier &&
      (event->key() < Qt::Key_A || event->key() > Qt::Key_Z))
    wanted = command(Qt::NoModifier);
  if (!wanted.isEmpty() && run(wanted)) return;
  if (modifiers == Qt::NoModifier && position_key(*event)) return;
  const bool digit = event->key() >= Qt::Key_0 && event->key() <= Qt::Key_9;
  if (digit && (modifiers == Qt::NoModifier || modifiers == Qt::ControlModifier)) {
    auto& bookmark = bookmarks_[static_cast<std::size_t>(event->key() - Qt::Key_0)];
    if (modifiers == Qt::ControlModifier) {
      bookmark = selection_.view();
      emit bookmarks_changed();
    } else if (bookmark) {
      show_view(*bookmark, Selection::Gesture::single);
    }
    return;
  }
  switch (modifiers == Qt::NoModifier ? event->key() : 0) {
    case Qt::Key_Left:
      return pan(-kKeyPan);
    case Qt::Key_Right:
      return pan(kKeyPan);
    case Qt::Key_Up:
      return scroll_->setValue(scroll_->value() - 40);
    case Qt::Key_Down:
      return scroll_->setValue(scroll_->value() + 40);
    case Qt::Key_Equal:
      return zoom(kKeyZoom);
    case Qt::Key_Space:
      space_ = true;
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void TimelineView::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) space_ = false;
  QWidget::keyReleaseEvent(event);
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto place = event_at(help->pos());
    const auto row = row_at(help->pos().y());
    if (const auto note = note_at(help->pos())) {
      QToolTip::showText(help->globalPos(), notes_[*note].text, this);
    } else if (place) {
      QToolTip::showText(help->globalPos(), describe(*place), this);
    } else if (row && help->pos().x() < label_width_) {
      const TimelineRow& line = scene_.row(*row);
      const QString help_text = shown(reports::row_help(line));
      QToolTip::showText(help->globalPos(),
                         plain(line.label) + (help_text.isEmpty() ? QString() : "\n" + help_text), this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  const bool taken = QWidget::event(event);
  // Keys move what is under a mouse that rests.
  if (event->type() == QEvent::KeyPress && mouse_.x() >= 0) hover(mouse_);
  return taken;
}

}  // namespace ridgeline::gui
