// spool_words.h: what the codes of a spool are called in a capture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ridgeline/base/vocabulary.h"
#include "ridgeline/spool/format.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::import {

/// Counters and samples refused for one cause: the same of CUPTI's errors, or the same permission.
[[nodiscard]] bool same_refusal(std::string_view a, std::string_view b);

[[nodiscard]] CopyKind copy_kind(spool::MemcpyKind kind);

/// "cupti"; null: of another version.
[[nodiscard]] const char* component_name(spool::Component component);
/// "13.0.1 (path)"; "" without one.
[[nodiscard]] std::string version_text(const spool::Reader& reader, const spool::VersionRecord& record);

/// Of a CUpti_ActivityOverheadKind, as its header names the values.
[[nodiscard]] std::string overhead_kind(std::uint32_t kind);

}  // namespace ridgeline::import
