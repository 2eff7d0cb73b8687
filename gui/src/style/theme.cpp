#include "style/theme.h"

#include <QStyle>
#include <QStyleFactory>
#include <array>
#include <cstddef>

namespace ridgeline::gui {
namespace {

// Hues after Okabe and Ito and after Tol, told apart with any colour vision; the dark set is lighter.
struct Hue {
  QRgb light, dark;
};
constexpr std::array<Hue, 11> kClasses = {{
    {0x3670b5, 0x5b9be0},  // gemm: blue
    {0x6a4c9c, 0xa78bdb},  // attention: violet
    {0x2f9c8f, 0x45c1b1},  // normalisation: teal
    {0xd98c1f, 0xf0ae4b},  // elementwise: orange
    {0xb8a01c, 0xdcc74a},  // reduction: yellow
    {0x7c8794, 0x98a4b3},  // copy: grey
    {0xc2457c, 0xe8739f},  // communication: pink
    {0xc0482b, 0xe8765a},  // optimiser: red
    {0x5d8c3a, 0x8fc069},  // embedding: green
    {0x8a5a3c, 0xc08e6b},  // classifier: brown
    {0x5f6b78, 0x7f8b99},  // other
}};
constexpr std::array<Hue, 6> kBounds = {{
    {0x2f7fb8, 0x56a8e3},  // memory
    {0xd9822b, 0xf0a850},  // compute
    {0x8a63a8, 0xb794d6},  // latency
    {0xc2a51f, 0xdfc857},  // too short for a roof, or a gap in which a launch was issued
    {0x7c8794, 0x8d99a8},  // no roof
    {0xb4bcc5, 0x5a6573},  // unmeasured
}};
constexpr std::array<Hue, 6> kGaps = {{
    {0xc2a51f, 0xdfc857},  // too short for a roof, or a gap in which a launch was issued
    {0xc0482b, 0xe8765a},  // host-bound
    {0x6a4c9c, 0xa78bdb},  // synchronisation
    {0x2f9c8f, 0x45c1b1},  // queued
    {0x8b96a3, 0x76818f},  // unknown
    {0xb4bcc5, 0x56616e},  // tail
}};
constexpr std::array<Hue, 8> kPhases = {{
    {0xb4bcc5, 0x56616e},  // warm-up
    {0x3670b5, 0x5b9be0},  // timeline
    {0x2f9c8f, 0x45c1b1},  // sample
    {0xd98c1f, 0xf0ae4b},  // replay
    {0x6a4c9c, 0xa78bdb},  // cold
    {0xc2457c, 0xe8739f},  // stalls
    {0x8a5a3c, 0xc08e6b},  // flops
    {0x7ba6d3, 0x3f6fa5},  // after
}};

QColor colour(const Hue& hue, bool dark) {
  return QColor::fromRgb(dark ? hue.dark : hue.light);
}

template <std::size_t N>
QColor pick(const std::array<Hue, N>& hues, std::size_t i, bool dark) {
  return colour(hues[i < N ? i : N - 1], dark);
}

bool g_dark = false;

QPalette palette_of(const Theme& t) {
  QPalette p;
  p.setColor(QPalette::Window, t.window);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.base);
  p.setColor(QPalette::AlternateBase, t.alternate);
  p.setColor(QPalette::ToolTipBase, t.panel);
  p.setColor(QPalette::ToolTipText, t.text);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::PlaceholderText, t.faint);
  p.setColor(QPalette::Button, t.panel);
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::BrightText, t.bad);
  p.setColor(QPalette::Link, t.accent);
  p.setColor(QPalette::Highlight, t.accent);
  p.setColor(QPalette::HighlightedText, t.accent_text);
  p.setColor(QPalette::Light, t.dark ? t.panel.lighter(120) : QColor(Qt::white));
  p.setColor(QPalette::Midlight, t.grid);
  p.setColor(QPalette::Mid, t.line);
  p.setColor(QPalette::Dark, t.dark ? t.window.darker(150) : t.line.darker(120));
  p.setColor(QPalette::Shadow, t.dark ? QColor(Qt::black) : t.line.darker(150));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    p.setColor(QPalette::Disabled, role, t.faint);
  }
  return p;
}

}  // namespace

