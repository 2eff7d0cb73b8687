// step_panel.h: where the time of a step, or of the chosen range, went.
#pragma once

#include <QScrollArea>
#include <map>

#include "panels/charts.h"
#include "panels/scope_panel.h"
#include "ridgeline/analyzer/work/step_pace.h"

namespace ridgeline::gui {

class StepPanel : public ScopePanel {
  Q_OBJECT
 public:
  StepPanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  [[nodiscard]] const FlameChart* flame() const { return flame_; }
  [[nodiscard]] QString title() const { return title_->text(); }
  [[nodiscard]] const ColumnChart* steps() const { return steps_; }
  /// The kernels that were launched inside a range of the tree, and inside what it holds.
  [[nodiscard]] KernelChoice kernels_inside(const std::string& path) const;
  /// The step of that number; empty: the representative.
  void choose_step(std::optional<std::int64_t> step_index);
  /// What the chosen kernel takes in each step, by Step::id; nothing: no kernel is chosen.
  void set_kernel_times(const std::map<store::Id, double>& times_ns);

 protected:
  void show_answer(const ScopeAnswer& answer) override;
  void changeEvent(QEvent* event) override;

 private:
  void show_steps();
  void ask_pace();
  /// Of a step by its place in the overview's: tokens or steps a second, bytes of memory held, and all that its column
  /// says.
  [[nodiscard]] std::optional<double> rate_of(std::size_t step, bool tokens) const;
  [[nodiscard]] std::optional<double> held_of(std::size_t step) const;
  [[nodiscard]] QString step_words(std::size_t step, bool tokens) const;
  void choose_part(const std::string& path);
  void find_kernels_of_boxes(const ScopeAnswer& answer);
  [[nodiscard]] std::vector<bool> boxes_with(const KernelChoice& kernel) const;

  QLabel* title_;
  StackedBar* bar_parts_;
  QLabel* communication_;
  FlameChart* flame_;
  QLabel* flame_title_;
  QLabel* steps_title_ = nullptr;
  ColumnChart* steps_;
  QLabel* outliers_;
  QToolButton* back_;
  std::optional<std::int64_t> chosen_;
  std::vector<std::size_t> shown_steps_;                  // of the columns, by place in the overview's steps
  std::vector<std::vector<store::Id>> kernels_of_boxes_;  // ascending
  std::map<store::Id, double> kernel_times_;
  std::vector<analyzer::StepPace> pace_;  // of the overview's steps; empty: not known yet
};

/// The parts that an accounting adds up to, largest kinds first as people read them.
[[nodiscard]] std::vector<BarPart> accounting_parts(const analyzer::Accounting& accounting);
/// Those that would be told as 0.0 % of the whole as one part, where there are several; parts of nothing are left out.
[[nodiscard]] std::vector<BarPart> without_crumbs(std::vector<BarPart> parts, double whole);
/// Boxes of the NVTX tree by kernel time, coloured by what bounds most of it.
/// Their shares are of a step, range or window: `noun`.
[[nodiscard]] std::vector<FlameBox> flame_boxes(const std::vector<analyzer::TimePart>& tree,
                                                std::string_view noun = "step");

}  // namespace ridgeline::gui
