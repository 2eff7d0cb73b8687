// finding_text.h: findings in words.
#pragma once

#include <string>

#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::reports {

/// One line: what, how often, how much in the worst case, what follows or helps. Names and messages of the
/// capture are in it as they are: escape it for where it goes.
[[nodiscard]] std::string finding_text(const analyzer::Finding& finding);

}  // namespace ridgeline::reports
