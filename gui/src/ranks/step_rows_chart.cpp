#include "ranks/step_rows_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/ranks_pictures.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

using analyzer::CallSegment;
using analyzer::RankCall;
using analyzer::RankRow;

constexpr double kRowsLeft = 58;
constexpr double kRowsFoot = 18;
constexpr double kRowsMargin = 4;
constexpr double kSwatchSize = 9;
constexpr double kLegendWidth = 220;
constexpr double kMinRow = 12;
constexpr double kMaxRow = 30;
constexpr double kOwnShade = 0.1;       // of the text's colour: a rank's own part
constexpr double kMinExposedWidth = 1;  // pixels: the pause between two kernels is none
constexpr double kHiddenShare = 0.35;   // of a row's height: what kernels run beside

}  // namespace

StepRowsChart::StepRowsChart(QWidget* parent) : ItemChart(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Collectives of each rank in one step"));
}

void StepRowsChart::set_step(analyzer::JobStepRows step) {
  step_ = std::move(step);
  items_.clear();
  for (std::size_t row = 0; row < step_->rows.size(); ++row) {
    for (std::size_t call = 0; call < step_->rows[row].calls.size(); ++call) items_.emplace_back(row, call);
  }
  setMinimumHeight(height_with(kMinRow));
  updateGeometry();
  items_changed();
}

void StepRowsChart::set_message(const QString& message) {
  step_.reset();
  items_.clear();
  message_ = message;
  items_changed();
}

void StepRowsChart::set_chosen_rank(std::int64_t rank) {
  chosen_rank_ = rank;
  update();
}

int StepRowsChart::height_with(double row_height) const {
  const double rows = step_ ? static_cast<double>(step_->rows.size()) : 1;
  return static_cast<int>(row_height * rows + kRowsFoot + 2 * kRowsMargin);
}

QSize StepRowsChart::sizeHint() const {
  return {240, height_with(kMaxRow)};
}

double StepRowsChart::x(double time_ns) const {
  return kRowsLeft +
         std::max(1.0, width() - kRowsLeft - kRowsMargin) * time_ns / std::max(step_->duration_ns, 1.0);
}

double StepRowsChart::row_height() const {
  const auto rows = static_cast<double>(std::max<std::size_t>(step_->rows.size(), 1));
  return std::clamp((height() - kRowsFoot - 2 * kRowsMargin) / rows, kMinRow, kMaxRow);
}

QRectF StepRowsChart::row_rect(std::size_t row) const {
  const RankRow& of = step_->rows[row];
  const double top = kRowsMargin + row_height() * static_cast<double>(row);
  return {x(of.start_ns), top, x(of.end_ns) - x(of.start_ns), row_height() - 2};
}

QString StepRowsChart::item_text(int item) const {
  const auto& [row, at] = items_[static_cast<std::size_t>(item)];
  const RankCall& call = step_->rows[row].calls[at];
  double wait = 0;
  for (const CallSegment& segment : call.segments)
    wait += segment.waits ? segment.end_ns - segment.start_ns : 0;
  const auto& joined = step_->collectives[call.collective];
  QString text = tr("rank %1, %2: %3")
                     .arg(step_->rows[row].rank)
                     .arg(plain(reports::collective_text(joined)), time_words(call.end_ns - call.start_ns));
  if (joined.arrival_ns) text += tr(", %1 of it waiting for the last rank").arg(time_words(wait));
  return text;
}

QRectF StepRowsChart::item_rect(int item) const {
  const auto& [row, at] = items_[static_cast<std::size_t>(item)];
  const RankCall& call = step_->rows[row].calls[at];
  const QRectF of = row_rect(row);
  return {x(call.start_ns), of.top(), std::max(1.0, x(call.end_ns) - x(call.start_ns)), of.height()};
}

int StepRowsChart::item_at(const QPointF& at) const {
  for (int item = 0; item < item_count(); ++item) {
    if (item_rect(item).contains(at)) return item;
  }
  return -1;
}

