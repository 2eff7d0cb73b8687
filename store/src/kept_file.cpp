#include "ridgeline/store/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

// Enough for SQLite's header, and for what begins a file that a person wrote.
constexpr std::size_t kLookedAtBytes = 16 * 1024;
constexpr char kSqliteMagic[] = "SQLite format 3";  // with its terminating zero
constexpr std::size_t kApplicationIdAt = 68;
constexpr std::size_t kHeaderBytes = 100;

std::string beginning_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  std::string bytes;
  struct stat status {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes.resize(kLookedAtBytes);
    const ssize_t got = read(file, bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(file);
  return bytes;
}

bool is_database(std::string_view bytes) {
  return bytes.size() >= kHeaderBytes && std::memcmp(bytes.data(), kSqliteMagic, sizeof(kSqliteMagic)) == 0;
}

std::int64_t application_id(std::string_view bytes) {
  std::int64_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id << 8 | static_cast<unsigned char>(bytes[kApplicationIdAt + i]);
  return id;
}

bool is_journal_of_a_database(const std::string& path) {
  for (const std::string_view ending : {"-journal", "-wal", "-shm"}) {
    if (!path.ends_with(ending)) continue;
    struct stat status {};
    // One whose writer was killed before its first commit is empty, and so are others.
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           is_database(beginning_of(path.substr(0, path.size() - ending.size())));
  }
  return false;
}

}  // namespace

KeptKind kept_kind(const std::string& path) {
  if (is_journal_of_a_database(path)) return KeptKind::journal;
  const std::string bytes = beginning_of(path);
  if (is_database(bytes)) {
    const std::int64_t id = application_id(bytes);
    if (id == kApplicationId) return KeptKind::capture;
    return id == kHistoryApplicationId ? KeptKind::history : KeptKind::database;
  }
  if (path.ends_with(".toml") && !bytes.empty())
    return bytes.find("ridgeline.noise") != std::string::npos ? KeptKind::noise_floor : KeptKind::settings;
  // Reports name their format at the start of a line; a report of a budget names none of this.
  if (bytes.find("\"ridgeline.budget\"") != std::string::npos) return KeptKind::budget;
  return KeptKind::none;
}

std::string_view kept_name(KeptKind kind) {
  switch (kind) {
    case KeptKind::none:
      return "no kept file";
    case KeptKind::capture:
      return "a capture";
    case KeptKind::history:
      return "a history";
    case KeptKind::database:
      return "an SQLite database";
    case KeptKind::journal:
      return "the journal of a database";
    case KeptKind::settings:
      return "a project file or a file of rules";
    case KeptKind::budget:
      return "a budget file";
    case KeptKind::noise_floor:
      return "a noise floor";
  }
  return "a kept file";
}

}  // namespace ridgeline::store
