// absence_text.h: says in words why a value is not there.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/values/absence.h"

namespace ridgeline::reports {

/// "the recording has no replay step"; "" of an empty one.
[[nodiscard]] std::string absence_text(const analyzer::Absence& absence);
/// Joined by "; ".
[[nodiscard]] std::string absence_text(const std::vector<analyzer::Absence>& absences);

}  // namespace ridgeline::reports
