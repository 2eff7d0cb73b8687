// json_values.h: for the sources that make JSON values. Others include json_parts.h, which hands them on.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace ridgeline::reports {

using Json = nlohmann::ordered_json;

/// null or the value.
template <typename T>
[[nodiscard]] Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace ridgeline::reports
