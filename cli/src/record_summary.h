// record_summary.h: what is said after a recording or an import.
#pragma once

#include <string>

#include "ridgeline/reports/table.h"

namespace ridgeline::cli {

/// Steps by phase, launches seen and recorded, tiers, file size, and the command to type next. Reads the
/// capture, so that what is said is what is in the file. Never throws: a summary that fails says so.
[[nodiscard]] std::string capture_summary(const std::string& capture_path, const reports::TextStyle& style);

}  // namespace ridgeline::cli
