// fit.h: answers that an agent can hold: long lists are cut, and what was cut is said.
#pragma once

#include <cstddef>

#include "json.h"

namespace ridgeline::mcp {

/// Of one answer as JSON in one line. A token is three bytes of it or more, so that an answer stays far below 10,000
/// tokens, and with the copy as text that the protocol asks for just at that.
inline constexpr std::size_t kMaxAnswerBytes = 14'000;
/// Of one text in it: names of kernels may be megabytes.
inline constexpr std::size_t kMaxTextBytes = 1'500;

/// Cuts the largest list, again and again, until the answer fits; "left_out" then says of which member how many. A list
/// keeps its first entries: it is to be in the order of what matters.
void fit(Json& answer, std::size_t max_bytes = kMaxAnswerBytes);

}  // namespace ridgeline::mcp
