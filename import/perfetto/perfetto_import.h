// perfetto_import.h: traces in Perfetto's own format that say what ran on GPUs: torch.profiler's .pftrace and what
// `ridgeline export` writes.
#pragma once

#include <string>

#include "traces/trace_source.h"

namespace ridgeline::import {

/// Takes render stages as what ran on devices, slices on threads as calls and ranges. Memory grows with events. A file
/// that ends early gives what is whole in it, and says so. Throws Error: corrupt (not one packet is whole), io.
[[nodiscard]] ForeignRecording read_perfetto(const std::string& path, const std::string& scratch_directory,
                                             const ReadProgress& progress);

}  // namespace ridgeline::import