QColor Theme::of(KernelClass kernel_class) const {
  return pick(kClasses, static_cast<std::size_t>(kernel_class), dark);
}
QColor Theme::of(analyzer::KernelBound bound) const {
  return pick(kBounds, static_cast<std::size_t>(bound), dark);
}
QColor Theme::of(analyzer::GapKind gap) const {
  return pick(kGaps, static_cast<std::size_t>(gap), dark);
}
QColor Theme::of(Phase phase) const {
  return pick(kPhases, static_cast<std::size_t>(phase) - 1, dark);
}

QColor Theme::of(reports::Style style) const {
  switch (style) {
    case reports::Style::good:
      return good;
    case reports::Style::fair:
      return fair;
    case reports::Style::bad:
      return bad;
    case reports::Style::dim:
      return faint;
    default:
      return {};
  }
}

QColor Theme::series(int n) const {
  static constexpr KernelClass kOrder[] = {KernelClass::gemm,          KernelClass::elementwise,
                                           KernelClass::normalisation, KernelClass::communication,
                                           KernelClass::attention,     KernelClass::embedding,
                                           KernelClass::optimiser,     KernelClass::reduction};
  return of(kOrder[static_cast<std::size_t>(n) % std::size(kOrder)]);
}

QColor Theme::on(const QColor& background) {
  const double luminance =
      0.299 * background.redF() + 0.587 * background.greenF() + 0.114 * background.blueF();
  return luminance > 0.56 ? QColor(0x11, 0x18, 0x20) : QColor(Qt::white);
}

const Theme& Theme::light() {
  static const Theme kLight = {false,
                               QColor(0xf3, 0xf5, 0xf7),
                               QColor(Qt::white),
                               QColor(0xf7, 0xf9, 0xfb),
                               QColor(0xe9, 0xed, 0xf1),
                               QColor(0x1c, 0x24, 0x2d),
                               QColor(0x6b, 0x76, 0x83),
                               QColor(0xe3, 0xe8, 0xed),
                               QColor(0xc6, 0xcf, 0xd8),
                               QColor(0x1f, 0x6f, 0xb8),
                               QColor(Qt::white),
                               QColor(0x1b, 0x7f, 0x3b),
                               QColor(0xa8, 0x65, 0x00),
                               QColor(0xb8, 0x27, 0x1f),
                               QColor(0x11, 0x18, 0x20),
                               QColor(0xd6, 0x2d, 0x8a),
                               QColor(0x1f, 0x6f, 0xb8, 46)};
  return kLight;
}

const Theme& Theme::night() {
  static const Theme kNight = {true,
                               QColor(0x1b, 0x20, 0x27),
                               QColor(0x14, 0x18, 0x1e),
                               QColor(0x19, 0x1e, 0x25),
                               QColor(0x26, 0x2d, 0x36),
                               QColor(0xe4, 0xe9, 0xef),
                               QColor(0x93, 0x9f, 0xad),
                               QColor(0x2a, 0x32, 0x3c),
                               QColor(0x3d, 0x48, 0x55),
                               QColor(0x4c, 0x9b, 0xe8),
                               QColor(0x0c, 0x11, 0x17),
                               QColor(0x5f, 0xc9, 0x7b),
                               QColor(0xe6, 0xb0, 0x4a),
                               QColor(0xf2, 0x7b, 0x70),
                               QColor(Qt::white),
                               QColor(0xff, 0x6f, 0xb8),
                               QColor(0x4c, 0x9b, 0xe8, 52)};
  return kNight;
}

const Theme& theme() {
  return g_dark ? Theme::night() : Theme::light();
}

void apply_theme(QApplication& application, ThemeChoice choice) {
  static const bool kSystemIsDark = QPalette().color(QPalette::Window).lightness() < 128;
  g_dark = choice == ThemeChoice::dark || (choice == ThemeChoice::system && kSystemIsDark);
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(palette_of(theme()));
  const Theme& t = theme();
  application.setStyleSheet(
      QString("QToolTip{color:%1;background:%2;border:1px solid %3;padding:3px}"
              "QDockWidget::title{background:%2;padding:5px 8px}"
              "QMainWindow::separator{background:%4;width:5px;height:5px}"
              "QHeaderView::section{background:%2;border:0;border-right:1px solid %3;border-bottom:1px solid "
              "%3;padding:3px 5px}"
              "QTableView{gridline-color:%5;border:0}"
              "QLabel#chip{background:%6;color:%7;border-radius:8px;padding:1px 8px}")
          .arg(t.text.name(), t.panel.name(), t.line.name(), t.window.name(), t.grid.name(), t.accent.name(),
               t.accent_text.name()));
}

QFont small_font(double scale) {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * scale);
  return font;
}

}  // namespace ridgeline::gui
