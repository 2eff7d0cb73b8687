// findings_panel.h: what must be known before the figures are used, and what can be done about it: the findings of the
// analysis, worst first. One that is about a kernel or steps leads there, and lights when that kernel is chosen or
// pointed at anywhere else.
#pragma once

#include <QListWidget>
#include <QWidget>
#include <vector>

#include "models/capture_document.h"

namespace ridgeline::gui {

class FindingsPanel : public QWidget {
  Q_OBJECT
 public:
  FindingsPanel(const CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);
  [[nodiscard]] int lines() const { return static_cast<int>(lines_.size()); }
  [[nodiscard]] QString text(int line) const { return list_->item(line)->text(); }
  /// Chooses a line, as a click does.
  void choose(int line) {
    list_->setCurrentRow(line);
    go_to(line);
  }
  /// True if the line is about a kernel that is chosen.
  [[nodiscard]] bool is_lit(int line) const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Line {
    Severity severity = Severity::info;
    KernelChoice kernel;  // the worst case that it is about; empty: it is about no kernel
    KernelChoice others;  // the other cases
    std::optional<analyzer::TimeWindow>
        window;  // of the first step that it is about, if it is about no kernel
    [[nodiscard]] bool about(const KernelChoice& chosen) const {
      return kernel.shares_with(chosen) || others.shares_with(chosen);
    }
  };
  void add(const analyzer::Finding& finding);
  void light();
  void go_to(int line);

  const CaptureDocument& document_;
  Selection& selection_;
  QListWidget* list_;
  std::vector<Line> lines_;
};

}  // namespace ridgeline::gui
