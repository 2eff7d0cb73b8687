#include "html_parts.h"

#include <fmt/format.h>

#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {

std::string html_paragraph(std::string_view text, std::string_view css) {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : fmt::format(" class=\"{}\"", css),
                     html_escape(text));
}

std::string html_tile(std::string_view value, std::string_view label) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", html_escape(value),
                     html_escape(label));
}

}  // namespace ridgeline::reports
