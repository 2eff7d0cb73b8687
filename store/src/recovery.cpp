#include "recovery.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

// What a writer that was interrupted leaves beside a database: a rollback journal, or a write-ahead log.
constexpr const char* kLeftovers[] = {"-journal", "-wal"};
constexpr const char* kCopyName = "/capture";

// At the end of the journal of a transaction over several files stands the name of another file, which SQLite deletes
// when it recovers (sqlite3 pager.c, readSuperJournal and pager_delsuper). No file of ours is written that way.
bool names_another_file(const fs::path& journal) {
  constexpr unsigned char kJournalMagic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  constexpr std::streamoff kRecordBytes = 16;  // length, checksum and magic
  std::ifstream file(journal, std::ios::binary);
  file.seekg(0, std::ios::end);
  if (!file || file.tellg() < kRecordBytes) return false;
  std::array<char, sizeof kJournalMagic> end{};
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  file.read(end.data(), end.size());
  return std::memcmp(end.data(), kJournalMagic, sizeof kJournalMagic) == 0;
}

void copy_into(const std::string& from, const fs::path& to, const std::string& path) {
  std::error_code code;
  fs::copy_file(from, to, code);
  if (!code) return;
  throw Error(ErrorKind::io, path + " was not written to its end, and " + from + " cannot be copied to " +
                                 to.parent_path().string() + " to recover it (" + code.message() +
                                 "): set TMPDIR to a folder with room, or check permissions");
}

}  // namespace

std::vector<std::string> leftovers_of(const std::string& path) {
  std::vector<std::string> found;
  for (const char* suffix : kLeftovers) {
    const std::string name = path + suffix;
    std::error_code code;
    const auto status = fs::status(name, code);
    if (status.type() == fs::file_type::not_found) continue;
    if (!fs::is_regular_file(status)) {
      throw Error(ErrorKind::io,
                  name + " is no file, as an interrupted writer would have left it: move it away");
    }
    const std::uintmax_t bytes = fs::file_size(name, code);
    if (code == std::errc::no_such_file_or_directory) continue;  // its writer has just ended
    if (code) throw Error(ErrorKind::io, name + ": " + code.message());
    if (bytes > 0) found.emplace_back(suffix);
  }
  return found;
}

void refuse_foreign_journal(const std::string& path) {
  if (!names_another_file(path + "-journal")) return;
  throw Error(ErrorKind::corrupt, path +
                                      "-journal names another file, which recovery would delete: it is "
                                      "not of Ridgeline's making; move it away to read what is without it");
}

void refuse_holes(const std::string& path) {
  constexpr off_t kHarmlessBytes = 64 << 20;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;  // whoever copies it says why
  struct stat status {};
  off_t data_bytes = 0;
  if (fstat(file, &status) == 0 && status.st_size > kHarmlessBytes) {
    // A file system that knows no holes says that all is data.
    for (off_t at = 0; at < status.st_size;) {
      const off_t begin = lseek(file, at, SEEK_DATA);
      if (begin < 0) break;
      const off_t end = lseek(file, begin, SEEK_HOLE);
      if (end <= begin) break;
      data_bytes += end - begin;
      at = end;
    }
  }
  close(file);
  if (status.st_size - data_bytes <= data_bytes + kHarmlessBytes) return;
  throw Error(ErrorKind::corrupt, path + " is damaged (" + std::to_string(status.st_size) +
                                      " bytes, of which all but " + std::to_string(data_bytes) +
                                      " are holes): record again or use a backup");
}

Database copy_to_memory(const Database& source, const std::string& path) {
  Database memory(":memory:", OpenMode::read_write);
  memory.set_path(path);
  memory.execute("PRAGMA journal_mode = OFF");  // what fails here is thrown away as a whole
  sqlite3_backup* backup = sqlite3_backup_init(memory.handle(), "main", source.handle(), "main");
  if (backup == nullptr)
    throw Error(ErrorKind::internal, "cannot copy " + path + ": " + sqlite3_errmsg(memory.handle()));
  const int code = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) {
    const bool busy = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
    throw Error(busy ? ErrorKind::io : ErrorKind::corrupt,
                path + (busy ? " is being written by another program (" : " is damaged (") +
                    sqlite3_errstr(code) +
                    (busy ? "): try again when that has ended" : "): record again or use a backup"));
  }
  return memory;
}

RecoveredCopy::RecoveredCopy(const std::string& path, const std::vector<std::string>& leftovers) {
  // Before a byte is copied: the room is not there to be filled with nothing.
  refuse_holes(path);
  for (const std::string& suffix : leftovers) refuse_holes(path + suffix);
  const FileSizeSignalIgnored ignored;  // a limit is an error that cleans up behind itself
  std::error_code code;
  std::string pattern = (fs::temp_directory_path(code) / "ridgeline-XXXXXX").string();
  if (code || mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::io, "cannot make a temporary directory to recover " + path + ": set TMPDIR");
  directory_ = pattern;
  const std::string copy = directory_ + kCopyName;
  files_.emplace(std::vector<std::string>{copy, copy + "-journal", copy + "-wal", copy + "-shm", directory_});
  try {
    copy_into(path, copy, path);
    for (const std::string& suffix : leftovers) copy_into(path + suffix, copy + suffix, path);
    refuse_foreign_journal(copy);  // of the copy: nobody else changes that
    database_.emplace(copy, OpenMode::read_write);
    database_->set_path(path);
    // Recovers, and fails here if it cannot.
    (void)database_->scalar_int64("SELECT count(*) FROM sqlite_schema");
  } catch (const Error& error) {
    database_.reset();
    remove();
    std::string message = error.message();  // the copy's name tells nobody anything
    if (const std::size_t at = message.find(copy); at != std::string::npos)
      message.replace(at, copy.size(), path);
    throw Error(error.kind(), message);
  } catch (...) {
    database_.reset();
    remove();
    throw;
  }
}

RecoveredCopy::~RecoveredCopy() {
  database_.reset();
  remove();
}

void RecoveredCopy::remove() noexcept {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

}  // namespace ridgeline::store
