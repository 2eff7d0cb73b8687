// elided_button.h: a button whose words end with dots where there is no room for all of them.
#pragma once

#include <QToolButton>

namespace ridgeline::gui {

/// Asks for the room of its words and gets by with little: what stands beside it is not pushed away. A screen reader
/// is given all of them.
class ElidedButton : public QToolButton {
  Q_OBJECT
 public:
  explicit ElidedButton(QWidget* parent = nullptr);
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace ridgeline::gui
