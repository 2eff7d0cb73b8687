// scope_options.h: a part of a capture in the words of the command line.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::reports {

/// The options that mean this scope in `ridgeline rank` and its like: "--step", "12", "--range", "layer *". Without
/// those of what has no option: a device, one call, a phase, several steps.
[[nodiscard]] std::vector<std::string> scope_options(const analyzer::Scope& scope);

}  // namespace ridgeline::reports
