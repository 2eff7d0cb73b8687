// png.h: a picture as pixels. The program draws SVG; a renderer of the system makes PNG of it.
#pragma once

#include <string>

#include "ridgeline/reports/sink.h"

namespace ridgeline::cli {

/// The picture at twice its size, by `rsvg-convert` (librsvg) on the PATH, whose standard input has the SVG. `file` is
/// named in failures. Throws Error(environment) where there is no such program or it fails.
[[nodiscard]] std::string png_of(const reports::Document& svg, const std::string& file);

/// Throws as png_of() does if there is no renderer: for who is about to work long for a picture.
void require_png_renderer(const std::string& file);

}  // namespace ridgeline::cli
