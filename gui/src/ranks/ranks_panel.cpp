#include "ranks/ranks_panel.h"

#include <QBoxLayout>
#include <QEvent>
#include <QStyle>
#include <algorithm>
#include <utility>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/ranks_document.h"
#include "ridgeline/reports/ranks_pictures.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

QLabel* ranks_label(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setContentsMargins(8, 4, 8, 4);
  return label;
}

QScrollArea* scrolled(QWidget* content, QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidget(content);
  return area;
}

QWidget* column_of(std::initializer_list<std::pair<QWidget*, int>> widgets, QWidget* parent) {
  auto* holder = new QWidget(parent);
  auto* column = new QVBoxLayout(holder);
  column->setContentsMargins(0, 0, 0, 0);
  for (const auto& [widget, stretch] : widgets) column->addWidget(widget, stretch);
  return holder;
}

}  // namespace

RanksPanel::RanksPanel(const QString& path, QWidget* parent)
    : QWidget(parent),
      said_(ranks_label(this)),
      map_(new LatenessMap(this)),
      skew_(new ColumnChart(this)),
      rows_(new StepRowsChart(this)),
      step_said_(ranks_label(this)),
      table_(new TableView(this)),
      button_(new QPushButton(this)) {
  skew_->setAccessibleName(tr("Skew in each step"));
  table_->setAccessibleName(tr("Ranks"));
  said_->setText(tr("Reading the ranks…"));
  arrange();
  button_->setEnabled(false);
  connect(map_, &LatenessMap::cell_chosen, this, [this](std::size_t rank, std::size_t step) {
    choose_rank(answer_->analysis->ranks[rank]);
    choose_step(answer_->analysis->step_costs[step].step_index);
  });
  connect(skew_, &ColumnChart::column_chosen, this, [this](int column) {
    choose_step(answer_->analysis->step_costs[static_cast<std::size_t>(column)].step_index);
  });
  connect(rows_, &StepRowsChart::rank_chosen, this, &RanksPanel::choose_rank);
  connect(table_, &TableView::row_chosen, this,
          [this](std::size_t row) { choose_rank(answer_->analysis->rank_costs[row].rank); });
  connect(button_, &QPushButton::clicked, this, &RanksPanel::ask_timeline);
  worker_.ask<queries::JobAnswer>(
      this, "job", [path = path.toStdString()](const std::stop_token&) { return queries::ask_job(path); },
      [this](Result<queries::JobAnswer> answer) {
        if (answer) return show_answer(std::move(answer).value());
        said_->setText(shown(answer.failure().message));
        fit_words();
        emit failed(answer.failure());
      });
}

void RanksPanel::arrange() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  said_area_ = scrolled(said_, this);
  said_area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(said_area_);
  auto* both = new QSplitter(Qt::Horizontal, this);
  // In a low panel they scroll together: neither is pressed over the other.
  both->addWidget(scrolled(column_of({{skew_, 0}, {map_, 1}}, this), this));
  step_and_table_ = new QSplitter(Qt::Vertical, this);
  step_and_table_->addWidget(column_of({{step_said_, 0}, {scrolled(rows_, this), 1}}, this));
  step_and_table_->addWidget(column_of({{table_, 1}, {button_, 0}}, this));
  connect(step_and_table_, &QSplitter::splitterMoved, this, [this] { split_by_hand_ = true; });
  both->addWidget(step_and_table_);
  both->setStretchFactor(0, 2);
  both->setStretchFactor(1, 3);
  column->addWidget(both, 1);
}

// Whole where there is room, else a third of the panel, the rest of it scrolled: the ranks are what is looked at.
void RanksPanel::fit_words() {
  constexpr int kShare = 3;
  const int wanted = said_->heightForWidth(width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent));
  const int least = std::min(wanted, 3 * fontMetrics().lineSpacing());
  said_area_->setFixedHeight(std::clamp(height() / kShare, least, wanted));
}

// What the rows of a step want, half at most: the table has the rest, until somebody moves what divides them.
void RanksPanel::fit_rows() {
  if (split_by_hand_ || !rows_->step()) return;
  const int whole = step_and_table_->height();
  const int frame = 2 * style()->pixelMetric(QStyle::PM_DefaultFrameWidth);
  const int wanted = step_said_->heightForWidth(step_said_->width()) + rows_->sizeHint().height() + frame;
  const int rows = std::min(wanted, whole / 2);
  step_and_table_->setSizes({rows, whole - rows});
}

void RanksPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_words();
  fit_rows();
}

