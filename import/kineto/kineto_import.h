// kineto_import.h: what torch.profiler and others wrote as Chrome's trace events: JSON, plain or gzip.
#pragma once

#include <string>

#include "traces/trace_source.h"

namespace ridgeline::import {

/// Streams: memory grows with calls that launch and with ranges, not with the file. A file that ends early or is
/// malformed gives what is whole in it, and says how much that is. Throws Error: corrupt (not one event is whole), io.
[[nodiscard]] ForeignRecording read_kineto(const std::string& path, const std::string& scratch_directory,
                                           const ReadProgress& progress);

}  // namespace ridgeline::import
