// spool_words.h: what the codes of a spool are called in a capture.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/base/reason.h"
#include "ridgeline/spool/format.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::import {

/// What the agent says: the topic's code, the refusal's cause if it has one, the agent's words, in
/// which kernels have the names of their families instead of mangled ones.
[[nodiscard]] Reason reason_of(const spool::Reader& reader, const spool::MessageRecord& message);
/// The words of a record that has no code of its own: of the code given, no_reason or text_lost without any.
[[nodiscard]] Reason words_of(const spool::Reader& reader, ReasonCode code, spool::StringId text);
/// Counters and samples refused for one cause: the same of CUPTI's errors, or permission.
[[nodiscard]] bool same_refusal(const Reason& a, const Reason& b);

[[nodiscard]] CopyKind copy_kind(spool::MemcpyKind kind);

/// "cupti"; null: of another version.
[[nodiscard]] const char* component_name(spool::Component component);
/// "13.0.1 (path)"; "" without one.
[[nodiscard]] std::string version_text(const spool::Reader& reader, const spool::VersionRecord& record);

/// Of a CUpti_ActivityOverheadKind, as its header names the values.
[[nodiscard]] std::string overhead_kind(std::uint32_t kind);

}  // namespace ridgeline::import
