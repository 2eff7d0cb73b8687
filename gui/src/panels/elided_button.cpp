#include "panels/elided_button.h"

#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <algorithm>

#include "panels/elided_label.h"

namespace ridgeline::gui {
namespace {

constexpr int kMinWidth = 90;  // pixels: a length of time

}  // namespace

ElidedButton::ElidedButton(QWidget* parent) : QToolButton(parent) {
  setToolButtonStyle(Qt::ToolButtonTextOnly);
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QSize ElidedButton::minimumSizeHint() const {
  const QSize all = sizeHint();
  return {std::min(all.width(), kMinWidth), all.height()};
}

void ElidedButton::paintEvent(QPaintEvent*) {
  QStylePainter painter(this);
  QStyleOptionToolButton option;
  initStyleOption(&option);
  // What the style puts round the words.
  const int frame = sizeHint().width() - fontMetrics().horizontalAdvance(text());
  option.text = elided_words(text(), fontMetrics(), width() - std::max(frame, 0));
  painter.drawComplexControl(QStyle::CC_ToolButton, option);
}

}  // namespace ridgeline::gui
