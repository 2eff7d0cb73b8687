// nvtx_path.h: the parts of an NVTX path.
#pragma once

#include <string_view>
#include <vector>

namespace ridgeline::analyzer {

/// The names of its ranges, outermost first; the results refer to `path`.
[[nodiscard]] std::vector<std::string_view> parts_of_path(std::string_view path);

/// Parts of an NVTX path ("step / forward / layer 3 / attention"): the range below the outermost ("forward") and
/// the first whose name ends in a number ("layer 3"); "(no range)" without one. The result may refer to `path`.
[[nodiscard]] std::string_view phase_of(std::string_view path);
[[nodiscard]] std::string_view layer_of(std::string_view path);

/// True if `path` is `tree` or lies in it: "step / forward" holds "step / forward / layer 3".
[[nodiscard]] bool in_subtree(std::string_view path, std::string_view tree);

inline constexpr std::string_view kPathSeparator = " / ";
inline constexpr std::string_view kNoRange = "(no range)";

}  // namespace ridgeline::analyzer
