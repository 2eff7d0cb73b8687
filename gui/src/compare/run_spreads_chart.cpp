#include "compare/run_spreads_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kRow = 15, kLowestRow = 10;
constexpr double kBetweenSides = 5;
constexpr double kFeet = 20;  // the axis' numbers
constexpr double kMargin = 6;
constexpr double kNames = 30;  // of "A10", left of the rows

QString name_of(const RunSpread& run) {
  return QString(run.of_a ? "A%1" : "B%1").arg(run.run + 1);
}

}  // namespace

RunSpreadsChart::RunSpreadsChart(QWidget* parent) : ItemChart(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void RunSpreadsChart::set_runs(std::vector<RunSpread> runs) {
  runs_ = std::move(runs);
  double low = INFINITY, high = 0;
  for (const RunSpread& run : runs_) {
    if (run.spread.count == 0) continue;
    low = std::min(low, run.spread.low_ns);
    high = std::max(high, run.spread.high_ns);
  }
  if (high == 0) low = 0;
  const double margin = std::max((high - low) * 0.04, high * 0.01 + 1);
  low_ns_ = std::max(low - margin, 0.0);
  high_ns_ = high + margin;
  updateGeometry();
  items_changed();
}

void RunSpreadsChart::set_looked_at(std::size_t run_of_a, std::size_t run_of_b) {
  for (RunSpread& run : runs_) run.looked_at = run.run == (run.of_a ? run_of_a : run_of_b);
  update();
}

QSize RunSpreadsChart::sizeHint() const {
  return {320, static_cast<int>(kRow * static_cast<double>(runs_.size()) + kBetweenSides + kFeet + kMargin)};
}

QSize RunSpreadsChart::minimumSizeHint() const {
  return {160,
          static_cast<int>(kLowestRow * static_cast<double>(runs_.size()) + kBetweenSides + kFeet + kMargin)};
}

QRectF RunSpreadsChart::graph() const {
  return QRectF(rect()).adjusted(kMargin + kNames, kMargin, -kMargin, -kFeet);
}

double RunSpreadsChart::row_height() const {
  const double each =
      (graph().height() - kBetweenSides) / std::max<double>(static_cast<double>(runs_.size()), 1);
  return std::clamp(each, kLowestRow, kRow);
}

double RunSpreadsChart::x_of(double ns) const {
  const QRectF area = graph();
  return area.left() + area.width() * std::clamp((ns - low_ns_) / (high_ns_ - low_ns_), 0.0, 1.0);
}

QString RunSpreadsChart::item_text(int item) const {
  const RunSpread& run = runs_[static_cast<std::size_t>(item)];
  const comparison::DurationSpread& of = run.spread;
  const QString name = tr("%1 · %2").arg(name_of(run), run.capture);
  if (!run.failure.isEmpty()) return tr("%1: %2").arg(name_of(run), run.failure);
  if (of.count == 0) return tr("%1: none").arg(name);
  return tr("%1: median %2, half of %3 between %4 and %5, nine in ten between %6 and %7")
      .arg(name, time_words(of.median_ns),
           plain(counted(of.count, run.of_steps ? "step" : "launch", run.of_steps ? "steps" : "launches")),
           time_words(of.quarter_ns), time_words(of.three_quarters_ns), time_words(of.low_ns),
           time_words(of.high_ns));
}

QRectF RunSpreadsChart::item_rect(int item) const {
  const RunSpread& run = runs_[static_cast<std::size_t>(item)];
  const double top =
      graph().top() + row_height() * item + (run.of_a || !runs_.front().of_a ? 0 : kBetweenSides);
  return {kMargin, top, width() - 2 * kMargin, row_height()};
}

int RunSpreadsChart::item_at(const QPointF& at) const {
  for (int item = 0; item < item_count(); ++item)
    if (item_rect(item).contains(at)) return item;
  return -1;
}

void RunSpreadsChart::paint_run(QPainter& painter, int item) const {
  const Theme& t = theme();
  const RunSpread& run = runs_[static_cast<std::size_t>(item)];
  const QRectF row = item_rect(item);
  QFont font = small_font(row.height() < 13 ? 0.75 : 0.85);
  font.setBold(run.looked_at);
  painter.setFont(font);
  painter.setPen(run.looked_at ? t.text : t.faint);
  painter.drawText(QRectF(row.left(), row.top(), kNames - 4, row.height()), Qt::AlignRight | Qt::AlignVCenter,
                   name_of(run));
  const comparison::DurationSpread& of = run.spread;
  if (of.count == 0) {
    painter.drawText(QRectF(graph().left() + 4, row.top(), graph().width(), row.height()),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     run.failure.isEmpty() ? tr("none") : tr("cannot be read"));
    return;
  }
  const QColor colour = run.of_a ? t.hovered : t.accent;
  const double middle = std::floor(row.center().y()) + 0.5, half = std::floor(row.height() * 0.3);
  painter.setPen(QPen(colour, 1.4));
  painter.drawLine(QPointF(x_of(of.low_ns), middle), QPointF(x_of(of.high_ns), middle));
  const double left = x_of(of.quarter_ns), right = std::max(x_of(of.three_quarters_ns), left + 2);
  painter.fillRect(QRectF(left, middle - half, right - left, 2 * half), colour);
  painter.setPen(QPen(t.text, 2));
  const double median = x_of(of.median_ns);
  painter.drawLine(QPointF(median, middle - half - 1), QPointF(median, middle + half + 1));
}

void RunSpreadsChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  for (int item = 0; item < item_count(); ++item) paint_run(painter, item);
  if (runs_.empty()) return;
  const QRectF area = graph();
  const double foot = item_rect(item_count() - 1).bottom() + 2;
  painter.setFont(small_font(0.85));
  painter.setPen(t.line);
  painter.drawLine(QPointF(area.left(), foot), QPointF(area.right(), foot));
  painter.setPen(t.faint);
  const QRectF feet(area.left(), foot + 1, area.width(), 16);
  painter.drawText(feet, Qt::AlignLeft, time_words(low_ns_));
  painter.drawText(feet, Qt::AlignRight, time_words(high_ns_));
  painter.drawText(feet, Qt::AlignHCenter, tr("5 · 25 · 50 · 75 · 95 %"));
  paint_current(painter);
}

void RunSpreadsChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) choose(item_at(event->position()));
}

void RunSpreadsChart::choose_item(int item) {
  const RunSpread& run = runs_[static_cast<std::size_t>(item)];
  emit run_chosen(run.of_a, run.run);
}

bool RunSpreadsChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return ItemChart::event(event);
  const auto* help = dynamic_cast<QHelpEvent*>(event);
  const int item = item_at(help->pos());
  if (item < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), item_text(item), this);
  }
  return true;
}

}  // namespace ridgeline::gui
