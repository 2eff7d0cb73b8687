#include "panels/elided_label.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QPainter>
#include <QRegularExpression>

namespace ridgeline::gui {

QString elided_words(const QString& text, const QFontMetrics& metrics, int width) {
  if (metrics.horizontalAdvance(text) <= width) return text;
  static const QRegularExpression kNumber("^[^A-Za-z%]*\\d[^A-Za-z%]*$");  // without a unit
  QStringList words = text.split(' ');
  while (!words.isEmpty()) {
    words.removeLast();
    while (!words.isEmpty() && kNumber.match(words.last()).hasMatch()) words.removeLast();
    const QString left = words.join(' ') + QString::fromUtf8(" …");
    if (!words.isEmpty() && metrics.horizontalAdvance(left) <= width) return left;
  }
  return metrics.elidedText(text, Qt::ElideRight, width);
}

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  auto* copy = new QAction(tr("Copy"), this);
  connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(text()); });
  addAction(copy);
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

void ElidedLabel::setText(const QString& text) {
  QLabel::setText(text);
  setToolTip(text);
}

QSize ElidedLabel::minimumSizeHint() const {
  return {0, fontMetrics().height()};
}

bool ElidedLabel::is_cut() const {
  return fontMetrics().horizontalAdvance(text()) > contentsRect().width();
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(contentsRect(), static_cast<int>(alignment()) | Qt::TextSingleLine,
                   elided_words(text(), fontMetrics(), contentsRect().width()));
}

}  // namespace ridgeline::gui
