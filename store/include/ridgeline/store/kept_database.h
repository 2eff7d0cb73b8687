// kept_database.h: opening a database that Ridgeline keeps and adds to, a history, so that neither a killed writer, nor
// two at once, nor a hostile file does harm.
//
// Lifecycle: 1. describe the kind of file (KeptFormat)  2. open_to_change(): the file is made or converted if need be,
// and a transaction is open  3. change it, commit  or  2. open_to_read(): nothing is written but what recovers the
// file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ridgeline/base/file.h"
#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// What a kind of file is like.
struct KeptFormat {
  std::string_view name;   ///< "history"
  std::string_view maker;  ///< the command that makes one, for messages
  std::int64_t application_id = 0;
  /// The tables of version 1, 2, …: CREATE statements. A file has exactly these tables, as these statements wrote them.
  std::span<const std::string_view> versions;
  /// Brings the tables of a version to those of the next, in an open transaction.
  void (*convert)(Database& database, std::int64_t from_version) = nullptr;
};

/// A database in an open transaction, which nobody else changes meanwhile. What is not committed is undone.
class KeptChange {
 public:
  explicit KeptChange(Database database);
  [[nodiscard]] Database& database() { return *database_; }
  void commit() { transaction_->commit(); }

 private:
  std::unique_ptr<FileSizeSignalIgnored> ignored_;  // a limit on sizes is an error like a full disk
  std::unique_ptr<Database> database_;
  std::unique_ptr<Transaction> transaction_;
};

/// Opens the file, recovers what a killed writer left, makes it if there is none or it is empty, converts it if it is
/// older. Waits for other writers, for a minute. Throws Error: io, not_a_capture (another kind of file), newer_capture,
/// corrupt (also: triggers, or tables that are not those of its version).
[[nodiscard]] KeptChange open_to_change(const std::string& path, const KeptFormat& format);

/// Opens the file to be read in the newest version's tables: itself, or a private copy that was converted or recovered
/// where the file may not be written. One moment of it is seen until it is closed. Throws as open_to_change(); also io
/// if there is none, no_data if it is empty.
[[nodiscard]] Database open_to_read(const std::string& path, const KeptFormat& format);

}  // namespace ridgeline::store
