// ncu_report.h: reports of Nsight Compute, which only NVIDIA's own programs read.
#pragma once

#include <string>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

/// By its name: the format is not published.
[[nodiscard]] bool is_ncu_report(const std::string& path);

/// Writes the launches of a report to `output` as CSV of the page "raw", numbers with a decimal point. By the module
/// ncu_report in the user's python3 (on its path, or in extras/python beside the ncu in PATH), which gives values as
/// they were measured; without it by `ncu --import --csv`, which rounds them.
/// Failure: environment (neither is there, or both failed: the message has the command to run by hand).
[[nodiscard]] Result<void> export_ncu_report(const std::string& report, const std::string& output);

}  // namespace ridgeline::import
