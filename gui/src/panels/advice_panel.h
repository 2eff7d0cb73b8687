// advice_panel.h: what to do first, what it would give and how sure that is: the cases of advice, most gain first, then
// what could not be judged. A case that is about a kernel leads there.
#pragma once

#include <QListWidget>
#include <QWidget>
#include <vector>

#include "models/capture_document.h"

namespace ridgeline::gui {

class AdvicePanel : public QWidget {
  Q_OBJECT
 public:
  AdvicePanel(const CaptureDocument& document, Selection& selection, QWidget* parent = nullptr);
  [[nodiscard]] int lines() const { return list_->count(); }
  [[nodiscard]] QString text(int line) const { return list_->item(line)->text(); }
  /// Chooses a line, as a click does.
  void choose(int line) {
    list_->setCurrentRow(line);
    go_to(line);
  }

 private:
  void add(const QString& text, const KernelChoice& kernel);
  void go_to(int line);

  Selection& selection_;
  QListWidget* list_;
  std::vector<KernelChoice> kernels_;  // of each line; empty: it is about no kernel
};

}  // namespace ridgeline::gui
