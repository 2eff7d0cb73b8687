// gaps_panel.h: where the device did nothing, the longest first: why, between which kernels, in which NVTX range. A row
// leads to that gap in the timeline, with the launch that ended it.
#pragma once

#include <QLabel>
#include <QLineEdit>

#include "panels/elided_label.h"
#include "panels/scope_panel.h"
#include "panels/table_view.h"

namespace ridgeline::gui {

class GapsPanel : public ScopePanel {
  Q_OBJECT
 public:
  GapsPanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  /// "148 gaps, 3.930 ms, 8.1 % of the step".
  [[nodiscard]] QString total() const { return total_->text(); }
  /// The chosen gap in a sentence; "": none is.
  [[nodiscard]] QString chosen() const { return detail_->text(); }

 public slots:
  /// Goes to the gap below or above in the table, which begins with the longest; the first time to the first.
  void next();
  void previous();

 protected:
  void show_answer(const ScopeAnswer& answer) override;

 private:
  void step_by(int rows);
  void go_to(std::size_t row);
  /// Of what shares are.
  [[nodiscard]] QString noun() const;
  [[nodiscard]] QString sentence(const analyzer::Gap& gap, std::size_t row) const;

  TableView* table_;
  QLineEdit* filter_;
  ElidedLabel* total_;
  QLabel* detail_;
};

}  // namespace ridgeline::gui
