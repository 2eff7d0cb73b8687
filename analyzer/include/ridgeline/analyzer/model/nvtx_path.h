// nvtx_path.h: the parts of an NVTX path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::analyzer {

/// Whether the pattern means the whole name: `*` stands for any text, `?` for one character.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

/// The names of its ranges, outermost first; the results refer to `path`.
[[nodiscard]] std::vector<std::string_view> parts_of_path(std::string_view path);

/// Parts of an NVTX path ("step / forward / layer 3 / attention"): the range below the outermost ("forward") and
/// the first whose name ends in a number ("layer 3"), an outermost one that counts steps aside ("Train step 64");
/// "(no range)" without one. The result may refer to `path`.
[[nodiscard]] std::string_view phase_of(std::string_view path);
[[nodiscard]] std::string_view layer_of(std::string_view path);

/// The name of a range says that data is loaded in it: "dataloader", "next batch".
[[nodiscard]] bool loads_data(std::string_view range_name);

/// Means ranges by their names, "forward", or by names that follow each other, "forward / layer 3"; `*` stands
/// for any text within a name, `?` for one character.
class RangePattern {
 public:
  explicit RangePattern(std::string_view pattern);

  /// The path of the outermost range of `path` that is meant; empty if none is. A launch is in an instance of the
  /// pattern if the path that it was launched in holds one.
  [[nodiscard]] std::optional<std::string_view> outermost(std::string_view path) const;
  [[nodiscard]] bool holds(std::string_view path) const { return outermost(path).has_value(); }

 private:
  std::vector<std::string> names_;
};

inline constexpr std::string_view kPathSeparator = " / ";
inline constexpr std::string_view kNoRange = "(no range)";

}  // namespace ridgeline::analyzer
