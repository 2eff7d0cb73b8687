// roofline_document.h: the roofline of a scope as a table, a picture, a page or data.
#pragma once

#include <string>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/reports/documents.h"

namespace ridgeline::reports {

enum class PictureTheme { light, dark };

/// What is shown of a roofline.
struct RooflineShown {
  std::string match;  ///< rows whose name holds it: `*` any text, `?` one character; "": all
  bool time = false;  ///< time at the roofs instead of operations over intensity
  PictureTheme theme =
      PictureTheme::light;  ///< of a picture that is a file of its own; a page follows its viewer
};

/// Every row of the ranking and the step under the roofs, most headroom first.
[[nodiscard]] Document roofline_document(const analyzer::Model&, const analyzer::Analysis&,
                                         const RooflineShown&, const DocumentOptions&);
/// One SVG file of its own: colours, what was recorded, and a key. Throws Error(no_data) where nothing can be drawn.
[[nodiscard]] std::string roofline_svg(const analyzer::Model&, const analyzer::Analysis&,
                                       const RooflineShown&);
/// One page: both pictures and the table.
[[nodiscard]] std::string roofline_page(const analyzer::Model&, const analyzer::Analysis&,
                                        const RooflineShown&);

/// The rows, and the step below them.
[[nodiscard]] Table roofline_table(const analyzer::Roofline& roofline);
/// "DRAM", "L2", "tensor bf16", "fma".
[[nodiscard]] std::string roof_words(const analyzer::Roof& roof);

}  // namespace ridgeline::reports
