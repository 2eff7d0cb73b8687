// picture_style.h: colours of a picture that is a file of its own: those of the report, without variables, which not
// every viewer of SVG knows.
#pragma once

#include <string>

#include "ridgeline/reports/roofline_document.h"

namespace ridgeline::reports {

struct PictureStyle {
  std::string css;
  std::string background;
};

[[nodiscard]] PictureStyle picture_style(PictureTheme theme);

}  // namespace ridgeline::reports
