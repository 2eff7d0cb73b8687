// timeline_view.cpp: where things are and how they are drawn. What keys and mouse do: timeline_input.cpp.
#include "timeline/timeline_view.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "timeline/timeline_accessible.h"

namespace ridgeline::gui {
namespace {

constexpr int kStripHeight = 30;
constexpr int kAxisHeight = 20;

QString duration_text(std::int64_t ns) {
  return plain(time_text(static_cast<double>(ns)));
}

}  // namespace

TimelineView::TimelineView(Selection& selection, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      painter_(std::make_unique<ImageRowPainter>()),
      scroll_(new QScrollBar(Qt::Vertical, this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(400, 160);
  setAccessibleName(tr("Timeline"));
  install_timeline_accessibility();
  connect(scroll_, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::view_changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::range_changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::hover_changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::launch_changed, this, [this] {
    set_arrow(std::nullopt);
    update();
  });
  connect(&selection_, &Selection::kernel_changed, this, [this] {
    scene_.set_kernel(selection_.kernel());
    images_.clear();
    strip_ = {};
    update();
  });
}

TimelineView::~TimelineView() = default;

void TimelineView::scene_changed() {
  images_.clear();
  strip_ = {};
  update_scroll_bar();
  update();
}

void TimelineView::set_origin(std::int64_t ns, const QString& name) {
  origin_ns_ = ns;
  origin_name_ = name;
  update();
}

void TimelineView::set_arrow(const std::optional<LaunchArrow>& arrow) {
  arrow_ = arrow;
  update();
}

void TimelineView::set_notes(std::vector<TimelineNote> notes) {
  notes_ = std::move(notes);
  update();
}

void TimelineView::search(const QString& text) {
  scene_.search(text);
  images_.clear();
  strip_ = {};
  update();
}

QRect TimelineView::graph_rect() const {
  const int right = scroll_->isVisible() ? scroll_->width() : 0;
  return {label_width_, top_of_rows(), std::max(width() - label_width_ - right, 1),
          std::max(height() - top_of_rows(), 1)};
}

int TimelineView::top_of_rows() const {
  return kStripHeight + kAxisHeight;
}

TimeAxis TimelineView::axis() const {
  const TimeWindow view = selection_.view().length_ns() > 0 ? selection_.view() : TimeWindow{0, 1};
  return {view, static_cast<double>(graph_rect().width())};
}

TimeAxis TimelineView::strip_axis() const {
  return {TimeAxis::inside(scene_.extent(), scene_.extent()), static_cast<double>(graph_rect().width())};
}

int TimelineView::scroll_height() const {
  int height = 0;
  for (const std::size_t row : scene_.scrolling_rows()) height += row_height(scene_.row(row)) + 1;
  return height;
}

void TimelineView::update_scroll_bar() {
  int pinned = 0;
  for (const std::size_t row : scene_.pinned_rows()) pinned += row_height(scene_.row(row)) + 1;
  const int room = height() - top_of_rows() - pinned;
  const int most = std::max(scroll_height() - room, 0);
  scroll_->setRange(0, most);
  scroll_->setPageStep(std::max(room, 1));
  scroll_->setSingleStep(24);
  scroll_->setVisible(most > 0);
  scroll_->setGeometry(width() - scroll_->sizeHint().width(), top_of_rows(), scroll_->sizeHint().width(),
                       height() - top_of_rows());
}

void TimelineView::resizeEvent(QResizeEvent*) {
  update_scroll_bar();
  images_.clear();
  strip_ = {};
}

std::vector<TimelineView::Box> TimelineView::boxes() const {
  std::vector<Box> boxes;
  int y = top_of_rows();
  const auto put = [&](std::size_t row, int least) {
    const int tall = row_height(scene_.row(row));
    if (y + tall > least && y < height()) boxes.push_back({row, QRect(0, y, width(), tall)});
    y += tall + 1;
  };
  for (const std::size_t row : scene_.pinned_rows()) put(row, 0);
  const int fixed = y;
  y -= scroll_->value();
  for (const std::size_t row : scene_.scrolling_rows()) put(row, fixed);
  return boxes;
}

std::optional<std::size_t> TimelineView::row_at(int y) const {
  for (const Box& box : boxes()) {
    if (y >= box.rect.top() && y <= box.rect.bottom()) return box.row;
  }
  return std::nullopt;
}

std::optional<EventPlace> TimelineView::event_at(const QPoint& at) const {
  const QRect graph = graph_rect();
  const auto row = row_at(at.y());
  if (!row || !graph.contains(at)) return std::nullopt;
  const EventRow& events = scene_.row(*row).events;
  const TimeAxis time = axis();
  const double x = at.x() - graph.left();
  // What is thinner than a pixel is hit where its pixel is.
  std::size_t i = events.at(time.ns_at(x + 0.5));
  if (i == events.size()) {
    i = events.first_ending_after(time.ns_at(x - 1));
    if (i == events.size() || events.start_ns(i) > time.ns_at(x + 2)) return std::nullopt;
  }
  return EventPlace{*row, i};
}

QRect TimelineView::event_rect(const EventPlace& place) const {
  const TimeAxis time = axis();
  const TimeWindow when = scene_.time_of(place);
  for (const Box& box : boxes()) {
    if (box.row != place.row) continue;
    const int left = label_width_ +
                     static_cast<int>(std::floor(std::clamp(time.x_of(when.start_ns), -10.0, time.width())));
    const int right = label_width_ +
                      static_cast<int>(std::ceil(std::clamp(time.x_of(when.end_ns), 0.0, time.width() + 10)));
    return QRect(left, box.rect.top(), std::max(right - left, 2), box.rect.height())
        .intersected(graph_rect());
  }
  return {};
}

const QImage& TimelineView::row_image(std::size_t row, const TimeAxis& time) {
  if (images_.size() != scene_.row_count()) images_.assign(scene_.row_count(), {});
  auto& [image, shows] = images_[row];
  const auto wanted = static_cast<int>(std::ceil(time.width() * devicePixelRatioF()));
  if (image.isNull() || shows != time.view() || image.width() != wanted) {
    image = painter_->paint(scene_, row, time, {small_font(0.84), devicePixelRatioF()});
    shows = time.view();
  }
  return image;
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (scene_.empty()) {
    painter.setPen(theme().faint);
    painter.drawText(rect(), Qt::AlignCenter, tr("Reading the timeline…"));
    return;
  }
  paint_rows(painter);
  paint_overlays(painter);
  paint_strip(painter);
  paint_axis(painter);
  paint_notes(painter);
  paint_statistics(painter);
}

// Everything there is, and which part of it is seen.
void TimelineView::paint_strip(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const TimeAxis all = strip_axis();
  painter.fillRect(QRect(0, 0, width(), kStripHeight), t.window);
  if (strip_.isNull()) {
    const double ratio = devicePixelRatioF();
    strip_ = QImage(QSize(static_cast<int>(graph.width() * ratio), static_cast<int>(kStripHeight * ratio)),
                    QImage::Format_ARGB32_Premultiplied);
    strip_.fill(Qt::transparent);
    QPainter on(&strip_);
    std::vector<EventBin> bins(static_cast<std::size_t>(strip_.width()));
    std::vector<float> busy(bins.size());
    for (std::size_t row = 0; row < scene_.row_count(); ++row) {
      if (scene_.row(row).kind != RowKind::kernels) continue;
      scene_.row(row).events.bins(all.view(), bins);
      for (std::size_t x = 0; x < bins.size(); ++x) busy[x] = std::max(busy[x], bins[x].busy);
    }
    QColor ink = t.accent;
    ink.setAlphaF(0.75F);
    const int tall = strip_.height() - static_cast<int>(8 * ratio);
    for (std::size_t x = 0; x < busy.size(); ++x) {
      if (busy[x] <= 0) continue;
      const int h = std::max(static_cast<int>(busy[x] * static_cast<float>(tall)), 2);
      on.fillRect(QRect(static_cast<int>(x), strip_.height() - h - 2, 1, h), ink);
    }
    const auto ticks = [&](const auto& indices_of, const QColor& colour) {
      for (std::size_t row = 0; row < scene_.row_count(); ++row) {
        const EventRow& events = scene_.row(row).events;
        int last = -1;
        for (const std::uint32_t i : indices_of(row)) {
          const int x = static_cast<int>(all.x_of(events.start_ns(i)) * ratio);
          if (x != last)
            on.fillRect(QRect(x, 0, std::max(1, static_cast<int>(ratio)), static_cast<int>(6 * ratio)),
                        colour);
          last = x;
        }
      }
    };
    ticks(
        [&](std::size_t row) -> const auto& { return scene_.marked(row); }, t.selected);
    ticks(
        [&](std::size_t row) -> const auto& { return scene_.found(row); }, t.hovered);
    on.end();
    strip_.setDevicePixelRatio(ratio);
  }
  painter.drawImage(QPointF(graph.left(), 0), strip_);
  const TimeWindow view = selection_.view();
  const double from = graph.left() + std::max(all.x_of(view.start_ns), 0.0);
  const double to = graph.left() + std::min(all.x_of(view.end_ns), all.width());
  QColor veil = t.window;
  veil.setAlphaF(0.66F);
  painter.fillRect(QRectF(graph.left(), 0, from - graph.left(), kStripHeight), veil);
  painter.fillRect(QRectF(to, 0, graph.right() + 1 - to, kStripHeight), veil);
  painter.setPen(QPen(t.accent, 1.5));
  painter.drawRect(QRectF(from, 1, std::max(to - from, 3.0), kStripHeight - 2));
  if (const auto& range = selection_.range()) {
    painter.fillRect(QRectF(graph.left() + all.x_of(range->start_ns), kStripHeight - 4,
                            std::max(all.x_of(range->end_ns) - all.x_of(range->start_ns), 2.0), 3),
                     t.hovered);
  }
  painter.setPen(t.faint);
  painter.setFont(small_font());
  painter.drawText(QRect(8, 0, label_width_ - 16, kStripHeight), Qt::AlignVCenter | Qt::AlignLeft,
                   tr("all %1").arg(duration_text(scene_.extent().length_ns())));
}

void TimelineView::paint_axis(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const QRect strip(0, kStripHeight, width(), kAxisHeight);
  painter.fillRect(strip, t.panel);
  painter.setFont(small_font(0.82));
  painter.setPen(t.faint);
  painter.drawText(strip.adjusted(8, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   tr("%1 in view").arg(duration_text(selection_.view().length_ns())));
  painter.save();
  painter.setClipRect(QRect(graph.left(), kStripHeight, graph.width(), kAxisHeight));
  for (const TimeTick& tick : axis().ticks(origin_ns_)) {
    const double x = graph.left() + tick.x;
    painter.setPen(t.line);
    painter.drawLine(QPointF(x, strip.bottom() - (tick.text.empty() ? 3 : 8)), QPointF(x, strip.bottom()));
    if (tick.text.empty()) continue;
    painter.setPen(t.text);
    painter.drawText(QRectF(x + 3, strip.top(), 120, kAxisHeight - 3), Qt::AlignVCenter | Qt::AlignLeft,
                     tick.ns == origin_ns_ && !origin_name_.isEmpty() ? origin_name_ : plain(tick.text));
  }
  painter.restore();
}

void TimelineView::paint_label(QPainter& painter, const Box& box) {
  const Theme& t = theme();
  const TimelineRow& row = scene_.row(box.row);
  const bool pinned = scene_.arrangement().pinned.contains(row.id);
  QRect area(0, box.rect.top(), label_width_, box.rect.height());
  painter.fillRect(area, hovered_row_ == box.row ? t.panel : t.window);
  if (pinned) painter.fillRect(QRect(0, area.top(), 3, area.height()), t.accent);
  painter.setFont(small_font());
  painter.setPen(row.kind == RowKind::counter ? t.faint : t.text);
  QRect words = area.adjusted(8, 0, -6, 0);
  if (row.kind == RowKind::counter) {
    // The value under the mouse, else the mean of what is seen.
    const QRect graph = graph_rect();
    const TimeAxis time = axis();
    const bool inside = graph.contains(mouse_);
    const TimeWindow when = inside ? TimeWindow{time.ns_at(mouse_.x() - graph.left()),
                                                time.ns_at(mouse_.x() - graph.left() + 1) + 1}
                                   : selection_.view();
    const CounterBin bin = row.counter.over(when);
    const QString value = bin.known ? counter_text(row.unit, static_cast<double>(bin.mean)) : QString("–");
    painter.setPen(t.text);
    painter.drawText(words, Qt::AlignVCenter | Qt::AlignRight, value);
    words.setRight(words.right() - painter.fontMetrics().horizontalAdvance(value) - 6);
    painter.setPen(t.faint);
  }
  painter.drawText(words, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(plain(row.label), Qt::ElideRight, words.width()));
}

void TimelineView::paint_rows(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const TimeAxis time = axis();
  painter.save();
  painter.setClipRect(QRect(0, top_of_rows(), width(), height()));
  painter.fillRect(QRect(0, top_of_rows(), label_width_, height()), t.window);
  for (const TimeTick& tick : time.ticks(origin_ns_)) {
    if (tick.text.empty()) continue;
    painter.fillRect(QRectF(graph.left() + tick.x, graph.top(), 1, graph.height()), t.grid);
  }
  int fixed = top_of_rows();
  for (const std::size_t row : scene_.pinned_rows()) fixed += row_height(scene_.row(row)) + 1;
  const auto all = boxes();
  // Those that scroll go below those that stay.
  for (const bool scrolling : {true, false}) {
    if (scrolling) painter.setClipRect(QRect(0, fixed, width(), height()));
    if (!scrolling) painter.setClipRect(QRect(0, top_of_rows(), width(), fixed - top_of_rows()));
    for (const Box& box : all) {
      if (scene_.arrangement().pinned.contains(scene_.row(box.row).id) == scrolling) continue;
      painter.drawImage(QPointF(graph.left(), box.rect.top()), row_image(box.row, time));
      paint_label(painter, box);
      painter.fillRect(QRect(0, box.rect.bottom() + 1, width(), 1), t.grid);
    }
  }
  painter.restore();
}

void TimelineView::paint_overlays(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const TimeAxis time = axis();
  painter.save();
  painter.setClipRect(graph);
  // The kernel under the mouse, here or in another panel.
  if (!selection_.hovered().empty()) {
    painter.setPen(QPen(t.hovered, 1.5));
    painter.setBrush(Qt::NoBrush);
    int drawn = 0;
    for (const Box& box : boxes()) {
      const TimelineRow& row = scene_.row(box.row);
      if (row.kind != RowKind::kernels) continue;
      const std::size_t last = row.events.first_from(time.view().end_ns);
      std::size_t i = row.events.first_ending_after(time.view().start_ns);
      if (last - i > 4000) continue;
      for (; i < last && drawn < 1000; ++i) {
        if (!selection_.hovered().holds(scene_.name_of({box.row, i}).kernel_id)) continue;
        painter.drawRect(QRectF(event_rect({box.row, i})).adjusted(0.5, 0.5, -0.5, -0.5));
        ++drawn;
      }
    }
  }
  if (const auto& launch = selection_.launch()) {
    if (const auto place = scene_.launch_at(*launch)) {
      painter.setPen(QPen(t.selected, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(event_rect(*place)).adjusted(1, 1, -1, -1));
    }
  }
  paint_arrow(painter);
  const std::optional<TimeWindow> range = dragged_ ? dragged_ : selection_.range();
  if (range) {
    const double from = graph.left() + time.x_of(range->start_ns),
                 to = graph.left() + time.x_of(range->end_ns);
    painter.fillRect(QRectF(from, graph.top(), to - from, graph.height()), t.range);
    painter.setPen(QPen(t.accent, 1));
    painter.drawLine(QPointF(from, graph.top()), QPointF(from, graph.bottom()));
    painter.drawLine(QPointF(to, graph.top()), QPointF(to, graph.bottom()));
  }
  if (drag_ == Drag::none && graph.contains(mouse_)) {
    painter.setPen(QPen(t.line, 1, Qt::DashLine));
    painter.drawLine(mouse_.x(), graph.top(), mouse_.x(), graph.bottom());
  }
  painter.restore();
}

// From the end of the call that launched it to the begin of the kernel.
void TimelineView::paint_arrow(QPainter& painter) {
  if (!arrow_ || !selection_.launch() || !(arrow_->launch == *selection_.launch())) return;
  const TimeAxis time = axis();
  std::optional<QRect> from, to;
  for (const Box& box : boxes()) {
    const TimelineRow& row = scene_.row(box.row);
    if (row.kind == RowKind::calls && row.thread_id == arrow_->thread_id &&
        row.process_id == arrow_->process_id && !from)
      from = box.rect;
  }
  if (const auto place = scene_.launch_at(arrow_->launch)) {
    for (const Box& box : boxes()) {
      if (box.row == place->row) to = box.rect;
    }
  }
  if (!from || !to) return;
  const QRect graph = graph_rect();
  const QPointF start(graph.left() + time.x_of(arrow_->call_start_ns), from->center().y());
  const QPointF end(graph.left() + time.x_of(arrow_->launch.start_ns), to->top() + 1);
  if (std::abs(start.x()) > 1e6 || std::abs(end.x()) > 1e6) return;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().hovered, 1.6));
  QPainterPath path(start);
  path.cubicTo(QPointF(start.x(), (start.y() + end.y()) / 2), QPointF(end.x(), (start.y() + end.y()) / 2),
               end);
  painter.drawPath(path);
  painter.setBrush(theme().hovered);
  painter.drawPolygon(QPolygonF({end, end + QPointF(-4, -7), end + QPointF(4, -7)}));
  painter.drawEllipse(start, 2.5, 2.5);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::paint_notes(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const TimeAxis time = axis();
  painter.setFont(small_font());
  painter.save();
  painter.setClipRect(QRect(graph.left(), kStripHeight, graph.width(), height()));
  for (const TimelineNote& note : notes_) {
    const double x = graph.left() + time.x_of(note.time_ns);
    if (x < graph.left() - 300 || x > graph.right()) continue;
    painter.setPen(QPen(t.fair, 1, Qt::DashDotLine));
    painter.drawLine(QPointF(x, graph.top()), QPointF(x, graph.bottom()));
    const int wide = std::min(painter.fontMetrics().horizontalAdvance(note.text) + 14, 260);
    const QRectF flag(x, graph.top() + 2, wide, 17);
    painter.fillRect(flag, t.fair);
    painter.setPen(Theme::on(t.fair));
    painter.drawText(flag.adjusted(5, 0, -3, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(note.text, Qt::ElideRight, wide - 8));
  }
  painter.restore();
}

void TimelineView::paint_statistics(QPainter& painter) {
  const std::optional<TimeWindow> range = dragged_ ? dragged_ : selection_.range();
  if (!range) return;
  const Theme& t = theme();
  const QStringList lines = statistics(*range);
  painter.setFont(small_font());
  const QFontMetrics metrics = painter.fontMetrics();
  int wide = 0;
  for (const QString& line : lines) wide = std::max(wide, metrics.horizontalAdvance(line));
  const QRect graph = graph_rect();
  const double middle = graph.left() + axis().x_of(range->start_ns / 2 + range->end_ns / 2);
  const int tall = static_cast<int>(lines.size()) * metrics.lineSpacing() + 10;
  const double left = std::clamp(middle - wide / 2.0 - 8, static_cast<double>(graph.left()) + 4,
                                 std::max(graph.right() - wide - 20.0, graph.left() + 4.0));
  const QRectF box(left, graph.bottom() - tall - 8, wide + 16, tall);
  QColor ground = t.panel;
  ground.setAlphaF(0.95F);
  painter.setPen(t.line);
  painter.setBrush(ground);
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(t.text);
  for (int i = 0; i < lines.size(); ++i) {
    painter.drawText(QPointF(box.left() + 8, box.top() + 5 + metrics.ascent() + i * metrics.lineSpacing()),
                     lines[i]);
  }
}

QStringList TimelineView::statistics(const TimeWindow& range) const {
  QStringList lines;
  lines << tr("%1 from %2").arg(duration_text(range.length_ns()), duration_text(range.start_ns - origin_ns_));
  const auto length = static_cast<double>(std::max<std::int64_t>(range.length_ns(), 1));
  int shown_rows = 0;
  QStringList counters;
  for (const auto* rows : {&scene_.pinned_rows(), &scene_.scrolling_rows()}) {
    for (const std::size_t i : *rows) {
      const TimelineRow& row = scene_.row(i);
      if (row.kind == RowKind::kernels || row.kind == RowKind::copies) {
        const EventSum sum = row.events.sum(range);
        if (sum.count == 0 || ++shown_rows > 6) continue;
        lines << tr("%1: %2, busy %3 (%4)")
                     .arg(plain(row.label),
                          plain(counted(sum.count, row.kind == RowKind::kernels ? "launch" : "copy",
                                        row.kind == RowKind::kernels ? "launches" : "copies")),
                          duration_text(sum.busy_ns),
                          plain(percent_text(static_cast<double>(sum.busy_ns) / length)));
      } else if (row.kind == RowKind::counter && counters.size() < 5) {
        const CounterBin bin = row.counter.over(range);
        if (bin.known)
          counters << plain(row.label) + " " + counter_text(row.unit, static_cast<double>(bin.mean));
      }
    }
  }
  if (!counters.isEmpty()) lines << counters.join(" · ");
  return lines;
}

QString TimelineView::describe(const EventPlace& place) const {
  const EventName& name = scene_.name_of(place);
  const TimeWindow when = scene_.time_of(place);
  QString text = tr("%1\n%2 from %3")
                     .arg(event_label(name, 120), duration_text(when.length_ns()),
                          duration_text(when.start_ns - origin_ns_));
  if (name.kind == EventName::Kind::kernel) text += " · " + plain(to_string(name.kernel_class));
  return text + " · " +
         plain(scene_.row(place.row).label.empty() ? scene_.row(place.row).help
                                                   : scene_.row(place.row).label);
}

}  // namespace ridgeline::gui
