// roofline_panel.h: the roofline with its settings.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QSlider>

#include "panels/elided_label.h"
#include "panels/scope_panel.h"
#include "roofline/roofline_view.h"

namespace ridgeline::gui {

/// Rows of the ranking that have one of these kernels.
[[nodiscard]] std::vector<std::size_t> rows_of(const ScopeAnswer& answer, const KernelChoice& kernel);

/// For a place of a roofline where several dots are: choosing a line chooses its kernel, pointing at it marks it. The
/// view owns it; the selection outlives it.
[[nodiscard]] QMenu* dots_menu(RooflineView& view, const ScopeAnswer& answer,
                               const std::vector<std::size_t>& ranking_rows, Selection& selection);

class RooflinePanel : public ScopePanel {
  Q_OBJECT
 public:
  RooflinePanel(CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);

  [[nodiscard]] RooflineView* view() const { return view_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] const RooflineSettings& settings() const { return settings_; }
  /// A picture of the plot: PNG, or SVG where the name ends so. Failure: io.
  [[nodiscard]] Result<void> save(const QString& path) const;
  void export_picture();

 protected:
  void show_answer(const ScopeAnswer& answer) override;

 private:
  void choose_mode();
  void plot_again();
  void show_list(const std::vector<std::size_t>& ranking_rows, const QPoint& at);
  void follow_kernel();
  [[nodiscard]] std::vector<std::size_t> rows_of(const KernelChoice& kernel) const;

  RooflineSettings settings_;
  bool mode_chosen_ = false, roofs_chosen_ = false;  // by its user
  RooflineView* view_;
  QComboBox* mode_;
  QComboBox* roofs_;
  QToolButton* what_;
  QSlider* slider_;
  QLineEdit* filter_;
  ElidedLabel* note_;
};

}  // namespace ridgeline::gui
