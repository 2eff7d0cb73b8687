// elided_label.h: one line of text that ends with dots where there is no room for all of it.
#pragma once

#include <QFontMetrics>
#include <QLabel>

namespace ridgeline::gui {

/// As many whole words as fit, then "…"; all of it where it fits. A number stays together with its unit, and is not the
/// last of what is left: it would be read as another.
[[nodiscard]] QString elided_words(const QString& text, const QFontMetrics& metrics, int width);

/// The whole text is in the tooltip, for a screen reader and for Copy in its menu. Asks for no room of its own.
class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ElidedLabel(QWidget* parent = nullptr);
  /// Shadows QLabel's, which knows of no tooltip.
  void setText(const QString& text);
  [[nodiscard]] QSize minimumSizeHint() const override;
  /// Whether there is less room than text.
  [[nodiscard]] bool is_cut() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace ridgeline::gui
