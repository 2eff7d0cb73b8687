#include "capture_file.h"

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "recovery.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/kept_file.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTables[] = {"run",
                                        "environment_variable",
                                        "version",
                                        "string",
                                        "process",
                                        "device",
                                        "device_peak",
                                        "clock_sample",
                                        "kernel",
                                        "counter_configuration",
                                        "step",
                                        "memcpy",
                                        "memset",
                                        "metric",
                                        "launch_metric",
                                        "completeness",
                                        "tier_status",
                                        "message",
                                        "pm_window",
                                        "pm_sample",
                                        "ceiling",
                                        "tier_coverage",
                                        "graph_metric",
                                        "recording_window",
                                        "replay_exclusion",
                                        "stall_window",
                                        "stall_sample",
                                        "source_line",
                                        "launch_site",
                                        "launch_chunk",
                                        "launch_row",
                                        "site_total",
                                        "ordinal_sum",
                                        "launch_sequence",
                                        "range_site",
                                        "range_chunk",
                                        "range_row",
                                        "range_work",
                                        "declared_work",
                                        "thread",
                                        "clock_pair",
                                        "profiler_overhead",
                                        "synchronisation",
                                        "reason",
                                        "reason_value",
                                        "node",
                                        "stream",
                                        "stream_call",
                                        "graph_node",
                                        "graph_edge",
                                        "memory_call",
                                        "left_out",
                                        "intervention",
                                        "communicator",
                                        "collective",
                                        "job_rank",
                                        "job_clock",
                                        "job_communicator",
                                        "job_site",
                                        "job_kernel",
                                        "job_step",
                                        "job_call",
                                        "job_kernel_step",
                                        "job_traffic",
                                        "job_interference",
                                        "collective_copy"};
// The last: not of all versions that are read in place.
constexpr std::size_t kTablesOfCopies = 1;
constexpr std::size_t kTablesOfInterference = 1;
constexpr std::size_t kTablesOfTraffic = 1;
constexpr std::size_t kTablesOfJobs = 10;
constexpr std::size_t kTablesOfInterventions = 1;
constexpr std::size_t kTablesOfOrder = 7;
constexpr std::size_t kTablesOfReasons = 2;

// The fields of SQLite's 100-byte file header that tell whether this is a whole capture
// (sqlite.org/fileformat2.html, section 1.3). All big-endian.
struct FileHeader {
  std::uint64_t page_bytes = 0;
  std::uint64_t page_count = 0;  // 0: written by a library too old to say
  std::uint64_t file_bytes = 0;
  std::int64_t user_version = 0;
  std::int64_t application_id = 0;
  bool has_log = false;  // written with a write-ahead log: readers would make files beside it
};

