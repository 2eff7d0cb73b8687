// json.h: the JSON of the protocol: members stay in their order.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ridgeline::mcp {

using Json = nlohmann::ordered_json;

/// In one line; what is no UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string one_line_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ridgeline::mcp
