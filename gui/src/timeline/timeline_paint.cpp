// timeline_paint.cpp: how the timeline is drawn, from the rows' images to what lies over them.
#include <QPainterPath>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "panels/elided_label.h"
#include "ridgeline/base/units.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {
namespace {

// On whole pixels of the screen: at a scale of 1.5 a line of one logical pixel would now be one wide, now two.
QRectF on_pixels(const QRectF& line, double ratio) {
  const auto length = [&](double logical) { return std::max(std::floor(logical * ratio), 1.0) / ratio; };
  return {std::round(line.left() * ratio) / ratio, std::round(line.top() * ratio) / ratio,
          length(line.width()), length(line.height())};
}

}  // namespace

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
  paint_drop(painter);
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
  const double ratio = devicePixelRatioF();
  const QSize size(static_cast<int>(graph.width() * ratio), static_cast<int>(kStripHeight * ratio));
  // A bar to scroll rows with takes of the graph's width when it appears.
  if (strip_.size() != size) {
    strip_ = QImage(size, QImage::Format_ARGB32_Premultiplied);
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
                   tr("all %1").arg(time_words(scene_.extent().length_ns())));
}

void TimelineView::paint_axis(QPainter& painter) {
  const Theme& t = theme();
  const QRect graph = graph_rect();
  const QRect strip(0, kStripHeight, width(), kAxisHeight);
  painter.fillRect(strip, t.panel);
  painter.setFont(small_font(0.82));
  painter.setPen(t.faint);
  painter.drawText(strip.adjusted(8, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   tr("%1 in view").arg(time_words(selection_.view().length_ns())));
  painter.save();
  painter.setClipRect(QRect(graph.left(), kStripHeight, graph.width(), kAxisHeight));
  for (const TimeTick& tick : axis().ticks(origin_ns_)) {
    const double x = graph.left() + tick.x;
    painter.setPen(t.line);
    painter.drawLine(QPointF(x, strip.bottom() - (tick.text.empty() ? 3 : 8)), QPointF(x, strip.bottom()));
    if (tick.text.empty()) continue;
    const QString words = tick.ns == origin_ns_ && !origin_name_.isEmpty() ? origin_name_ : plain(tick.text);
    // Whole or not at all: half a number is another number.
    if (x + 3 + painter.fontMetrics().horizontalAdvance(words) > graph.left() + graph.width()) continue;
    painter.setPen(t.text);
    painter.drawText(QRectF(x + 3, strip.top(), 120, kAxisHeight - 3), Qt::AlignVCenter | Qt::AlignLeft,
                     words);
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
  painter.setPen(row.kind == RowKind::counter || !box.folded.empty() ? t.faint : t.text);
  QRect words = area.adjusted(8, 0, -6, 0);
  if (row.kind == RowKind::counter && box.folded.empty()) paint_counter_label(painter, box, words);
  QString label = plain(row.label);
  if (box.folded.size() > 1)
    label = (row.kind == RowKind::counter ? tr("%1 counters") : tr("%1 rows")).arg(box.folded.size());
  if (label.isEmpty() && is_of_ranges(row.kind)) {
    label = tr("depth %1").arg(row.depth);
    words.setLeft(words.left() + 12);
    painter.setPen(t.faint);
  }
  // The number of a lane stays, for it alone tells two rows apart.
  static const QRegularExpression kLane(" \\(\\d+\\)$");
  const QString lane = kLane.match(label).captured();
  const int room = words.width() - painter.fontMetrics().horizontalAdvance(lane);
  painter.drawText(words, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(label.chopped(lane.size()), Qt::ElideRight, room) + lane);
}

// The value under the mouse, else the mean of what is seen; before it is what is left for the name.
void TimelineView::paint_counter_label(QPainter& painter, const Box& box, QRect& words) {
  const TimelineRow& row = scene_.row(box.row);
  const QRect graph = graph_rect();
  const TimeAxis time = axis();
  const TimeWindow when = graph.contains(mouse_) ? TimeWindow{time.ns_at(mouse_.x() - graph.left()),
                                                              time.ns_at(mouse_.x() - graph.left() + 1) + 1}
                                                 : selection_.view();
  const CounterBin bin = row.counter.over(when);
  const QString value = bin.known ? counter_text(row.unit, static_cast<double>(bin.mean)) : QString("–");
  painter.setPen(theme().text);
  painter.drawText(words, Qt::AlignVCenter | Qt::AlignRight, value);
  words.setRight(words.right() - painter.fontMetrics().horizontalAdvance(value) - 6);
  painter.setPen(theme().faint);
}

// Nothing of these rows is in view: where there is something, and which rows they are.
void TimelineView::paint_folded(QPainter& painter, const Box& box) {
  const TimeWindow view = selection_.view();
  const bool counters = scene_.row(box.row).kind == RowKind::counter;
  const auto place = scene_.elsewhere(box.row, view);
  const bool later = place && place->start_ns >= view.end_ns, earlier = place && !later;
  QRect words(graph_rect().left() + 8, box.rect.top(), graph_rect().width() - 16, box.rect.height());
  QString text = counters ? tr("no samples in view") : tr("nothing in view");
  if (later) {
    text = (counters ? tr("sampled %1 later: click →") : tr("next %1 later: click →"))
               .arg(time_words(place->start_ns - view.end_ns));
  }
  if (earlier) {
    text = (counters ? tr("← click: sampled %1 earlier") : tr("← click: last %1 earlier"))
               .arg(time_words(view.start_ns - place->end_ns));
  }
  painter.setFont(small_font());
  painter.setPen(theme().faint);
  painter.drawText(words, Qt::AlignVCenter | (later ? Qt::AlignRight : Qt::AlignLeft), text);
  if (counters || box.folded.size() < 2) return;
  QStringList names;
  for (const std::size_t row : box.folded) {
    const TimelineRow& line = scene_.row(row);
    names << (line.label.empty() ? tr("depth %1").arg(line.depth) : plain(line.label));
  }
  const int taken = painter.fontMetrics().horizontalAdvance(text) + 24;
  later ? words.setRight(words.right() - taken) : words.setLeft(words.left() + taken);
  painter.drawText(words, Qt::AlignVCenter | Qt::AlignLeft,
                   elided_words(names.join(", "), painter.fontMetrics(), words.width()));
}

// Where the row that is dragged by its name would go.
void TimelineView::paint_drop(QPainter& painter) {
  if (drag_ != Drag::labels || !dragged_row_) return;
  const auto place = drop_place(mouse_.y());
  if (!place) return;
  const Theme& t = theme();
  const bool pinned = scene_.arrangement().pinned.contains(scene_.row(*dragged_row_).id);
  const std::vector<std::size_t>& among = pinned ? scene_.pinned_rows() : scene_.scrolling_rows();
  const auto from =
      static_cast<std::size_t>(std::find(among.begin(), among.end(), *dragged_row_) - among.begin());
  QColor veil = t.accent;
  veil.setAlphaF(0.16F);
  for (const Box& box : boxes()) {
    if (box.row == *dragged_row_) painter.fillRect(box.rect, veil);
    if (box.row != among[*place] || *place == from) continue;
    const int y = *place > from ? box.rect.bottom() + 1 : box.rect.top() - 1;
    painter.fillRect(QRect(0, y - 1, width(), 2), t.accent);
  }
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
    painter.fillRect(
        on_pixels(QRectF(graph.left() + tick.x, graph.top(), 1, graph.height()), devicePixelRatioF()),
        t.grid);
  }
  int fixed = top_of_rows();
  fixed += height_of(scene_.pinned_rows());
  const auto all = boxes();
  // Those that scroll go below those that stay.
  for (const bool scrolling : {true, false}) {
    if (scrolling) painter.setClipRect(QRect(0, fixed, width(), height()));
    if (!scrolling) painter.setClipRect(QRect(0, top_of_rows(), width(), fixed - top_of_rows()));
    for (const Box& box : all) {
      if (scene_.arrangement().pinned.contains(scene_.row(box.row).id) == scrolling) continue;
      if (!box.folded.empty()) {
        paint_folded(painter, box);
      } else {
        painter.drawImage(QPointF(graph.left(), box.rect.top()), row_image(box.row, time));
      }
      paint_label(painter, box);
      painter.fillRect(on_pixels(QRectF(0, box.rect.bottom() + 1, width(), 1), devicePixelRatioF()), t.grid);
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
      if (row.kind != RowKind::kernels && row.kind != RowKind::collectives) continue;
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
  paint_instance(painter);
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

// The chosen instance of an NVTX range, on the host and on the GPU.
void TimelineView::paint_instance(QPainter& painter) {
  const auto& instance = selection_.instance();
  if (!instance) return;
  painter.setPen(QPen(theme().selected, 2));
  painter.setBrush(Qt::NoBrush);
  for (const Box& box : boxes()) {
    const TimelineRow& row = scene_.row(box.row);
    if (!is_of_ranges(row.kind) || row.thread_id != instance->calls.thread_id ||
        row.process_id != instance->process_id)
      continue;
    const std::size_t i =
        row.events.at(row.kind == RowKind::ranges ? instance->calls.start_ns : instance->on_gpu.start_ns);
    if (i < row.events.size() && scene_.range_at({box.row, i}) == instance)
      painter.drawRect(QRectF(event_rect({box.row, i})).adjusted(1, 1, -1, -1));
  }
}

// From the end of the call that launched it to the start of the kernel.
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
  painter.setFont(small_font());
  painter.save();
  painter.setClipRect(QRect(graph.left(), kStripHeight, graph.width(), height()));
  for (const TimelineNote& note : notes_) {
    const QRectF flag = note_rect(note);
    if (flag.isEmpty()) continue;
    // Down to where it belongs: through its row, else through all.
    double bottom = graph.bottom();
    for (const Box& box : boxes()) {
      if (scene_.row(box.row).id == note.row) bottom = box.rect.bottom();
    }
    painter.setPen(QPen(t.fair, 1, Qt::DashDotLine));
    painter.drawLine(flag.topLeft(), QPointF(flag.left(), bottom));
    painter.fillRect(flag, t.fair);
    painter.setPen(Theme::on(t.fair));
    painter.drawText(
        flag.adjusted(5, 0, -3, 0), Qt::AlignVCenter | Qt::AlignLeft,
        painter.fontMetrics().elidedText(note.text, Qt::ElideRight, static_cast<int>(flag.width()) - 8));
  }
  painter.restore();
}

void TimelineView::paint_statistics(QPainter& painter) {
  const std::optional<TimeWindow> range = dragged_ ? dragged_ : selection_.range();
  if (!range) return;
  const Theme& t = theme();
  const QStringList lines =
      selection_.instance() && !dragged_ ? about(*selection_.instance()) : statistics(*range);
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

}  // namespace ridgeline::gui