std::uint32_t big_endian32(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

Failure not_a_capture(const std::string& path, const std::string& what) {
  return {ErrorKind::not_a_capture, path + " is not a Ridgeline capture (" + what +
                                        "): give a file that `ridgeline record` has written"};
}

constexpr char kMagic[] = "SQLite format 3";  // with its terminating zero: 16 bytes

Failure no_access(const std::string& path, const std::error_code& code) {
  if (code == std::errc::permission_denied)
    return {ErrorKind::io, path + " cannot be reached: check the permissions of its folder"};
  return {ErrorKind::io, path + ": " + code.message()};
}

Result<FileHeader> read_header(const std::string& path) {
  std::error_code code;
  const auto status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) return Failure{ErrorKind::io, path + ": no such file"};
  if (code) return no_access(path, code);
  if (fs::is_directory(status)) return not_a_capture(path, "it is a directory");
  if (!fs::is_regular_file(status)) return not_a_capture(path, "it is a device or a pipe");
  FileHeader header;
  header.file_bytes = fs::file_size(path, code);
  if (code) return no_access(path, code);
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failure{ErrorKind::io, path + " cannot be read: check its permissions"};
  if (header.file_bytes == 0) return not_a_capture(path, "it is empty");
  std::array<unsigned char, 100> bytes{};
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  const auto have = static_cast<std::size_t>(file.gcount());
  if (have < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return not_a_capture(path, "it is no SQLite file");
  if (have < bytes.size())
    return Failure{ErrorKind::corrupt, path + " is truncated: its header is incomplete"};

  header.page_bytes = std::uint64_t{bytes[16]} << 8 | bytes[17];
  if (header.page_bytes == 1) header.page_bytes = 65536;
  header.has_log = bytes[18] == 2 || bytes[19] == 2;
  // The count is valid only if the change counter (24) equals "version-valid-for" (92).
  if (big_endian32(&bytes[24]) == big_endian32(&bytes[92])) header.page_count = big_endian32(&bytes[28]);
  header.user_version = big_endian32(&bytes[60]);
  header.application_id = big_endian32(&bytes[68]);
  if (header.application_id != kApplicationId) return not_a_capture(path, "it is some other SQLite database");
  if (header.user_version > schema_version()) {
    return Failure{ErrorKind::newer_capture, path + " was written by a newer Ridgeline (schema " +
                                                 std::to_string(header.user_version) +
                                                 ", this program reads up to " +
                                                 std::to_string(schema_version()) + "): upgrade Ridgeline"};
  }
  const std::uint64_t expected = header.page_bytes * header.page_count;
  if (header.file_bytes < expected) {
    return Failure{ErrorKind::corrupt, path + " is truncated: " + std::to_string(header.file_bytes) + " of " +
                                           std::to_string(expected) + " bytes are there"};
  }
  return header;
}

// Every verb reads these: a view or a virtual table in the place of one could be anything, even without an end.
void require_tables(const Database& database) {
  std::map<std::string, bool> stored;  // whether it has pages of its own
  Statement entry = database.prepare("SELECT name, type = 'table' AND rootpage > 0 FROM sqlite_schema");
  while (entry.step()) stored[entry.text(0)] = entry.int64(1) != 0;
  const auto version = database.scalar_int64("PRAGMA user_version");
  const std::size_t later = (version >= kCopiedCollectivesAreKept ? 0 : kTablesOfCopies) +
                            (version >= kInterferenceIsKept ? 0 : kTablesOfInterference) +
                            (version >= kJobTrafficIsKept ? 0 : kTablesOfTraffic) +
                            (version >= kJobsAreKept ? 0 : kTablesOfJobs) +
                            (version >= kInterventionsAreKept ? 0 : kTablesOfInterventions) +
                            (version >= kOrderIsRecorded ? 0 : kTablesOfOrder) +
                            (version >= kReasonsAreCodes ? 0 : kTablesOfReasons);
  for (const std::string_view name : std::span(kTables).first(std::size(kTables) - later)) {
    const auto found = stored.find(std::string(name));
    if (found != stored.end() && found->second) continue;
    throw Error(ErrorKind::corrupt, database.path() + " is damaged (" + std::string(name) +
                                        (found == stored.end() ? " is missing" : " is no table") +
                                        "): record again or use a backup");
  }
}

Database open_current(const std::string& path, const FileHeader& header) {
  const std::vector<std::string> leftovers = leftovers_of(path);
  const auto migrated = [&](Database database) {
    database.limit_statements(header.file_bytes);
    if (header.user_version < kReadInPlace) migrate(database, migrations(), views_sql());
    return database;
  };
  if (!leftovers.empty()) return migrated(copy_to_memory(RecoveredCopy(path, leftovers).database(), path));
  Database file(path, header.has_log ? OpenMode::immutable : OpenMode::read_only);
  file.limit_statements(header.file_bytes);
  if (header.user_version >= kReadInPlace) return file;
  refuse_holes(path);
  return migrated(copy_to_memory(file, path));
}

}  // namespace

bool is_capture_file(const std::string& path) {
  return kept_kind(path) == KeptKind::capture;
}

std::span<const std::string_view> table_names() {
  return kTables;
}

Result<Database> open_capture_file(const std::string& path) {
  try {
    auto header = read_header(path);
    if (!header.ok()) return header.failure();
    Database database = open_current(path, header.value());
    database.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    sqlite3_limit(database.handle(), SQLITE_LIMIT_LENGTH, 64 << 20);  // no honest value is as long
    require_tables(database);
    return database;
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  } catch (const fs::filesystem_error& error) {
    return Failure{ErrorKind::io, path + ": " + error.code().message()};
  }
}

}  // namespace ridgeline::store
