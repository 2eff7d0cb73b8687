#include "ranks/lateness_map.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

constexpr double kMapLeft = 58;
constexpr double kMapFoot = 18;
constexpr double kMapMargin = 4;
constexpr int kMinCellHeight = 4;   // what a hand still hits
constexpr int kMaxCellHeight = 56;  // of two ranks, no more than this of a panel
constexpr double kLabelHeight = 14;
constexpr double kLegendGap = 12, kMapSwatch = 9;
constexpr double kStrongest = 2;  // times what is named: the full colour

// Red is late, blue is early; what is far below what would be named stays the ground's.
QColor map_colour(double lateness_ns, double threshold_ns) {
  const Theme& t = theme();
  const double share =
      threshold_ns > 0 ? std::clamp(std::abs(lateness_ns) / (kStrongest * threshold_ns), 0.0, 1.0) : 0;
  return mixed(lateness_ns > 0 ? t.bad : t.accent, t.alternate, share);
}

}  // namespace

LatenessMap::LatenessMap(QWidget* parent) : ItemChart(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Lateness of each rank in each step"));
}

void LatenessMap::set_analysis(std::shared_ptr<const analyzer::JobAnalysis> analysis) {
  analysis_ = std::move(analysis);
  chosen_ = -1;
  setMinimumHeight(static_cast<int>(ranks()) * kMinCellHeight + static_cast<int>(kMapFoot + 2 * kMapMargin));
  items_changed();
}

void LatenessMap::set_chosen(std::size_t rank, std::size_t step) {
  chosen_ = rank < ranks() && step < steps() ? static_cast<int>(rank * steps() + step) : -1;
  update();
}

QRectF LatenessMap::area() const {
  return {kMapLeft, kMapMargin, std::max(1.0, width() - kMapLeft - kMapMargin),
          std::clamp(height() - kMapFoot - 2 * kMapMargin, 1.0,
                     std::max(1.0, static_cast<double>(ranks()) * kMaxCellHeight))};
}

int LatenessMap::item_count() const {
  return static_cast<int>(ranks() * steps());
}

double LatenessMap::lateness_of(int item) const {
  const auto at = static_cast<std::size_t>(item);
  return analysis_->step_costs[at % steps()].rank_lateness_ns[at / steps()];
}

QString LatenessMap::item_text(int item) const {
  const auto at = static_cast<std::size_t>(item);
  const double lateness = lateness_of(item);
  return tr("rank %1, step %2: %3 %4")
      .arg(analysis_->ranks[at / steps()])
      .arg(analysis_->step_costs[at % steps()].step_index)
      .arg(time_words(std::abs(lateness)),
           lateness < 0 ? tr("earlier than the others") : tr("later than the others"));
}

QRectF LatenessMap::item_rect(int item) const {
  const QRectF all = area();
  const auto at = static_cast<std::size_t>(item);
  const double wide = all.width() / static_cast<double>(steps());
  const double tall = all.height() / static_cast<double>(ranks());
  const std::size_t step = at % steps(), rank = at / steps();
  return {all.left() + wide * static_cast<double>(step), all.top() + tall * static_cast<double>(rank), wide,
          tall};
}

int LatenessMap::item_at(const QPointF& at) const {
  const QRectF all = area();
  if (item_count() == 0 || !all.contains(at)) return -1;
  const auto step =
      std::min(static_cast<std::size_t>((at.x() - all.left()) / all.width() * static_cast<double>(steps())),
               steps() - 1);
  const auto rank =
      std::min(static_cast<std::size_t>((at.y() - all.top()) / all.height() * static_cast<double>(ranks())),
               ranks() - 1);
  return static_cast<int>(rank * steps() + step);
}

void LatenessMap::choose_item(int item) {
  chosen_ = item;
  const auto at = static_cast<std::size_t>(item);
  emit cell_chosen(at / steps(), at % steps());
}

void LatenessMap::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.setFont(small_font(0.85));
  if (item_count() == 0) {
    painter.setPen(t.faint);
    painter.drawText(rect(), Qt::AlignCenter, tr("no steps that all ranks have"));
    return;
  }
  const double tall = item_rect(0).height();
  const auto label_every = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLabelHeight / tall)));
  const double gap = tall > 2 * kMinCellHeight ? 1 : 0;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const QRectF first = item_rect(static_cast<int>(rank * steps()));
    if (first.bottom() < event->rect().top() - kLabelHeight ||
        first.top() > event->rect().bottom() + kLabelHeight)
      continue;
    for (std::size_t step = 0; step < steps(); ++step) {
      const int item = static_cast<int>(rank * steps() + step);
      painter.fillRect(item_rect(item).adjusted(0, 0, -gap, -gap),
                       map_colour(lateness_of(item), analysis_->late_threshold_ns));
    }
    if (rank % label_every != 0) continue;
    painter.setPen(t.faint);
    painter.drawText(QRectF(0, first.center().y() - kLabelHeight / 2, kMapLeft - 6, kLabelHeight),
                     Qt::AlignRight | Qt::AlignVCenter, tr("rank %1").arg(analysis_->ranks[rank]));
  }
  painter.setPen(t.faint);
  const QRectF foot(kMapLeft, area().bottom() + kMapMargin, area().width(), kMapFoot);
  const QString first_step = tr("step %1").arg(analysis_->step_costs.front().step_index);
  const QString last_step = tr("step %1").arg(analysis_->step_costs.back().step_index);
  painter.drawText(foot, Qt::AlignLeft, first_step);
  painter.drawText(foot, Qt::AlignRight, last_step);
  paint_legend(painter, foot.adjusted(painter.fontMetrics().horizontalAdvance(first_step) + kLegendGap, 0,
                                      -painter.fontMetrics().horizontalAdvance(last_step) - kLegendGap, 0));
  if (chosen_ >= 0) {
    painter.setPen(QPen(t.selected, 2));
    painter.drawRect(item_rect(chosen_).adjusted(0, 0, -1, -1));
  }
  paint_current(painter);
}

// In the middle between the numbers of the steps, if both words have room there.
void LatenessMap::paint_legend(QPainter& painter, const QRectF& room) const {
  const QFontMetricsF metrics(painter.font());
  const std::pair<QString, QColor> words[] = {{tr("late"), theme().bad}, {tr("early"), theme().accent}};
  double wide = -kLegendGap;
  for (const auto& [text, colour] : words)
    wide += kMapSwatch + 4 + metrics.horizontalAdvance(text) + kLegendGap;
  if (wide > room.width()) return;
  double x = room.center().x() - wide / 2;
  for (const auto& [text, colour] : words) {
    painter.fillRect(QRectF(x, room.top() + 3, kMapSwatch, kMapSwatch), colour);
    x += kMapSwatch + 4;
    painter.drawText(QRectF(x, room.top(), metrics.horizontalAdvance(text) + 1, room.height()), Qt::AlignLeft,
                     text);
    x += metrics.horizontalAdvance(text) + kLegendGap;
  }
}

void LatenessMap::mousePressEvent(QMouseEvent* event) {
  choose(item_at(event->position()));
}

bool LatenessMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return ItemChart::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int item = item_at(help->pos());
  if (item >= 0) QToolTip::showText(help->globalPos(), item_text(item), this);
  return true;
}

}  // namespace ridgeline::gui
