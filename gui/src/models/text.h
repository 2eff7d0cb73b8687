// text.h: text of a capture as Qt wants it, made harmless: names come from other people's programs.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <string_view>

namespace ridgeline::gui {

/// One line, valid, without control characters and what reorders text.
[[nodiscard]] QString shown(std::string_view text);
/// The same with line breaks and tabs kept.
[[nodiscard]] QString shown_lines(std::string_view text);
/// UTF-8 as it is, for text that this program made.
[[nodiscard]] inline QString plain(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}
/// With spaces that no line breaks at between a number and its unit, and behind "±": for labels that break lines.
[[nodiscard]] QString with_whole_numbers(QString text);
/// Of a text for people, to be shown by a label that reads rich text.
[[nodiscard]] QString escaped(std::string_view text);

/// A time with its unit, "12.3 µs".
[[nodiscard]] QString time_words(double ns);
[[nodiscard]] inline QString time_words(std::int64_t ns) {
  return time_words(static_cast<double>(ns));
}

}  // namespace ridgeline::gui