void StepRowsChart::choose_item(int item) {
  chosen_rank_ = step_->rows[items_[static_cast<std::size_t>(item)].first].rank;
  emit rank_chosen(chosen_rank_);
}

void StepRowsChart::paint_row(QPainter& painter, std::size_t row) const {
  const Theme& t = theme();
  const RankRow& of = step_->rows[row];
  const QRectF bar = row_rect(row);
  painter.setPen(of.rank == chosen_rank_ ? t.text : t.faint);
  painter.drawText(QRectF(0, bar.top(), kRowsLeft - 6, bar.height()), Qt::AlignRight | Qt::AlignVCenter,
                   tr("rank %1").arg(of.rank));
  painter.fillRect(bar, mixed(t.text, t.base, kOwnShade));
  for (const RankCall& call : of.calls) {
    for (const CallSegment& segment : call.segments) {
      const double wide = x(segment.end_ns) - x(segment.start_ns);
      const bool low = segment.beside || wide < kMinExposedWidth;
      const double tall = low ? bar.height() * kHiddenShare : bar.height();
      const QRectF place(x(segment.start_ns), bar.bottom() - tall, wide, tall);
      painter.fillRect(place, segment.waits ? t.fair : t.accent);
    }
  }
  if (of.rank != chosen_rank_) return;
  painter.setPen(QPen(t.selected, 1.5));
  painter.drawRect(bar);
}

void StepRowsChart::paint_joins(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing);
  QColor colour = theme().text;
  colour.setAlphaF(0.4F);
  painter.setPen(QPen(colour, 1));
  for (std::size_t collective = 0; collective < step_->collectives.size(); ++collective) {
    std::optional<QPointF> before;
    for (std::size_t row = 0; row < step_->rows.size(); ++row) {
      for (const RankCall& call : step_->rows[row].calls) {
        if (call.collective != collective) continue;
        const QPointF here(x(call.start_ns), row_rect(row).center().y());
        if (before) painter.drawLine(*before, here);
        before = here;
      }
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void StepRowsChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.setFont(small_font(0.85));
  if (!step_) {
    painter.setPen(t.faint);
    painter.drawText(rect(), Qt::AlignCenter, message_);
    return;
  }
  for (std::size_t row = 0; row < step_->rows.size(); ++row) paint_row(painter, row);
  paint_joins(painter);
  painter.setPen(t.faint);
  const double top = kRowsMargin + row_height() * static_cast<double>(step_->rows.size());
  const QRectF foot(kRowsLeft, top, width() - kRowsLeft - kRowsMargin, kRowsFoot);
  painter.drawText(foot, Qt::AlignLeft, time_words(0.0));
  painter.drawText(foot, Qt::AlignRight, time_words(step_->duration_ns));
  paint_legend(painter, foot);
  paint_current(painter);
}

void StepRowsChart::paint_legend(QPainter& painter, const QRectF& foot) const {
  const Theme& t = theme();
  const QFontMetricsF metrics(painter.font());
  double at = foot.center().x() - kLegendWidth / 2;
  for (const auto& [text, colour] :
       {std::pair{tr("waits for the last rank"), t.fair}, std::pair{tr("transfer"), t.accent}}) {
    painter.fillRect(QRectF(at, foot.top() + 4, kSwatchSize, kSwatchSize), colour);
    at += kSwatchSize + 4;
    painter.drawText(QRectF(at, foot.top(), kLegendWidth, foot.height()), Qt::AlignLeft, text);
    at += metrics.horizontalAdvance(text) + 14;
  }
}

void StepRowsChart::mousePressEvent(QMouseEvent* event) {
  if (!step_) return;
  choose(item_at(event->position()));
}

bool StepRowsChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !step_) return ItemChart::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int item = item_at(help->pos());
  if (item >= 0) QToolTip::showText(help->globalPos(), item_text(item), this);
  return true;
}

}  // namespace ridgeline::gui
