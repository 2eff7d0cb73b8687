// log_panel.h: what this program did, and what went wrong.
#pragma once

#include <QListWidget>
#include <QWidget>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::gui {

class LogPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LogPanel(QWidget* parent = nullptr);
  /// One line; the newest is last.
  void note(Severity severity, const QString& text);
  [[nodiscard]] int lines() const { return list_->count(); }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  static void paint(QListWidgetItem* item);
  QListWidget* list_;
};

}  // namespace ridgeline::gui
