// html_parts.h: what the pages have in common beside tables.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::reports {

/// A paragraph of that class, with the text escaped; nothing for an empty text.
[[nodiscard]] std::string html_paragraph(std::string_view text, std::string_view css = "");
/// A number with what it is of below it.
[[nodiscard]] std::string html_tile(std::string_view value, std::string_view label);

}  // namespace ridgeline::reports
