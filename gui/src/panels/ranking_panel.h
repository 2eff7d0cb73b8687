// ranking_panel.h: the kernels by what they could save, as `ridgeline rank` has them.
#pragma once

#include <QComboBox>
#include <QLineEdit>

#include "panels/elided_label.h"
#include "panels/scope_panel.h"
#include "panels/table_view.h"

namespace ridgeline::gui {

class RankingPanel : public ScopePanel {
  Q_OBJECT
 public:
  RankingPanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] QComboBox* grouping() const { return grouping_; }
  /// What all rows save, or what the filter left of them.
  [[nodiscard]] QString total() const { return total_->text(); }

 signals:
  /// A row was activated: its kernel is to be seen in the timeline.
  void kernel_activated();

 protected:
  void show_answer(const ScopeAnswer& answer) override;

 private:
  void follow_selection();
  void show_total();
  [[nodiscard]] bool is_of_range(std::size_t row) const;
  void choose(std::size_t row);
  void show_launches(std::size_t row);

  TableView* table_;
  QLineEdit* filter_;
  QComboBox* grouping_;
  ElidedLabel* total_;
};

}  // namespace ridgeline::gui
