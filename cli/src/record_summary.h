// record_summary.h: what is said after a recording or an import.
#pragma once

#include <string>

#include "ridgeline/launch/recorder.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::cli {

/// Steps by phase, launches seen and recorded, tiers, file size, and the command to type next. Reads the
/// capture, so that what is said is what is in the file. Never throws: a summary that fails says so.
[[nodiscard]] std::string capture_summary(const std::string& capture_path, const reports::TextStyle& style);

/// How far a recording is, in one line.
[[nodiscard]] std::string recording_progress(const launch::RecordProgress& progress);

/// What a recording's end is told by: warnings and the program's failure as messages, the summary on standard output
/// unless `quiet`.
void tell_recorded(const launch::RecordSummary& summary, bool quiet);

}  // namespace ridgeline::cli
