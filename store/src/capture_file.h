// capture_file.h: how a capture's file is opened: what it must be, and what is done on a private copy because a reader
// never writes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ridgeline/base/error.h"
#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// The database of a capture in today's schema: the file itself, or a private copy where something had to be done to it
/// first (migration, recovery of an interrupted write). Its statements are limited.
/// Failures: as of Capture::open().
[[nodiscard]] Result<Database> open_capture_file(const std::string& path);

/// The tables that every capture of today's schema has, in the order of their making.
[[nodiscard]] std::span<const std::string_view> table_names();

}  // namespace ridgeline::store
