// recovery.h: databases that a writer was torn from: what it leaves beside them, and private copies that are
// recovered in their stead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/file.h"
#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// The endings of the files that an interrupted writer left beside a database and that have something in them: a
/// rollback journal, a write-ahead log. Throws Error(io) if one cannot be looked at, or is no file.
[[nodiscard]] std::vector<std::string> leftovers_of(const std::string& path);

/// Throws Error(corrupt) if the rollback journal of the database names another file, which SQLite would delete when it
/// recovers.
void refuse_foreign_journal(const std::string& path);

/// Throws Error(corrupt) if a file is mostly holes: no writer of ours leaves one, and a copy of it would fill a disk.
void refuse_holes(const std::string& path);

/// A private copy in memory, for what a reader may not do to the file itself. `path`: for messages.
[[nodiscard]] Database copy_to_memory(const Database& source, const std::string& path);

/// A recovered copy in a temporary folder, which goes with it; also if a signal ends the process. The file itself is
/// not touched. Throws Error(io), Error(corrupt).
class RecoveredCopy {
 public:
  RecoveredCopy(const std::string& path, const std::vector<std::string>& leftovers);
  ~RecoveredCopy();
  RecoveredCopy(const RecoveredCopy&) = delete;
  RecoveredCopy& operator=(const RecoveredCopy&) = delete;
  [[nodiscard]] const Database& database() const { return *database_; }

 private:
  void remove() noexcept;
  std::string directory_;
  std::optional<UnfinishedFiles> files_;
  std::optional<Database> database_;
};

}  // namespace ridgeline::store
