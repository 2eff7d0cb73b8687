#include "style/icons.h"

#include <QIconEngine>
#include <QPainter>
#include <QSvgRenderer>
#include <map>

#include "style/theme.h"

namespace ridgeline::gui {
namespace {

// Paths of SVG on a square of 16, drawn with a line of 1.4.
const std::map<QString, const char*>& paths() {
  static const std::map<QString, const char*> kPaths = {
      {"open", "M2 13V3.5h4l1.5 2H14V13z"},
      {"compare", "M2 3h5v10H2z M9 3h5v10H9z M4.5 6v4 M11.5 5v6"},
      {"record", "M8 2.2a5.8 5.8 0 1 0 .01 0z M8 5.8a2.2 2.2 0 1 0 .01 0z"},
      {"doctor", "M8 3v10 M3 8h10"},
      {"save_view", "M3 2.5h8l2 2v9H3z M5.5 2.5v4h5v-4 M5.5 13.5v-4h5v4"},
      {"export_ranking", "M2.5 3h11v10h-11z M2.5 6.3h11 M2.5 9.6h11 M6.5 3v10"},
      {"export_roofline", "M2.5 2.5v11h11 M4 11l4-5h5.5"},
      {"export_timeline", "M2 4h6 M9.5 4H14 M4 8h8 M2 12h3.5 M7 12h7"},
      {"export_capture", "M2 5v6 M14 5v6 M4.5 8h7 M4.5 8l2-2 M4.5 8l2 2 M11.5 8l-2-2 M11.5 8l-2 2"},
      {"quit", "M4 4l8 8 M12 4l-8 8"},
      {"back", "M13 8H3.5 M7.5 4l-4 4 4 4"},
      {"forward", "M3 8h9.5 M8.5 4l4 4-4 4"},
      {"search", "M7 2.5a4.5 4.5 0 1 0 .01 0z M10.2 10.2L14 14"},
      {"commands", "M4 4l4 4-4 4 M9 12h4"},
      {"sql",
       "M8 2.5c3.5 0 5 .9 5 1.9s-1.5 1.9-5 1.9-5-.9-5-1.9 1.5-1.9 5-1.9z "
       "M3 4.4v7.2c0 1 1.5 1.9 5 1.9s5-.9 5-1.9V4.4 M3 8c0 1 1.5 1.9 5 1.9s5-.9 5-1.9"},
      {"light",
       "M8 5a3 3 0 1 0 .01 0z M8 1v1.6 M8 13.4V15 M1 8h1.6 M13.4 8H15 M3 3l1.2 1.2 M11.8 11.8L13 13 "
       "M13 3l-1.2 1.2 M4.2 11.8L3 13"},
      {"dark", "M12.8 9.8A5.6 5.6 0 0 1 6.2 3.2a5.6 5.6 0 1 0 6.6 6.6z"},
      {"reset_layout", "M2.5 3h11v10h-11z M9.5 3v10 M2.5 9h7"},
      {"keys", "M2 4.5h12v7H2z M4.5 7h.01 M7 7h.01 M9.5 7h.01 M11.5 7h.01 M5.5 9.5h5"},
      {"fit", "M2.5 5.5v-3h3 M10.5 2.5h3v3 M13.5 10.5v3h-3 M5.5 13.5h-3v-3 M5.5 8h5"},
      {"home", "M2 4v8 M14 4v8 M4 8h8 M4 8l2-2 M4 8l2 2 M12 8l-2-2 M12 8l-2 2"},
      {"zoom_to_range", "M4 3v10 M12 3v10 M4 8h8"},
      {"zoom_in", "M7 2.5a4.5 4.5 0 1 0 .01 0z M10.2 10.2L14 14 M7 5v4 M5 7h4"},
      {"zoom_out", "M7 2.5a4.5 4.5 0 1 0 .01 0z M10.2 10.2L14 14 M5 7h4"},
      {"next_same", "M4 4l4 4-4 4 M11 4v8"},
      {"previous_same", "M12 4L8 8l4 4 M5 4v8"},
      {"mark", "M4 14V2.5h8l-2 3 2 3H4"},
      {"toggle_pin", "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5z M8 9v5"},
      {"clear", "M3 3l10 10 M13 3L3 13"}};
  return kPaths;
}

// Drawn anew each time, so that it follows the theme and is sharp at any scale.
class CommandIcon : public QIconEngine {
 public:
  explicit CommandIcon(QString command) : command_(std::move(command)) {}
  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const QColor ink = mode == QIcon::Disabled ? theme().faint : theme().text;
    const QString svg = QString(
                            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path d='%1' "
                            "fill='none' stroke='%2' "
                            "stroke-width='1.4' stroke-linecap='round' stroke-linejoin='round'/></svg>")
                            .arg(paths().at(command_), ink.name());
    QSvgRenderer(svg.toUtf8()).render(painter, QRectF(rect));
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, QRect(QPoint(), size), mode, state);
    return pixmap;
  }
  [[nodiscard]] QIconEngine* clone() const override { return new CommandIcon(command_); }

 private:
  QString command_;
};

}  // namespace

QIcon command_icon(const QString& command) {
  return paths().contains(command) ? QIcon(new CommandIcon(command)) : QIcon();
}

QStringList commands_with_icons() {
  QStringList commands;
  for (const auto& [command, path] : paths()) commands << command;
  return commands;
}

}  // namespace ridgeline::gui
