#include "roofline/roofline_view.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/tables.h"
#include "roofline/roofline_places.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kRight = 16, kTop = 14, kBottom = 40, kStrip = 76;
constexpr double kRoofName = 20;
constexpr double kMinZoomRatio = 1.05;  // between the ends of an axis, however far it is zoomed
constexpr double kMinZoomDrag = 5;      // pixels that tell a drag from a click
constexpr std::size_t kHeap = 3;        // so many dots at one place are a list
constexpr double kZoomOfKey = 0.8;
constexpr std::size_t kTooltipDots = 6;

// A stretch of an axis that is zoomed about a value, within the whole.
std::pair<double, double> zoomed(double low, double high, double at, double factor, double least,
                                 double most) {
  const double from = at * std::pow(low / at, factor), to = at * std::pow(high / at, factor);
  if (to / from < kMinZoomRatio) return {low, high};
  return {std::max(from, least), std::min(to, most)};
}

}  // namespace

RooflineView::RooflineView(QWidget* parent) : ItemChart(parent), whole_(new QToolButton(this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(260, 150);
  setAccessibleName(tr("Roofline"));
  whole_->setObjectName("show-all");
  whole_->setText(tr("Show all"));
  whole_->setToolTip(tr("Ends the zoom (0). The wheel zooms, a drag zooms to a box, Shift and a drag pan."));
  whole_->setFont(small_font(0.85));
  whole_->hide();
  connect(whole_, &QToolButton::clicked, this, [this] { zoom_to(std::nullopt); });
}

void RooflineView::resizeEvent(QResizeEvent* event) {
  ItemChart::resizeEvent(event);
  const QSize size = whole_->sizeHint();
  whole_->setGeometry(2, height() - size.height() - 2, size.width(), size.height());
}

namespace {

// Makes an axis longer until `value` is so many of its `length` pixels away from its high end.
void make_room(double low, double& high, double value, double pixels, double length) {
  if (value <= low || value > high || length <= 3 * pixels) return;
  const double share = pixels / length, whole = std::log(high / low);
  const double missing = (share * whole - std::log(high / value)) / (1 - share);
  if (missing > 0) high *= std::exp(missing);
}

}  // namespace

// The highest roof has room for its name above it, however low the drawing is, and no circle is cut by the edges that
// the largest kernels are near.
RooflineWindow RooflineView::everything(const QRectF& graph) const {
  RooflineWindow all{plot_.low_x, plot_.high_x, plot_.low_y, plot_.high_y};
  double highest = 0;
  for (const RooflineRoof& roof : plot_.roofs) {
    if (roof.flat) highest = std::max(highest, roof.peak.value);
  }
  make_room(all.low_y, all.high_y, highest, kRoofName, graph.height());
  for (const RooflineDot& dot : plot_.dots) {
    const double around = roofline_radius(dot.share) + 2;
    make_room(all.low_x, all.high_x, dot.x, around, graph.width());
    make_room(all.low_y, all.high_y, dot.y, around, graph.height());
  }
  return all;
}

RooflineView::Frame RooflineView::frame(const QRectF& area) const {
  Frame f{area, area.adjusted(kRooflineLeft, kTop, -kRight, -kBottom), {}, {}};
  if (!plot_.strip.empty() && plot_.mode == RooflineMode::intensity) {
    f.graph.setBottom(f.graph.bottom() - kStrip);
    f.strip = QRectF(f.graph.left(), f.graph.bottom() + kBottom + 22, f.graph.width(), kStrip - 44);
  }
  f.shows = zoom_.value_or(everything(f.graph));
  return f;
}

void RooflineView::set_words(const QString& noun, const QString& when_empty) {
  noun_ = noun;
  when_empty_ = when_empty;
}

void RooflineView::set_plot(RooflinePlot plot) {
  if (plot.mode != plot_.mode) zoom_to(std::nullopt);
  plot_ = std::move(plot);
  items_changed();
}

void RooflineView::set_chosen(std::vector<std::size_t> rows, std::vector<RooflineDot> levels) {
  chosen_ = std::move(rows);
  levels_ = std::move(levels);
  update();
}

void RooflineView::set_hovered(std::vector<std::size_t> rows) {
  if (rows == hovered_) return;
  hovered_ = std::move(rows);
  update();
}

void RooflineView::set_before(std::vector<RooflineDot> before) {
  before_ = std::move(before);
  update();
}

void RooflineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  draw(painter, rect());
  painter.setRenderHint(QPainter::Antialiasing, false);
  paint_current(painter);
  if (drag_ != Drag::box) return;
  painter.setPen(QPen(theme().accent, 1));
  painter.setBrush(theme().range);
  painter.drawRect(QRectF(drag_from_, drag_to_).normalized());
}

