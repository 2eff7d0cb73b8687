// log_panel.h: what must be known of the capture, and what this program did with it.
#pragma once

#include <QListWidget>
#include <QWidget>

#include "models/capture_document.h"

namespace ridgeline::gui {

class LogPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LogPanel(QWidget* parent = nullptr);
  /// One line; the newest is last.
  void note(Severity severity, const QString& text);
  /// The findings of a capture, worst first, with what can be done.
  void note_findings(const CaptureDocument& document);
  [[nodiscard]] int lines() const { return list_->count(); }

 private:
  QListWidget* list_;
};

}  // namespace ridgeline::gui
