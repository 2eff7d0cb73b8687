#include "help_text.h"

#include <algorithm>

#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::cli {
namespace {

constexpr std::size_t kDescription = 30;  // where the parser begins descriptions

std::string wrapped_line(std::string_view line, int columns) {
  if (reports::display_width(line) <= columns) return std::string(line);
  const bool described =
      line.size() > kDescription && line.starts_with("  ") && line[kDescription - 1] == ' ';
  const std::size_t indent = described ? kDescription : line.find_first_not_of(' ');
  if (indent == std::string_view::npos) return "";
  const std::string text = reports::wrapped(line.substr(indent), columns - static_cast<int>(indent));
  std::string out(line.substr(0, indent));
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(indent, ' ');
  }
  return out;
}

}  // namespace

std::string wrapped_help(std::string_view help, int columns) {
  std::string out;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    out += wrapped_line(help.substr(0, end), columns) + "\n";
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return out;
}

}  // namespace ridgeline::cli