void RooflineView::zoom_to(const std::optional<RooflineWindow>& window) {
  if (window == zoom_) return;
  zoom_ = window;
  whole_->setVisible(zoom_.has_value());
  update();
}

void RooflineView::zoom_at(const QPointF& at, double factor) {
  const Frame f = frame(rect());
  const RooflineWindow all = everything(f.graph);
  const double x = f.value_x(std::clamp(at.x(), f.graph.left(), f.graph.right()));
  const double y = f.value_y(std::clamp(at.y(), f.graph.top(), f.graph.bottom()));
  RooflineWindow to;
  std::tie(to.low_x, to.high_x) = zoomed(f.shows.low_x, f.shows.high_x, x, factor, all.low_x, all.high_x);
  std::tie(to.low_y, to.high_y) = zoomed(f.shows.low_y, f.shows.high_y, y, factor, all.low_y, all.high_y);
  zoom_to(to == all ? std::nullopt : std::optional(to));
}

// What is shown moves along with the mouse, no further than there is something.
void RooflineView::pan_by(const QPointF& pixels) {
  if (!zoom_) return;
  const Frame f = frame(rect());
  const RooflineWindow all = everything(f.graph);
  RooflineWindow to = *zoom_;
  const auto move = [](double& low, double& high, double by, double least, double most) {
    by = std::clamp(by, least / low, most / high);
    low *= by;
    high *= by;
  };
  move(to.low_x, to.high_x, std::pow(to.high_x / to.low_x, -pixels.x() / f.graph.width()), all.low_x,
       all.high_x);
  move(to.low_y, to.high_y, std::pow(to.high_y / to.low_y, pixels.y() / f.graph.height()), all.low_y,
       all.high_y);
  zoom_to(to);
}

bool RooflineView::is_shown(const RooflineDot& dot, bool strip) const {
  return strip || !zoom_ || zoom_->holds(dot.x, dot.y);
}

QPointF RooflineView::place_of(const RooflineDot& dot, bool strip) const {
  const Frame f = frame(rect());
  return strip ? QPointF(f.strip.left() + f.strip.width() * std::clamp(dot.x, 0.0, 1.0), f.strip.center().y())
               : QPointF(f.x(dot.x), f.y(dot.y));
}

// The smallest that holds the point: it is drawn last.
const RooflineDot* RooflineView::dot_at(const QPointF& at) const {
  const std::vector<const RooflineDot*> all = dots_at(at);
  return all.empty() ? nullptr : all.back();
}

std::vector<const RooflineDot*> RooflineView::dots_at(const QPointF& at) const {
  std::vector<const RooflineDot*> all;
  for (const bool strip : {false, true}) {
    for (const RooflineDot& dot : strip ? plot_.strip : plot_.dots) {
      const QPointF away = place_of(dot, strip) - at;
      if (is_shown(dot, strip) && std::hypot(away.x(), away.y()) <= roofline_radius(dot.share) + 2)
        all.push_back(&dot);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->share > b->share; });
  return all;
}

int RooflineView::item_count() const {
  return static_cast<int>(plot_.dots.size() + plot_.strip.size());
}

const RooflineDot& RooflineView::dot_of(int item) const {
  const auto i = static_cast<std::size_t>(item);
  return i < plot_.dots.size() ? plot_.dots[i] : plot_.strip[i - plot_.dots.size()];
}

QString RooflineView::item_text(int item) const {
  return words_of(dot_of(item));
}

QRectF RooflineView::item_rect(int item) const {
  const bool strip = static_cast<std::size_t>(item) >= plot_.dots.size();
  const RooflineDot& dot = dot_of(item);
  if (!is_shown(dot, strip)) return {};
  const double r = roofline_radius(dot.share);
  const QPointF at = place_of(dot, strip);
  return {at.x() - r, at.y() - r, 2 * r, 2 * r};
}

void RooflineView::choose_item(int item) {
  emit dot_chosen(dot_of(item).ranking_row);
}

// What is outside of the part that is shown comes in.
void RooflineView::reach_item(int item) {
  if (item < 0) {
    emit hover_left();
    return;
  }
  const bool strip = static_cast<std::size_t>(item) >= plot_.dots.size();
  if (!is_shown(dot_of(item), strip)) zoom_to(std::nullopt);
  emit dot_hovered(dot_of(item).ranking_row);
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  const QPointF moved = at - drag_from_;
  if (drag_ == Drag::press && std::hypot(moved.x(), moved.y()) >= kMinZoomDrag) drag_ = Drag::box;
  if (drag_ == Drag::box) {
    const QRectF graph = frame(rect()).graph;
    drag_to_ = {std::clamp(at.x(), graph.left(), graph.right()),
                std::clamp(at.y(), graph.top(), graph.bottom())};
    update();
  } else if (drag_ == Drag::pan) {
    pan_by(at - drag_to_);
    drag_to_ = at;
  } else if (const RooflineDot* dot = dot_at(at)) {
    emit dot_hovered(dot->ranking_row);
  } else {
    emit hover_left();
  }
}

