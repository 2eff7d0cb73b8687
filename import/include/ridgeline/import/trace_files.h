// trace_files.h: turns what other profilers recorded into a capture. What a file is, its content says, not its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/import/importer.h"

namespace ridgeline::import {

enum class SourceKind : std::uint8_t {
  spool,        ///< a folder: the record files of Ridgeline's agent
  nsys_export,  ///< SQLite database that Nsight Systems exported
  nsys_report,  ///< Nsight Systems' own format, which its program alone can read
  trace_json,   ///< Kineto's or Chrome's trace events, plain or gzip
  perfetto,     ///< Perfetto's own format, plain or gzip
};

/// Failures: usage (no such file; it is a capture already), io, not_a_capture (nothing that can be imported: the
/// message says what is known of it, and what to do).
[[nodiscard]] Result<SourceKind> source_kind(const std::string& path);

struct TraceOptions {
  ImportOptions import;
  /// Name of the ranges that are the steps, numbers in it aside. "": "step" or "ProfilerStep#…" if there are such, else
  /// the steps are searched for.
  std::string step_range = {};
};

/// Makes one new capture of all files, which may be of several ranks. An nsys_report is exported first, with the nsys
/// that is found in PATH. The capture appears under its name when it is whole; the sources are left as they are.
/// Failures: usage, io, not_a_capture, corrupt (a column is missing or of another type; not JSON), no_data (nothing
/// ran on a device: the message says what to look at), environment (no nsys in PATH: the message has the command).
[[nodiscard]] Result<ImportSummary> import_traces(const std::vector<std::string>& paths,
                                                  const std::string& output,
                                                  const TraceOptions& options = {});

}  // namespace ridgeline::import
