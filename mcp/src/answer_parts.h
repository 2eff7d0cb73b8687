// answer_parts.h: what several answers are made of.
#pragma once

#include <string>
#include <string_view>

#include "captures.h"
#include "json.h"

namespace ridgeline::mcp {

/// An answer begins with which capture it is of.
[[nodiscard]] Json about(const CaptureFile& file);
/// The step: which, how long, of how many; from a document.
[[nodiscard]] Json short_step(const Json& document);
/// Coverage by counters and samples with their mean errors, whether the recording is complete, and what a reader must
/// know, worst first; from a document's "quality".
[[nodiscard]] Json trust(const Json& document);
/// Members of an object that are there.
[[nodiscard]] Json picked(const Json& object, std::initializer_list<const char*> keys);
/// Rows with kernel names as people read them.
[[nodiscard]] Json short_names(Json rows, const char* key);
/// A call that is worth making next.
[[nodiscard]] Json next_call(std::string_view tool, Json arguments, std::string_view why);

}  // namespace ridgeline::mcp