void RanksPanel::show_answer(queries::JobAnswer answer) {
  answer_ = std::move(answer);
  QStringList lines;
  for (const std::string& sentence : reports::ranks_sentences(*answer_->analysis)) lines << shown(sentence);
  said_->setText(with_whole_numbers(lines.join("\n")));
  fit_words();
  map_->set_analysis(answer_->analysis);
  show_skew();
  show_table();
  if (!answer_->analysis->step_costs.empty()) {
    const std::int64_t step = analyzer::telling_step(*answer_->analysis);
    choose_step(step);
    const auto cost = std::find_if(answer_->analysis->step_costs.begin(), answer_->analysis->step_costs.end(),
                                   [&](const auto& one) { return one.step_index == step; });
    choose_rank(cost->slowest_rank);
  }
  emit loaded();
}

void RanksPanel::show_skew() {
  const Theme& t = theme();
  std::vector<SeriesPoint> points;
  std::vector<std::optional<double>> waits;
  double most = 0;
  for (const analyzer::JobStepCost& step : answer_->analysis->step_costs) {
    points.push_back({.value = step.lateness_ns,
                      .colour = step.late ? t.bad : t.accent,
                      .outlier = step.late,
                      .chosen = step_ == step.step_index});
    waits.emplace_back(step.exposed_wait_ns);
    most = std::max(most, step.exposed_wait_ns);
  }
  skew_->set_points(
      std::move(points), [](double value) { return time_words(value); },
      [analysis = answer_->analysis](std::size_t i) {
        const analyzer::JobStepCost& step = analysis->step_costs[i];
        return tr("step %1: rank %2 is %3 later than the others; a rank waits %4 for others")
            .arg(step.step_index)
            .arg(step.slowest_rank)
            .arg(time_words(step.lateness_ns), time_words(step.exposed_wait_ns));
      });
  skew_->set_lines({{std::move(waits), tr("waits for others, up to %1").arg(time_words(most))}});
  skew_->set_legend({{tr("slowest rank, late"), t.bad}, {tr("slowest rank"), t.accent}});
}

void RanksPanel::show_table() {
  table_->set_table(std::make_shared<const reports::Table>(reports::rank_costs_table(*answer_->analysis)),
                    answer_->analysis);
}

void RanksPanel::choose_rank(std::int64_t rank) {
  if (!answer_) return;
  rank_ = rank;
  rows_->set_chosen_rank(rank);
  button_->setText(answer_->merged ? tr("Open the capture of rank %1").arg(rank)
                                   : tr("Show rank %1's step in the timeline").arg(rank));
  button_->setEnabled(true);
  const auto& costs = answer_->analysis->rank_costs;
  const auto row =
      std::find_if(costs.begin(), costs.end(), [&](const auto& one) { return one.rank == rank; });
  if (row != costs.end())
    table_->choose_quietly(table_->row_of(static_cast<std::size_t>(row - costs.begin())));
  mark_cell();
}

void RanksPanel::choose_step(std::int64_t step_index) {
  if (!answer_) return;
  step_ = step_index;
  show_skew();
  mark_cell();
  worker_.ask<analyzer::JobStepRows>(
      this, "step",
      [answer = *answer_, step_index](const std::stop_token&) {
        return queries::ask_job_step(answer, step_index);
      },
      [this](Result<analyzer::JobStepRows> rows) {
        if (!rows) return rows_->set_message(shown(rows.failure().message));
        step_said_->setText(shown(reports::step_rows_sentence(rows.value())) +
                            tr(" Low where kernels compute beside a collective; lines join its calls."));
        rows_->set_step(std::move(rows).value());
        fit_rows();
      });
}

void RanksPanel::mark_cell() {
  if (!rank_ || !step_) return;
  const analyzer::JobAnalysis& of = *answer_->analysis;
  const auto rank = std::find(of.ranks.begin(), of.ranks.end(), *rank_);
  const auto step = std::find_if(of.step_costs.begin(), of.step_costs.end(),
                                 [&](const auto& one) { return one.step_index == *step_; });
  map_->set_chosen(static_cast<std::size_t>(rank - of.ranks.begin()),
                   static_cast<std::size_t>(step - of.step_costs.begin()));
}

void RanksPanel::ask_timeline() {
  if (!answer_ || !rank_) return;
  const Result<std::string> path = queries::capture_of_rank(*answer_, *rank_);
  if (!path) {
    step_said_->setText(shown(path.failure().message));
    return;
  }
  if (answer_->merged) {
    emit capture_asked(QString::fromStdString(path.value()));
    return;
  }
  for (const store::JobStep& step : answer_->job->steps) {
    if (step.rank == *rank_ && step.step_index == step_.value_or(step.step_index)) {
      emit window_asked(step.start_ns, step.start_ns + step.duration_ns);
      return;
    }
  }
}

void RanksPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // The columns have the theme's colours.
  if (event->type() == QEvent::PaletteChange && answer_) show_skew();
}

}  // namespace ridgeline::gui