void RooflineView::mousePressEvent(QMouseEvent* event) {
  drag_from_ = drag_to_ = event->position();
  const bool left = event->button() == Qt::LeftButton;
  if (event->button() == Qt::MiddleButton || (left && (event->modifiers() & Qt::ShiftModifier) != 0)) {
    drag_ = Drag::pan;
  } else if (left) {
    drag_ = Drag::press;
  }
}

void RooflineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag was = std::exchange(drag_, Drag::none);
  if (was == Drag::press) {
    click(event->position(), event->globalPosition().toPoint());
  } else if (was == Drag::box) {
    const QRectF box = QRectF(drag_from_, drag_to_).normalized();
    const Frame f = frame(rect());
    const RooflineWindow to{f.value_x(box.left()), f.value_x(box.right()), f.value_y(box.bottom()),
                            f.value_y(box.top())};
    const bool wide = box.width() >= kMinZoomDrag && box.height() >= kMinZoomDrag;
    if (wide && to.high_x / to.low_x >= kMinZoomRatio && to.high_y / to.low_y >= kMinZoomRatio) zoom_to(to);
    update();
  }
}

void RooflineView::click(const QPointF& at, const QPoint& on_screen) {
  const std::vector<const RooflineDot*> all = dots_at(at);
  if (all.empty()) {
    emit nothing_chosen();
    return;
  }
  std::vector<std::size_t> rows;
  for (const RooflineDot* dot : all) rows.push_back(dot->ranking_row);
  emit dot_chosen(rows.back());  // that on top
  if (rows.size() >= kHeap) emit list_asked(rows, on_screen);
}

void RooflineView::contextMenuEvent(QContextMenuEvent* event) {
  std::vector<std::size_t> rows;
  for (const RooflineDot* dot : dots_at(event->pos())) rows.push_back(dot->ranking_row);
  emit list_asked(rows, event->globalPos());
}

void RooflineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (dot_at(event->position()) == nullptr) zoom_to(std::nullopt);
}

void RooflineView::wheelEvent(QWheelEvent* event) {
  const double turned =
      event->pixelDelta().isNull() ? event->angleDelta().y() / 2.0 : event->pixelDelta().y();
  zoom_at(event->position(), std::pow(1.0035, -turned));
  event->accept();
}

void RooflineView::keyPressEvent(QKeyEvent* event) {
  const QPointF middle = frame(rect()).graph.center();
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom_at(middle, kZoomOfKey);
    case Qt::Key_Minus:
      return zoom_at(middle, 1 / kZoomOfKey);
    case Qt::Key_0:
      return zoom_to(std::nullopt);
    case Qt::Key_Escape:
      if (zoom_) return zoom_to(std::nullopt);
      break;
    default:
      break;
  }
  ItemChart::keyPressEvent(event);
}

void RooflineView::leaveEvent(QEvent*) {
  emit hover_left();
}

QString RooflineView::words_of(const RooflineDot& dot) const {
  QString text = tr("%1. %2\n%3, %4 of the %5")
                     .arg(dot.ranking_row + 1)
                     .arg(shown(reports::elide_kernel_name(dot.name, 120)), time_words(dot.time_ns),
                          plain(percent_text(dot.share)), noun_);
  if (dot.ratio)
    text += tr("\n%1 of its nearest roof, bound by %2")
                .arg(plain(percent_text(*dot.ratio)), plain(reports::bound_word(dot.bound)));
  if (plot_.mode == RooflineMode::intensity && dot.y > 0)
    text += tr("\n%1 at %2 FLOP/byte").arg(plain(operations_text(dot.y)), plain(fixed(dot.x, 1)));
  return text;
}

bool RooflineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const std::vector<const RooflineDot*> all = dots_at(help->pos());
    if (all.empty()) {
      QToolTip::hideText();
      return true;
    }
    QString text = words_of(*all.back());
    // Those under it, by name.
    for (std::size_t i = 0; i + 1 < all.size() && i < kTooltipDots; ++i)
      text +=
          (i == 0 ? tr("\nhere too: ") : QString("\n")) +
          tr("%1. %2").arg(all[i]->ranking_row + 1).arg(shown(reports::elide_kernel_name(all[i]->name, 60)));
    if (all.size() > kTooltipDots + 1) text += tr("\nand %1 more").arg(all.size() - 1 - kTooltipDots);
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return ItemChart::event(event);
}

}  // namespace ridgeline::gui
