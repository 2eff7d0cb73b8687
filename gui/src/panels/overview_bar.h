// overview_bar.h: above everything, the headline: what dominates the step, are the targets met, what to do first; then
// which step of which recording. A line each, and two where the window is narrow.
#pragma once

#include <QBoxLayout>
#include <QPushButton>
#include <QWidget>

#include "models/capture_document.h"
#include "panels/elided_label.h"

namespace ridgeline::gui {

class OverviewBar : public QWidget {
  Q_OBJECT
 public:
  explicit OverviewBar(const CaptureDocument& document, QWidget* parent = nullptr);
  /// Lines from above, whole.
  [[nodiscard]] QStringList lines() const;
  [[nodiscard]] const std::vector<ElidedLabel*>& labels() const { return lines_; }

 signals:
  void notices_asked();

 private:
  void add_line(const QString& text, const QFont& font, int max_lines = 1);
  QVBoxLayout* words_;
  std::vector<ElidedLabel*> lines_;
  QPushButton* notices_;
};

}  // namespace ridgeline::gui
