// nsys_program.h: the user's own nsys, which alone reads its reports.
#pragma once

#include <string>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

/// Writes the report's SQLite export to `output`. Failures: environment (no nsys in PATH, or it failed: the message
/// has the command to run by hand).
[[nodiscard]] Result<void> export_nsys_report(const std::string& report, const std::string& output);

}  // namespace ridgeline::import
