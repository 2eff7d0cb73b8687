// compare_panel.h: two sides of one or more captures, A over B: what the comparison of all runs says, and one run of
// each side to look at beside that of the other.
#pragma once

#include <QBoxLayout>
#include <QComboBox>
#include <QLabel>
#include <QTabWidget>
#include <QWidget>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare_sides.h"
#include "compare/join_band.h"
#include "compare/linked_axes.h"
#include "compare/run_spreads_chart.h"
#include "models/capture_document.h"
#include "panels/charts.h"
#include "panels/elided_label.h"
#include "panels/table_view.h"
#include "ridgeline/comparison/comparison.h"
#include "roofline/roofline_view.h"
#include "timeline/timeline_panel.h"

namespace ridgeline::gui {

class ComparePanel : public QWidget {
  Q_OBJECT
 public:
  /// The documents are of the first run of each side; they are ready and outlive the panel.
  ComparePanel(CaptureDocument& a, CaptureDocument& b, CompareSides sides, QWidget* parent = nullptr);

  ~ComparePanel() override;

  [[nodiscard]] bool busy() const;
  [[nodiscard]] const std::shared_ptr<const comparison::Comparison>& comparison() const {
    return comparison_;
  }
  [[nodiscard]] LinkedAxes& axes() { return axes_; }
  [[nodiscard]] const CompareSides& sides() const { return sides_; }
  [[nodiscard]] Selection& selection_a() { return a_.selection; }
  [[nodiscard]] Selection& selection_b() { return b_.selection; }
  /// Of the run that is looked at.
  [[nodiscard]] CaptureDocument& document_a() { return *a_.document; }
  [[nodiscard]] CaptureDocument& document_b() { return *b_.document; }
  /// Looks at another run of that side.
  void show_run(bool of_a, std::size_t run);
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QString verdict() const { return verdict_->text(); }
  /// What else must be known of the comparison, a line each: that it is of one recording, that the work differs.
  [[nodiscard]] QString notes() const { return notes_->text(); }
  [[nodiscard]] const JoinBand* band() const { return band_; }
  [[nodiscard]] QString change() const { return change_->text(); }
  /// Whose durations are shown, else that a kernel is to be chosen.
  [[nodiscard]] const ElidedLabel* durations_title() const { return durations_title_; }
  [[nodiscard]] const HistogramChart* durations() const { return durations_; }
  /// Null where each side has one run.
  [[nodiscard]] RunSpreadsChart* run_spreads() const { return run_spreads_; }
  /// Its run is looked at: what is chosen in A there is chosen in that document's other panels too, and back.
  [[nodiscard]] bool shows(const CaptureDocument& document) const { return a_.document == &document; }

 signals:
  void failed(const QString& why);

 private:
  struct Side {
    const char* name = "";
    std::vector<QString> runs;
    CaptureDocument* document = nullptr;                    // of the run that is looked at
    std::vector<std::unique_ptr<CaptureDocument>> further;  // of the others, once they were
    CaptureDocument* first = nullptr;
    Selection selection;
    TimelinePanel* timeline = nullptr;
    QComboBox* run = nullptr;
  };

  void make_run_box(Side& side, QBoxLayout& bar);
  void make_run_spreads();
  void make_timeline(Side& side);
  void look_at(Side& side, CaptureDocument& document);
  void ask();
  void show_comparison();
  void show_roofline();
  void choose(std::size_t row);
  void choose_beside(const Selection& chosen, Selection& other, bool chosen_is_a);
  void show_change(const comparison::KernelChange& change);
  void show_durations();
  void show_run_spreads();
  void mark_looked_at();
  void show_chosen_dots();
  void line_up();
  void align_on_steps();
  void align_on_chosen();
  void show_offset();

  CompareSides sides_;
  Side a_, b_;
  LinkedAxes axes_;
  std::shared_ptr<const comparison::Comparison> comparison_;
  QLabel* verdict_;
  QLabel* notes_;
  TableView* table_;
  HistogramChart* durations_;
  RunSpreadsChart* run_spreads_ = nullptr;
  /// Kernels of A and of B that the chart has or is about to have; empty before the first.
  std::optional<std::pair<std::vector<std::string>, std::vector<std::string>>> spreads_of_;
  ElidedLabel* durations_title_;
  QLabel* change_;
  RooflineView* roofline_;
  QTabWidget* charts_;
  QVBoxLayout* timelines_ = nullptr;
  JoinBand* band_;
  QLabel* offset_;
  bool choosing_ = false;
  Worker worker_;
};

}  // namespace ridgeline::gui
