// error_text.h: a stated error in words.
#pragma once

#include <string>

#include "ridgeline/base/units.h"

namespace ridgeline::reports {

/// Of an error as a ratio, in per cent: "0.6". No measured value is without an error, so a small one is "<0.1".
[[nodiscard]] inline std::string error_text(double ratio) {
  const std::string text = percent(ratio);
  return text == "0.0" ? "<0.1" : text;
}

}  // namespace ridgeline::reports
