#include "style/theme.h"

#include <QAbstractItemView>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleOption>
#include <QTabBar>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace ridgeline::gui {
namespace {

// Hues after Okabe and Ito and after Tol, moved apart in lightness until any two of a set differ by 10 (CIEDE2000) or
// more for normal sight and for the three colour blindnesses: tests/gui/theme_test.cpp. The dark set is lighter.
struct Hue {
  QRgb light, dark;
};
constexpr std::array<Hue, 11> kClasses = {{
    {0x3875c1, 0x178bff},  // gemm: blue
    {0x624692, 0xa999d5},  // attention: violet
    {0x4ba08a, 0x64d6c3},  // normalisation: teal
    {0xdc8a00, 0xe7a029},  // elementwise: orange
    {0xb9a767, 0xf3db5c},  // reduction: sand, yellow
    {0x7f8d9e, 0x939fad},  // copy: grey
    {0xbb366f, 0xf65d9e},  // communication: pink
    {0xd1340c, 0xf14831},  // optimiser: red
    {0x598c4a, 0x94c475},  // embedding: green
    {0x80553b, 0xb48768},  // classifier: brown
    {0x67727d, 0x808387},  // other
}};
// Bounds and gaps stand in one bar, with copies and what is left: they are one set.
constexpr std::array<Hue, 6> kBounds = {{
    {0x3776a0, 0x85c5ff},  // memory: blue
    {0xd07700, 0xf19d24},  // compute: orange
    {0x9c5edf, 0x8e69cd},  // latency: violet
    {0xd1b22b, 0xedd779},  // too short for a roof: yellow
    {0x9f86ca, 0xb0c5d8},  // no roof
    {0xdbd3c4, 0x436288},  // unmeasured
}};
constexpr std::array<Hue, 6> kGaps = {{
    {0xa8955c, 0xbfb070},  // a launch was issued in it: sand
    {0xbf472b, 0xd46749},  // host-bound: red
    {0x5a3b8c, 0xa887ff},  // synchronisation: violet
    {0x5faa97, 0x4eb397},  // queued: teal
    {0x847d75, 0x6d819f},  // unknown: grey
    {0xbeb1e2, 0x5d6871},  // tail
}};
constexpr std::array<Hue, 8> kPhases = {{
    {0xb4bcc5, 0x54606d},  // warm-up
    {0x2d73cd, 0x479cff},  // timeline
    {0x2a9a8f, 0x34c7b7},  // sample
    {0xd98d24, 0xf2af49},  // replay
    {0x674892, 0x9b82bf},  // cold
    {0xc44478, 0xea739d},  // stalls
    {0x8a5a3c, 0xbe8e6b},  // flops
    {0x7fa8d4, 0x3d6ea5},  // after
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

// Fusion makes outlines from the window's colour: in a dark window nobody sees where a box is to be checked. And it
// lays a veil of the highlight's colour over the cell that has the keys, whose words lose their contrast.
class FusionWithOutlines : public QProxyStyle {
 public:
  FusionWithOutlines() : QProxyStyle(QStringLiteral("Fusion")) {}
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    painter->save();
    if (element == PE_FrameFocusRect && qobject_cast<const QAbstractItemView*>(widget) != nullptr) {
      draw_current_cell(*option, *painter);
    } else if (element == PE_IndicatorCheckBox) {
      draw_check_box(*option, *painter);
    } else {
      QProxyStyle::drawPrimitive(element, option, painter, widget);
      if (element == PE_FrameLineEdit && (option->state & State_HasFocus) == 0)
        draw_outline(QRectF(option->rect), theme().line, *painter);
    }
    painter->restore();
  }

  // Of two tabs of nearly one colour the line says which is shown.
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override {
    QProxyStyle::drawControl(element, option, painter, widget);
    if (element != CE_TabBarTabShape || (option->state & State_Selected) == 0) return;
    constexpr int kLine = 2;
    const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option);
    const bool below = tab != nullptr && tab->shape == QTabBar::RoundedSouth;
    QRect line = option->rect.adjusted(1, 0, -1, 0);
    below ? line.setTop(line.bottom() - kLine + 1) : line.setHeight(kLine);
    painter->fillRect(line, theme().accent);
  }

 private:
  static void draw_outline(const QRectF& around, const QColor& colour, QPainter& painter) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 1));
    painter.drawRoundedRect(around.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
  }

  static void draw_current_cell(const QStyleOption& option, QPainter& painter) {
    const bool chosen = (option.state & State_Selected) != 0;
    painter.setPen(chosen ? theme().accent_text : theme().accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(option.rect.adjusted(0, 0, -1, -1));
  }

  static void draw_check_box(const QStyleOption& option, QPainter& painter) {
    const Theme& t = theme();
    const bool enabled = (option.state & State_Enabled) != 0;
    // In a list boxes of neighbours would touch.
    const QRectF box = QRectF(option.rect).adjusted(1, 1, -1, -1);
    painter.setBrush(t.base);
    draw_outline(box, enabled ? t.faint : t.line, painter);
    const QColor ink = enabled ? t.text : t.faint;
    if ((option.state & State_On) != 0) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(ink, box.width() / 7, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      const auto at = [&](double x, double y) {
        return QPointF(box.left() + box.width() * x, box.top() + box.height() * y);
      };
      painter.drawPolyline(QPolygonF({at(0.24, 0.52), at(0.43, 0.72), at(0.76, 0.28)}));
    } else if ((option.state & State_NoChange) != 0) {
      painter.fillRect(box.adjusted(3, 3, -3, -3), ink);
    }
  }
};

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

QColor Theme::bar(reports::Style style) const {
  const QColor own = of(style);
  return mixed(own.isValid() ? own : faint, base, dark ? 0.42 : 0.26);
}

QColor Theme::on(const QColor& background) {
  const double white = contrast(background, Qt::white), black = contrast(background, Qt::black);
  return black > white ? QColor(Qt::black) : QColor(Qt::white);
}

QColor mixed(const QColor& colour, const QColor& ground, double share) {
  const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a * share + b * (1 - share))); };
  return {mix(colour.red(), ground.red()), mix(colour.green(), ground.green()),
          mix(colour.blue(), ground.blue())};
}

// WCAG 2.2, "relative luminance" and "contrast ratio".
double contrast(const QColor& a, const QColor& b) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  const auto luminance = [&](const QColor& c) {
    return 0.2126 * linear(static_cast<double>(c.redF())) + 0.7152 * linear(static_cast<double>(c.greenF())) +
           0.0722 * linear(static_cast<double>(c.blueF()));
  };
  const double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
  return std::max(one, other) / std::min(one, other);
}

const Theme& Theme::light() {
  static const Theme kLight = {false,
                               QColor(0xf3, 0xf5, 0xf7),
                               QColor(Qt::white),
                               QColor(0xf7, 0xf9, 0xfb),
                               QColor(0xe9, 0xed, 0xf1),
                               QColor(0x1c, 0x24, 0x2d),
                               QColor(0x5a, 0x64, 0x70),
                               QColor(0xe3, 0xe8, 0xed),
                               QColor(0xc6, 0xcf, 0xd8),
                               QColor(0x1a, 0x64, 0xa8),
                               QColor(Qt::white),
                               QColor(0x17, 0x74, 0x3a),
                               QColor(0x92, 0x57, 0x00),
                               QColor(0xb8, 0x27, 0x1f),
                               QColor(0x11, 0x18, 0x20),
                               QColor(0xd6, 0x2d, 0x8a),
                               QColor(0x1a, 0x64, 0xa8, 46)};
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
  QApplication::setStyle(new FusionWithOutlines);
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
