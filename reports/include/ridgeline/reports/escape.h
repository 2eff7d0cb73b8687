// escape.h: makes any text, also a hostile one, harmless in the place it is printed to. Every function
// accepts any bytes; what is not valid UTF-8 becomes U+FFFD. Pure.
//
// What is printed may be the log of a CI system, which obeys commands in it: "##[error]", "##vso[" and the like
// anywhere in a line (GitHub's runner too), "::error::" where a line begins. terminal_safe() and what is made with it
// have none of the former; where lines are made, log_line() takes care of the latter.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::reports {

/// Valid UTF-8 from any bytes.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// One line for a terminal: control characters (C0, DEL, C1) are written as \n, \t or \x1b, the characters
/// that reorder or hide text (bidirectional and zero-width controls) as \u{202e}, "##[error]" as "#\x23[error]". A
/// backslash is kept.
[[nodiscard]] std::string terminal_safe(std::string_view text);

/// A line of text, without its end, that is no command: "::" at its start, blanks apart, is "…:", as wide as before.
[[nodiscard]] std::string log_line(std::string line);

/// JSON with the same content and without "##[error]" in a line: "#\u0023[error]".
[[nodiscard]] std::string json_log_safe(std::string document);

/// Text or attribute value of HTML and XML: & < > " ' are entities, and so is what would make a command of a log;
/// control characters as in terminal_safe, except tab, which is kept, and the newline, which is &#10;.
[[nodiscard]] std::string html_escape(std::string_view text);

/// One field of RFC 4180: quoted if it holds a comma, quote or line break. Control characters other than
/// tab and line breaks are written as in terminal_safe.
[[nodiscard]] std::string csv_field(std::string_view text);

/// One cell of a Markdown table, as plain text: pipes, angle brackets and what starts markup are escaped.
[[nodiscard]] std::string markdown_cell(std::string_view text);

/// Inline code in a Markdown table cell: the fence is longer than any run of backticks inside.
[[nodiscard]] std::string markdown_code(std::string_view text);

}  // namespace ridgeline::reports
