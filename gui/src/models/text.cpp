#include "models/text.h"

#include <QRegularExpression>
#include <string>

#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::gui {

QString shown(std::string_view text) {
  return plain(reports::terminal_safe(reports::bounded(one_line(text))));
}

QString shown_lines(std::string_view text) {
  QString out;
  for (const QString& line : plain(clean_text(text)).split('\n')) {
    if (!out.isEmpty()) out += '\n';
    out += plain(reports::terminal_safe(line.toStdString()));
  }
  return out;
}

QString with_whole_numbers(QString text) {
  static const QRegularExpression kInside(
      "(?<=\\d) (?=(?:[%×]|[nµm]?s|[kMGTP]?(?:B|FLOP)(?:/s)?|[kMG]?Hz|W|p?J)(?![A-Za-z]))|(?<=±) ",
      QRegularExpression::UseUnicodePropertiesOption);
  return text.replace(kInside, QString(QChar::Nbsp));
}

QString escaped(std::string_view text) {
  return shown(text).toHtmlEscaped();
}

QString time_words(double ns) {
  return plain(time_text(ns));
}

}  // namespace ridgeline::gui
