// focus_ring.h: a ring round the widget that has the keys, for whoever goes by keyboard.
#pragma once

#include <QFocusFrame>

namespace ridgeline::gui {

/// Of one window. From the first key on that moves the focus; a press of the mouse removes it.
class FocusRing : public QFocusFrame {
  Q_OBJECT
 public:
  explicit FocusRing(QWidget* window);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow(QWidget* focused);
  QWidget* window_;
  bool by_keyboard_ = false;
};

/// Where Tab goes from `from` within its window, or back: to the next widget that takes the keys and can be seen.
/// Panels behind others are left out, though to Qt they are as visible as those in front. Null: there is none.
[[nodiscard]] QWidget* next_seen(QWidget* from, bool forward);

}  // namespace ridgeline::gui
