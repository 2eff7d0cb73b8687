// escape.h: makes any text, also a hostile one, harmless in the place it is printed to. Every function
// accepts any bytes; what is not valid UTF-8 becomes U+FFFD. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::reports {

/// Valid UTF-8 from any bytes.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// One line for a terminal: control characters (C0, DEL, C1) are written as \n, \t or \x1b, the characters
/// that reorder or hide text (bidirectional and zero-width controls) as \u{202e}. A backslash is kept.
[[nodiscard]] std::string terminal_safe(std::string_view text);

/// Text or attribute value of HTML and XML: & < > " ' are entities; control characters as in terminal_safe,
/// except newline and tab, which are kept.
[[nodiscard]] std::string html_escape(std::string_view text);

/// One field of RFC 4180: quoted if it holds a comma, quote or line break. Control characters other than
/// tab and line breaks are written as in terminal_safe.
[[nodiscard]] std::string csv_field(std::string_view text);

/// One cell of a Markdown table, as plain text: pipes, angle brackets and what starts markup are escaped.
[[nodiscard]] std::string markdown_cell(std::string_view text);

/// Inline code in a Markdown table cell: the fence is longer than any run of backticks inside.
[[nodiscard]] std::string markdown_code(std::string_view text);

}  // namespace ridgeline::reports
