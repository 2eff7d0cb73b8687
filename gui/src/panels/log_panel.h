// log_panel.h: what must be known of the capture, and what this program did with it.
#pragma once

#include <QListWidget>
#include <QWidget>
#include <map>

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
  /// Chooses a line, as a click does.
  void choose(int line) { list_->setCurrentRow(line); }

 signals:
  /// A finding's line was chosen: this is what it is about.
  void subject_chosen(const analyzer::Subject& subject);

 private:
  QListWidget* list_;
  std::map<const QListWidgetItem*, analyzer::Subject> subjects_;
};

}  // namespace ridgeline::gui
