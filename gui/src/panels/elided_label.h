// elided_label.h: a line of text, or two, that ends with dots where there is no room for all of it.
#pragma once

#include <QFontMetrics>
#include <QLabel>

namespace ridgeline::gui {

/// As many whole words as fit, then "…"; all of it where it fits. A number stays together with its unit, and is not the
/// last of what is left: it would be read as another.
[[nodiscard]] QString elided_words(const QString& text, const QFontMetrics& metrics, int width);

/// The text in at most `lines` lines, broken between words. Where it does not fit, what is left ends where a
/// sentence or an enumerated part ends, else where a clause does, else with a word, and then "…". Numbers as
/// above.
[[nodiscard]] QStringList fitted_lines(const QString& text, const QFontMetrics& metrics, int width,
                                       int lines);

/// The whole text is in the tooltip, for a screen reader and for Copy in its menu. Asks for no room of its own.
class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ElidedLabel(QWidget* parent = nullptr);
  /// Shadows QLabel's, which knows of no tooltip.
  void setText(const QString& text);
  /// As high as its text needs, up to so many lines; at first 1.
  void set_max_lines(int lines);
  /// What is painted, a line each.
  [[nodiscard]] QStringList painted_lines() const;
  [[nodiscard]] QSize minimumSizeHint() const override;
  /// Whether there is less room than text.
  [[nodiscard]] bool is_cut() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fit_height();
  int max_lines_ = 1;
};

}  // namespace ridgeline::gui
