#include "app/focus_ring.h"

#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QPainter>
#include <QProxyStyle>
#include <functional>
#include <utility>

#include "style/theme.h"

namespace ridgeline::gui {
namespace {

// A focus frame over the widget and not beside it: panels have no margins that would show it.
class RingStyle : public QProxyStyle {
 public:
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* answer) const override {
    return hint == SH_FocusFrame_AboveWidget ? 1 : QProxyStyle::styleHint(hint, option, widget, answer);
  }
  int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
    return metric == PM_FocusFrameHMargin || metric == PM_FocusFrameVMargin
               ? 0
               : QProxyStyle::pixelMetric(metric, option, widget);
  }
};

// Says of each press whether it was a key's or the mouse's. Not the ring itself: a focus frame takes what it filters
// for events of its widget's parents.
class InputWatch : public QObject {
 public:
  InputWatch(QObject* parent, std::function<void(bool)> pressed)
      : QObject(parent), pressed_(std::move(pressed)) {}

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::KeyPress) pressed_(true);
    if (event->type() == QEvent::MouseButtonPress) pressed_(false);
    return QObject::eventFilter(watched, event);
  }

 private:
  std::function<void(bool)> pressed_;
};

QDockWidget* dock_of(QWidget* widget) {
  for (; widget != nullptr; widget = widget->parentWidget()) {
    if (auto* dock = qobject_cast<QDockWidget*>(widget)) return dock;
  }
  return nullptr;
}

}  // namespace

FocusRing::FocusRing(QWidget* window) : QFocusFrame(window), window_(window) {
  auto* style = new RingStyle;
  style->setParent(this);
  setStyle(style);
  hide();
  auto* watch = new InputWatch(this, [this](bool keyboard) {
    by_keyboard_ = keyboard;
    if (!keyboard) follow(nullptr);
  });
  qApp->installEventFilter(watch);
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { follow(now); });
}

void FocusRing::follow(QWidget* focused) {
  const bool ours = focused != nullptr && focused != window_ && focused->window() == window_;
  setWidget(by_keyboard_ && ours ? focused : nullptr);
  if (widget() == nullptr) hide();
}

void FocusRing::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(QPen(theme().accent, 2));
  painter.drawRect(rect().adjusted(1, 1, -1, -1));
}

QWidget* next_seen(QWidget* from, bool forward) {
  const QWidget* const window = from->window();
  const auto step = [forward](QWidget* widget) {
    return forward ? widget->nextInFocusChain() : widget->previousInFocusChain();
  };
  for (QWidget* widget = step(from); widget != from; widget = step(widget)) {
    const bool takes = (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->focusProxy() == nullptr;
    if (!takes || widget->window() != window || !widget->isEnabled() || !widget->isVisible()) continue;
    // Qt puts a dock that is behind another out of the window.
    const QDockWidget* dock = dock_of(widget);
    if (dock != nullptr && (dock->geometry().right() < 0 || dock->geometry().bottom() < 0)) continue;
    return widget;
  }
  return nullptr;
}

}  // namespace ridgeline::gui
