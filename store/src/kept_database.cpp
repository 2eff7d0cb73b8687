#include "ridgeline/store/kept_database.h"

#include <chrono>
#include <filesystem>
#include <map>

#include "recovery.h"

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

// Many jobs of a CI may end at once, each with a few writes to a disk that is shared.
constexpr std::chrono::minutes kPatience{1};

// Opening a pipe would wait for ever, and so would a journal that is one.
bool require_regular(const std::string& path) {
  std::error_code code;
  const auto status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) return false;
  if (code) throw Error(ErrorKind::io, path + ": " + code.message());
  if (fs::is_directory(status)) throw Error(ErrorKind::io, path + ": is a directory");
  if (!fs::is_regular_file(status)) throw Error(ErrorKind::io, path + ": a device or a pipe, not a file");
  return true;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code code;
  const std::uintmax_t bytes = fs::file_size(path, code);
  return code ? 0 : bytes;
}

void prepare(Database& database) {
  database.set_patience(kPatience);
  database.distrust_schema();
}

std::map<std::string, std::string> tables_of(std::string_view sql) {
  Database memory(":memory:", OpenMode::read_write);
  memory.execute(std::string(sql));
  std::map<std::string, std::string> tables;
  Statement rows = memory.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'");
  while (rows.step()) tables[rows.text(0)] = rows.text(1);
  return tables;
}

[[noreturn]] void damaged(const Database& database, const std::string& what) {
  throw Error(ErrorKind::corrupt, database.path() + " is damaged (" + what + "): use a backup");
}

// Tables of other names are somebody's notes. Indexes and triggers would be run by what we write, and columns may be
// made of anything: only the very text that we wrote is known to be harmless.
void require_tables(const Database& database, std::string_view sql) {
  const auto expected = tables_of(sql);
  std::size_t found = 0;
  Statement entry = database.prepare("SELECT type, name, sql, rootpage > 0 FROM sqlite_schema");
  while (entry.step()) {
    const std::string type = entry.text(0);
    const std::string name = entry.text(1);
    if (type == "trigger") damaged(database, "a trigger in it would change what is added");
    if (type == "index" && !entry.is_null(2)) damaged(database, "an index that is none of ours");
    const auto table = expected.find(name);
    if (table == expected.end()) continue;
    if (type == "index") continue;
    if (type != "table" || entry.text(2) != table->second || entry.int64(3) == 0)
      damaged(database, "table " + name + " is not what was written");
    ++found;
  }
  if (found != expected.size()) damaged(database, "a table is missing");
}

// The version, after everything that makes the file what it is has been looked at.
std::int64_t checked_version(const Database& database, const KeptFormat& format) {
  const std::string& path = database.path();
  if (database.scalar_int64("PRAGMA application_id") != format.application_id) {
    throw Error(ErrorKind::not_a_capture,
                path + ": no " + std::string(format.name) + ": " + std::string(format.maker) + " makes one");
  }
  const std::int64_t version = database.scalar_int64("PRAGMA user_version");
  if (version > static_cast<std::int64_t>(format.versions.size()))
    throw Error(ErrorKind::newer_capture, path + ": written by a newer Ridgeline");
  if (version < 1) damaged(database, "its version is none");
  require_tables(database, format.versions[static_cast<std::size_t>(version) - 1]);
  return version;
}

void set_version(Database& database, std::size_t version) {
  database.execute("PRAGMA user_version = " + std::to_string(version));
}

void convert_to_newest(Database& database, std::int64_t version, const KeptFormat& format) {
  for (; version < static_cast<std::int64_t>(format.versions.size()); ++version)
    format.convert(database, version);
  set_version(database, format.versions.size());
}

bool is_empty(const Database& database) {
  return database.scalar_int64("SELECT count(*) FROM sqlite_schema") == 0 &&
         database.scalar_int64("PRAGMA application_id") == 0;
}

// SQLite's own words for another file are of captures.
template <typename Work>
auto named_as(const std::string& path, const KeptFormat& format, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_a_capture || error.message().starts_with(path + ": no ")) throw;
    throw Error(ErrorKind::not_a_capture,
                path + ": no " + std::string(format.name) + ": " + std::string(format.maker) + " makes one");
  }
}

// Undoes what a killed writer had begun, as any writer does; nothing if another one is at work. False: this file may
// not be written.
bool recover(const std::string& path) {
  const FileSizeSignalIgnored ignored;
  try {
    Database file(path, OpenMode::read_write);
    prepare(file);
    (void)file.scalar_int64("SELECT count(*) FROM sqlite_schema");
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    return false;
  }
}

Database readable(const std::string& path) {
  if (const auto leftovers = leftovers_of(path); !leftovers.empty()) {
    refuse_foreign_journal(path);
    if (!recover(path)) return copy_to_memory(RecoveredCopy(path, leftovers).database(), path);
  }
  Database file(path, OpenMode::read_only);
  return file;
}

}  // namespace

KeptChange::KeptChange(Database database)
    : ignored_(std::make_unique<FileSizeSignalIgnored>()),
      database_(std::make_unique<Database>(std::move(database))) {
  // What was committed is on the disk, with the journal's end, when commit() returns.
  database_->execute("PRAGMA synchronous = EXTRA; PRAGMA temp_store = MEMORY");
  transaction_ = std::make_unique<Transaction>(*database_);
}

KeptChange open_to_change(const std::string& path, const KeptFormat& format) {
  return named_as(path, format, [&] {
    require_regular(path);
    if (!leftovers_of(path).empty()) refuse_foreign_journal(path);
    Database file(path, OpenMode::keep);
    prepare(file);
    KeptChange change(std::move(file));
    Database& database = change.database();
    database.limit_statements(size_of(path));
    if (is_empty(database)) {
      database.execute("PRAGMA application_id = " + std::to_string(format.application_id));
      set_version(database, format.versions.size());
      database.execute(std::string(format.versions.back()));
    } else {
      convert_to_newest(database, checked_version(database, format), format);
    }
    return change;
  });
}

Database open_to_read(const std::string& path, const KeptFormat& format) {
  return named_as(path, format, [&] {
    if (!require_regular(path)) throw Error(ErrorKind::io, path + ": no such file");
    Database file = readable(path);
    prepare(file);
    file.execute("BEGIN");
    file.limit_statements(size_of(path));
    if (is_empty(file)) throw Error(ErrorKind::no_data, path + ": nothing was added to it");
    const std::int64_t version = checked_version(file, format);
    if (version == static_cast<std::int64_t>(format.versions.size())) return file;
    refuse_holes(path);
    Database converted = copy_to_memory(file, path);
    converted.limit_statements(size_of(path));
    prepare(converted);
    convert_to_newest(converted, version, format);
    return converted;
  });
}

}  // namespace ridgeline::store
