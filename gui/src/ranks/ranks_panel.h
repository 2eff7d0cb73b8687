// ranks_panel.h: many ranks of one job: what is said of them, who is late when, one step rank by rank, and the way
// to one rank's own timeline. A page of its own for a merged job, a panel for a capture with several ranks.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QWidget>
#include <memory>
#include <optional>

#include "models/worker.h"
#include "panels/charts.h"
#include "panels/table_view.h"
#include "ranks/lateness_map.h"
#include "ranks/step_rows_chart.h"
#include "ridgeline/analyzer/ranks/job_step.h"
#include "ridgeline/queries/job_query.h"

namespace ridgeline::gui {

class RanksPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RanksPanel(const QString& path, QWidget* parent = nullptr);

  [[nodiscard]] bool busy() const { return worker_.busy(); }
  /// Empty until loaded().
  [[nodiscard]] const std::optional<queries::JobAnswer>& answer() const { return answer_; }
  [[nodiscard]] QString said() const { return said_->text(); }
  [[nodiscard]] LatenessMap* map() const { return map_; }
  [[nodiscard]] ColumnChart* skew() const { return skew_; }
  [[nodiscard]] StepRowsChart* rows() const { return rows_; }
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QPushButton* timeline_button() const { return button_; }
  [[nodiscard]] std::optional<std::int64_t> chosen_rank() const { return rank_; }
  [[nodiscard]] std::optional<std::int64_t> chosen_step() const { return step_; }
  void choose_rank(std::int64_t rank);
  /// Shows that step rank by rank.
  void choose_step(std::int64_t step_index);

 signals:
  void loaded();
  void failed(const ridgeline::Failure& failure);
  /// The capture that has the launches of the chosen rank of a merged job.
  void capture_asked(const QString& path);
  /// The chosen rank's step, on the capture's clock, where the capture has its launches.
  void window_asked(qint64 start_ns, qint64 end_ns);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();
  void fit_words();
  void fit_rows();
  void show_answer(queries::JobAnswer answer);
  void show_skew();
  void show_table();
  void mark_cell();
  void ask_timeline();

  Worker worker_;
  std::optional<queries::JobAnswer> answer_;
  std::optional<std::int64_t> rank_, step_;
  QLabel* said_;
  QScrollArea* said_area_ = nullptr;
  LatenessMap* map_;
  ColumnChart* skew_;
  QSplitter* step_and_table_ = nullptr;
  bool split_by_hand_ = false;
  StepRowsChart* rows_;
  QLabel* step_said_;
  TableView* table_;
  QPushButton* button_;
};

}  // namespace ridgeline::gui
