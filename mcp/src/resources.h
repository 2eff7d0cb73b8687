// resources.h: what an agent may read once and keep: how to work with captures, the views of SQL, what columns mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace ridgeline::mcp {

/// Of one text: it is there once, so that it may be longer than an answer and is below 10,000 tokens too.
inline constexpr std::size_t kMaxResourceBytes = 28'000;

/// Those that are listed, and the patterns of those that are too many to be.
[[nodiscard]] Json resource_list();
[[nodiscard]] Json resource_templates();
/// {uri, mimeType, text}; nothing under a name that is none of ours.
[[nodiscard]] std::optional<Json> resource(std::string_view uri);

}  // namespace ridgeline::mcp
