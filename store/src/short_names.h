// short_names.h: a mangled name with short identifiers in place of its own, for a demangler that refuses long ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::store {

/// libstdc++'s demangler refuses names of more than 1024 bytes, which CUTLASS's often are; most of their bytes are
/// identifiers, whose text the demangler only copies.
struct ShortNames {
  std::string mangled;             ///< with "q0", "q1", … as identifiers
  std::vector<std::string> names;  ///< that these stand for
};
/// Empty: the name has something that is not understood here (expressions), or is damaged.
[[nodiscard]] std::optional<ShortNames> with_short_names(std::string_view mangled);
/// The demangled text with the identifiers put back.
[[nodiscard]] std::string with_own_names(std::string_view demangled, const ShortNames& names);

}  // namespace ridgeline::store
