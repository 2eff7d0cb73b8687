// help_text.h: the parser's help, as wide as the screen.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::cli {

/// The parser writes each description into one line, however long: wrapped at `columns`, under where it begins.
[[nodiscard]] std::string wrapped_help(std::string_view help, int columns);

}  // namespace ridgeline::cli
