// kept_file.h: files that were not made by typing a command once more, and are not written over by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::store {

/// What a file is, as far as it matters for writing over it.
enum class KeptKind {
  none,         ///< nothing is in the way: no file, or one that a command makes again
  capture,      ///< a recording
  history,      ///< results of many commits
  database,     ///< an SQLite database of somebody else
  journal,      ///< what the interrupted writer of a database left beside it: without it the database is lost
  settings,     ///< a project file or rules: TOML that a person wrote
  budget,       ///< a budget file
  noise_floor,  ///< what `calibrate` measured
};

/// By what the file holds, whatever its name. What is no regular file is none.
[[nodiscard]] KeptKind kept_kind(const std::string& path);

/// "a capture", "a history" …
[[nodiscard]] std::string_view kept_name(KeptKind kind);

/// Of histories, in SQLite's header: "RGHT".
inline constexpr std::int64_t kHistoryApplicationId = 0x52474854;

}  // namespace ridgeline::store
