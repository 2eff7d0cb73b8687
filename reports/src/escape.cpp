#include "ridgeline/reports/escape.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/utf8.h"

namespace ridgeline::reports {
namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

// Characters without a shape of their own that change how the others are shown.
bool is_invisible_format(char32_t c) {
  return c == 0x00ad || c == 0x061c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

// XML 1.0 has no place for these, escaped or not.
bool is_noncharacter(char32_t c) {
  return (c & 0xfffe) == 0xfffe;
}

void append_visible(std::string& out, char32_t c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (is_control(c)) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
  } else if (is_invisible_format(c) || is_noncharacter(c)) {
    out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c));
  } else {
    append_utf8(out, c);
  }
}

// Where a command of a CI system begins that it obeys anywhere in a line: "##[error]", "##vso[", "##teamcity[".
std::size_t find_command(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find("##", from); at != std::string_view::npos; at = text.find("##", at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 2);
    if (end != std::string_view::npos && text[end] == '[') return at;
  }
  return std::string_view::npos;
}

// Without such commands: the second character of each is written as `hash`.
std::string without_commands(std::string text, std::string_view hash) {
  for (std::size_t at = find_command(text, 0); at != std::string::npos; at = find_command(text, at + 1))
    text.replace(at + 1, 1, hash);
  return text;
}

// Calls `each` with every code point, in order.
template <typename Each>
void for_each_code_point(std::string_view text, Each each) {
  std::size_t position = 0;
  while (position < text.size()) each(next_code_point(text, position));
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { append_utf8(out, c); });
  return out;
}

std::string terminal_safe(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { append_visible(out, c); });
  return without_commands(std::move(out), "\\x23");
}

std::string log_line(std::string line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin != std::string::npos && line.compare(begin, 2, "::") == 0) line.replace(begin, 1, "…");
  return line;
}

std::string json_log_safe(std::string document) {
  return without_commands(std::move(document), "\\u0023");
}

std::string html_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for_each_code_point(text, [&](char32_t c) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += '\t';
        break;
      default:
        append_visible(out, c);
    }
  });
  return without_commands(std::move(out), "&#35;");
}

std::string csv_field(std::string_view text) {
  std::string out;
  bool quote = false;
  // A row is a line: what a name makes of the next one a CI's log would take for the program's own.
  for_each_code_point(text, [&](char32_t c) {
    if (c == '"') out += '"';
    if (c == '"' || c == ',') quote = true;
    append_visible(out, c);
  });
  // Spreadsheets run what begins like a formula; a name never needs to.
  constexpr std::string_view kFormula = "=+-@";
  const bool formula = !text.empty() && (text.front() == '\t' || text.front() == '\r');
  if (!out.empty() && (formula || kFormula.find(out.front()) != std::string_view::npos))
    out.insert(out.begin(), '\'');
  // CI systems obey "::error" where a line begins, blanks apart.
  if (out.find_first_not_of(' ') != std::string::npos &&
      out.compare(out.find_first_not_of(' '), 2, "::") == 0)
    quote = true;
  out = without_commands(std::move(out), "\\x23");
  // A leading or trailing space is part of the field, but readers differ unless it is quoted.
  if (!out.empty() && (out.front() == ' ' || out.back() == ' ')) quote = true;
  return quote ? '"' + out + '"' : out;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '|':
      case '\\':
      case '`':
      case '*':
      case '_':
      case '~':
      case '[':
      case ']':
      case '#':
      case '!':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  std::string body;
  std::size_t run = 0;
  std::size_t longest = 0;
  for (const char c : terminal_safe(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') body += '\\';  // GitHub's tables end a cell at a bare pipe, even inside code
    body += c;
  }
  if (body.empty()) return "";
  const std::string fence(longest + 1, '`');
  const bool pad = body.front() == '`' || body.back() == '`';
  return fence + (pad ? " " : "") + body + (pad ? " " : "") + fence;
}

}  // namespace ridgeline::reports
