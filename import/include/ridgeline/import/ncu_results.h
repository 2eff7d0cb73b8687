// ncu_results.h: what Nsight Compute counted, joined onto the launches of a capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/import/importer.h"

namespace ridgeline::import {

enum class NcuLocale : std::uint8_t {
  decided,  ///< by the values of each file; refused where they do not say
  point,    ///< 1,234.5
  comma,    ///< 1.234,5
};

struct JoinOptions {
  bool overwrite = false;  ///< replace an existing output
  NcuLocale locale = NcuLocale::decided;
};

struct JoinSummary {
  std::string capture_path;
  std::int64_t launches = 0;     ///< that were profiled
  std::int64_t joined = 0;       ///< of those, onto a launch
  std::vector<Reason> messages;  ///< what was joined, and what was not and why
};

/// Writes a copy of the capture with the values of the files as counters (T2) of the launches of one step: of the
/// process that ran longest, the step that stands for all, or of a capture without steps all launches. A launch is the
/// one of the same kernel, grid and block, in their order; which kernel a name is, is decided by the whole name first,
/// then by the name of the function. A report is read through the user's Python module ncu_report, else the ncu in
/// PATH. The capture itself and the files are left as they are.
/// Failures: usage (no such file; output exists), not_a_capture, corrupt, no_data (nothing could be joined: the message
/// says what is in the file), environment (neither module nor ncu: the message has the command), io.
[[nodiscard]] Result<JoinSummary> join_ncu_results(const std::vector<std::string>& paths,
                                                   const std::string& capture, const std::string& output,
                                                   const JoinOptions& options = {});

}  // namespace ridgeline::import
