// nsys_import.h: what Nsight Systems recorded, from its SQLite export.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traces/trace_source.h"

namespace ridgeline::import {

/// Reads the whole export. Throws Error: corrupt, io.
[[nodiscard]] ForeignRecording read_nsys(const std::string& path, const std::string& scratch_directory);

}  // namespace ridgeline::import
