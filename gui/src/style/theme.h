// theme.h: the colours, in one light and one dark set. What colour says is also said by a mark, a word or a
// length.
#pragma once

#include <QApplication>
#include <QColor>
#include <QFont>
#include <QPalette>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/accounting/kernel_time.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::gui {

struct Theme {
  bool dark = false;
  QColor window, base, alternate, panel, text, faint, grid, line, accent, accent_text;
  QColor good, fair, bad;
  QColor selected;  ///< outline of what is chosen
  QColor hovered;   ///< outline of what is under the mouse
  QColor range;     ///< veil over the chosen range

  [[nodiscard]] QColor of(KernelClass kernel_class) const;
  [[nodiscard]] QColor of(analyzer::KernelBound bound) const;
  [[nodiscard]] QColor of(analyzer::GapKind gap) const;
  [[nodiscard]] QColor of(Phase phase) const;
  /// Invalid: the text's own.
  [[nodiscard]] QColor of(reports::Style style) const;
  /// Of the n-th of several series.
  [[nodiscard]] QColor series(int n) const;
  /// Ground of a cell's bar, on which text is written.
  [[nodiscard]] QColor bar(reports::Style style) const;
  /// Black or white, whichever reads better on it: 4.5:1 at least, whatever it is.
  [[nodiscard]] static QColor on(const QColor& background);

  [[nodiscard]] static const Theme& light();
  [[nodiscard]] static const Theme& night();
};

/// `share` of a colour, 0 to 1, over a ground.
[[nodiscard]] QColor mixed(const QColor& colour, const QColor& ground, double share);
/// 1 to 21, as WCAG defines it.
[[nodiscard]] double contrast(const QColor& a, const QColor& b);

/// The theme in use: of the whole program.
[[nodiscard]] const Theme& theme();
enum class ThemeChoice { system, light, dark };
/// Fusion with these colours. Widgets repaint themselves.
void apply_theme(QApplication& application, ThemeChoice choice);
/// Digits of equal width, for tables and axes.
[[nodiscard]] QFont small_font(double scale = 0.88);

}  // namespace ridgeline::gui
