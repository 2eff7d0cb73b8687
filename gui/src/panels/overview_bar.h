// overview_bar.h: above everything: which capture, which step, are the targets met, what must be known.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "models/capture_document.h"

namespace ridgeline::gui {

class OverviewBar : public QWidget {
  Q_OBJECT
 public:
  explicit OverviewBar(const CaptureDocument& document, QWidget* parent = nullptr);

 signals:
  void notices_asked();

 private:
  QLabel* verdict_;
  QLabel* facts_;
  QPushButton* notices_;
};

}  // namespace ridgeline::gui
