#include "ridgeline/store/capture.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

namespace fs = std::filesystem;

// The fields of SQLite's 100-byte file header that tell whether this is a whole capture
// (sqlite.org/fileformat2.html, section 1.3). All big-endian.
struct FileHeader {
  std::uint64_t page_bytes = 0;
  std::uint64_t page_count = 0;  // 0: written by a library too old to say
  std::int64_t user_version = 0;
  std::int64_t application_id = 0;
};

std::uint32_t big_endian32(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

Failure not_a_capture(const std::string& path, const std::string& what) {
  return {ErrorKind::not_a_capture, path + " is not a Ridgeline capture (" + what +
                                        "): give a file that `ridgeline record` has written"};
}

Result<FileHeader> read_header(const std::string& path) {
  std::error_code code;
  const auto status = fs::status(path, code);
  if (!fs::exists(status)) return Failure{ErrorKind::io, path + ": no such file"};
  if (fs::is_directory(status)) return not_a_capture(path, "it is a directory");
  const auto file_bytes = fs::file_size(path, code);
  if (code) return Failure{ErrorKind::io, path + ": " + code.message()};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failure{ErrorKind::io, path + " cannot be read: check its permissions"};
  if (file_bytes == 0) return not_a_capture(path, "it is empty");
  std::array<unsigned char, 100> bytes{};
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  static constexpr char kMagic[] = "SQLite format 3";  // with its terminating zero: 16 bytes
  const auto have = static_cast<std::size_t>(file.gcount());
  if (have < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return not_a_capture(path, "it is no SQLite file");
  if (have < bytes.size())
    return Failure{ErrorKind::corrupt, path + " is truncated: its header is incomplete"};

  FileHeader header;
  header.page_bytes = std::uint64_t{bytes[16]} << 8 | bytes[17];
  if (header.page_bytes == 1) header.page_bytes = 65536;
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
  if (file_bytes < expected) {
    return Failure{ErrorKind::corrupt, path + " is truncated: " + std::to_string(file_bytes) + " of " +
                                           std::to_string(expected) + " bytes are there"};
  }
  return header;
}

// A private copy in memory, for what a reader may not do to the file itself.
Database copy_to_memory(const Database& source) {
  Database memory(":memory:", OpenMode::read_write);
  memory.execute("PRAGMA journal_mode = OFF");  // what fails here is thrown away as a whole
  sqlite3_backup* backup = sqlite3_backup_init(memory.handle(), "main", source.handle(), "main");
  if (backup == nullptr)
    throw Error(ErrorKind::internal,
                std::string("cannot copy the capture: ") + sqlite3_errmsg(memory.handle()));
  const int code = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) throw Error(ErrorKind::corrupt, source.path() + ": " + sqlite3_errstr(code));
  return memory;
}

// An import that was killed leaves its rollback journal. Recovery writes to the file, so it is done on a
// copy in a temporary directory.
Database recover_copy(const std::string& path) {
  std::string pattern = (fs::temp_directory_path() / "ridgeline-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::io, "cannot make a temporary directory to recover " + path + ": set TMPDIR");
  const fs::path directory(pattern);
  struct Cleanup {
    fs::path directory;
    ~Cleanup() {
      std::error_code ignored;
      fs::remove_all(directory, ignored);
    }
  } cleanup{directory};
  fs::copy_file(path, directory / "capture");
  fs::copy_file(path + "-journal", directory / "capture-journal");
  const Database recovered((directory / "capture").string(), OpenMode::read_write);
  return copy_to_memory(recovered);
}

Database open_current(const std::string& path, const FileHeader& header) {
  std::error_code code;
  const bool interrupted = fs::exists(path + "-journal", code) && fs::file_size(path + "-journal", code) > 0;
  if (interrupted) {
    Database database = recover_copy(path);
    migrate(database, migrations(), views_sql());
    return database;
  }
  Database file(path, OpenMode::read_only);
  if (header.user_version == schema_version()) return file;
  Database database = copy_to_memory(file);
  migrate(database, migrations(), views_sql());
  return database;
}

// Reads all rows of a SELECT into a vector through a function that builds one.
template <typename Build>
auto load(const Database& database, std::string_view sql, Build build) {
  std::vector<decltype(build(std::declval<const Statement&>()))> rows;
  Statement statement = database.prepare(sql);
  while (statement.step()) rows.push_back(build(statement));
  return rows;
}

std::optional<int> optional_int(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return static_cast<int>(row.int64(column));
}

std::map<std::string, std::string> load_pairs(const Database& database, std::string_view sql) {
  std::map<std::string, std::string> pairs;
  Statement statement = database.prepare(sql);
  while (statement.step()) pairs.emplace(statement.text(0), statement.text(1));
  return pairs;
}

// What a user's SELECT may do. ATTACH would open, even create, other files.
int authorise_select(void*, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

Result<Capture> Capture::open(const std::string& path) {
  try {
    auto header = read_header(path);
    if (!header) return header.failure();
    Capture capture(path, open_current(path, header.value()));
    // A damaged schema page shows only when it is first read: show it here, with the file's name.
    (void)capture.database_.scalar_int64("SELECT count(*) FROM run");
    return capture;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::usage)
      return Failure{ErrorKind::corrupt,
                     path + " is damaged (" + error.message() + "): record again or use a backup"};
    return Failure{error.kind(), error.message()};
  }
}

bool Capture::has_run() const {
  return database_.scalar_int64("SELECT count(*) FROM run") > 0;
}
Run Capture::run() const {
  Statement row = database_.prepare(
      "SELECT command_line, working_directory, git_commit, git_dirty, host_name, os, ridgeline_version, "
      "clock,"
      " start_ns, end_ns, exit_status, exit_signal, schedule, step_range FROM run WHERE id = 1");
  if (!row.step())
    throw Error(ErrorKind::no_data, path_ + " holds no run: the recording ended before it began");
  Run run;
  run.command_line = row.text(0);
  run.working_directory = row.optional_text(1);
  run.git_commit = row.optional_text(2);
  if (!row.is_null(3)) run.git_dirty = row.int64(3) != 0;
  run.host_name = row.optional_text(4);
  run.os = row.optional_text(5);
  run.ridgeline_version = row.text(6);
  run.clock = row.text(7);
  run.start_ns = row.optional_int64(8);
  run.end_ns = row.optional_int64(9);
  run.exit_status = optional_int(row, 10);
  run.exit_signal = optional_int(row, 11);
  run.schedule = row.optional_text(12);
  run.step_range = row.optional_text(13);
  return run;
}

std::map<std::string, std::string> Capture::versions() const {
  return load_pairs(database_, "SELECT component, version FROM version");
}
std::map<std::string, std::string> Capture::environment() const {
  return load_pairs(database_, "SELECT name, value FROM environment_variable");
}

std::vector<Process> Capture::processes() const {
  return load(database_,
              "SELECT id, pid, parent_pid, command, rank, start_ns, end_ns FROM process ORDER BY id",
              [](const Statement& row) {
                return Process{row.int64(0),         row.int64(1),         row.optional_int64(2),
                               row.optional_text(3), optional_int(row, 4), row.optional_int64(5),
                               row.optional_int64(6)};
              });
}
std::vector<Device> Capture::devices() const {
  return load(database_,
              "SELECT id, device_index, name, uuid, chip, compute_capability, sm_count, max_sm_clock_hz,"
              " max_memory_clock_hz, memory_bus_bits, memory_bytes, l2_bytes FROM device ORDER BY id",
              [](const Statement& row) {
                return Device{row.int64(0),         static_cast<int>(row.int64(1)), row.text(2),
                              row.optional_text(3), row.optional_text(4),           row.optional_text(5),
                              optional_int(row, 6), row.optional_int64(7),          row.optional_int64(8),
                              optional_int(row, 9), row.optional_int64(10),         row.optional_int64(11)};
              });
}
std::vector<DevicePeak> Capture::device_peaks() const {
  return load(database_,
              "SELECT device_id, quantity, source, value, detail FROM device_peak"
              " ORDER BY device_id, quantity, source",
              [](const Statement& row) {
                return DevicePeak{row.int64(0), row.text(1), row.word<PeakSource>(2, "device_peak.source"),
                                  row.real(3), row.optional_text(4)};
              });
}
std::vector<ClockSample> Capture::clock_samples() const {
  return load(
      database_,
      "SELECT device_id, time_ns, sm_clock_hz, memory_clock_hz, power_mw, temperature_c, throttle_reasons"
      " FROM clock_sample ORDER BY device_id, time_ns",
      [](const Statement& row) {
        return ClockSample{row.int64(0),          row.int64(1),          row.optional_int64(2),
                           row.optional_int64(3), row.optional_int64(4), optional_int(row, 5),
                           row.optional_int64(6)};
      });
}
std::vector<Kernel> Capture::kernels() const {
  return load(
      database_,
      "SELECT id, mangled_name, demangled_name, normalised_name, class, code_hash FROM kernel ORDER BY id",
      [](const Statement& row) {
        return Kernel{row.int64(0),
                      row.text(1),
                      row.text(2),
                      row.text(3),
                      row.word<KernelClass>(4, "kernel.class"),
                      row.optional_text(5)};
      });
}
std::vector<CounterConfiguration> Capture::counter_configurations() const {
  return load(database_, "SELECT id, name, pass_count FROM counter_configuration ORDER BY id",
              [](const Statement& row) {
                return CounterConfiguration{row.int64(0), row.text(1), static_cast<int>(row.int64(2))};
              });
}
std::vector<Step> Capture::steps() const {
  return load(
      database_,
      "SELECT id, process_id, step_index, phase, host_start_ns, host_end_ns, gpu_start_ns, gpu_end_ns,"
      " configuration_id, status, reason, source FROM step ORDER BY process_id, step_index",
      [](const Statement& row) {
        return Step{row.int64(0),          row.int64(1),
                    row.int64(2),          row.word<Phase>(3, "step.phase"),
                    row.optional_int64(4), row.optional_int64(5),
                    row.optional_int64(6), row.optional_int64(7),
                    row.optional_int64(8), row.word<StepStatus>(9, "step.status"),
                    row.optional_text(10), row.word<StepSource>(11, "step.source")};
      });
}
template <typename Row>
std::vector<Row> Capture::activity(RowVisitor<Row> for_each) const {
  std::vector<Row> rows;
  (Activity(*this).*for_each)({}, [&](const Row& row) { rows.push_back(row); }, {});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.process_id, a.start_ns) < std::tie(b.process_id, b.start_ns);
  });
  return rows;
}
std::vector<NvtxRange> Capture::nvtx_ranges() const {
  auto rows = activity<NvtxRange>(&Activity::for_each_range);
  std::stable_sort(rows.begin(), rows.end(), [](const NvtxRange& a, const NvtxRange& b) {
    return std::tie(a.process_id, a.start_ns, a.depth) < std::tie(b.process_id, b.start_ns, b.depth);
  });
  return rows;
}
std::vector<Launch> Capture::launches() const {
  return activity<Launch>(&Activity::for_each_launch);
}
std::vector<Memcpy> Capture::memcpys() const {
  return activity<Memcpy>(&Activity::for_each_memcpy);
}
std::vector<Memset> Capture::memsets() const {
  return activity<Memset>(&Activity::for_each_memset);
}
std::vector<Metric> Capture::metrics() const {
  return load(database_, "SELECT id, name, label, unit, meaning FROM metric ORDER BY id",
              [](const Statement& row) {
                return Metric{row.int64(0), row.text(1), row.text(2), row.text(3), row.text(4)};
              });
}
std::vector<LaunchMetric> Capture::launch_metrics() const {
  return load(database_,
              "SELECT launch_id, metric_id, tier, value, error, sample_count, concurrent FROM launch_metric"
              " ORDER BY launch_id, metric_id",
              [](const Statement& row) {
                return LaunchMetric{
                    row.int64(0),     row.int64(1),         row.word<Tier>(2, "launch_metric.tier"),
                    row.real(3),      row.optional_real(4), row.optional_int64(5),
                    row.int64(6) != 0};
              });
}
std::vector<Completeness> Capture::completeness() const {
  return load(database_,
              "SELECT process_id, launches_seen, kernel_records, graph_launches, graph_kernel_records,"
              " profiler_records, dropped_records, lost_spool_records, zero_timestamps, truncated_bytes"
              " FROM completeness ORDER BY process_id",
              [](const Statement& row) {
                return Completeness{row.int64(0), row.int64(1), row.int64(2), row.int64(3), row.int64(4),
                                    row.int64(5), row.int64(6), row.int64(7), row.int64(8), row.int64(9)};
              });
}
std::vector<TierStatus> Capture::tier_statuses() const {
  return load(database_, "SELECT process_id, tier, status, reason FROM tier_status ORDER BY process_id, tier",
              [](const Statement& row) {
                return TierStatus{row.int64(0), row.word<Tier>(1, "tier_status.tier"),
                                  row.word<TierOutcome>(2, "tier_status.status"), row.optional_text(3)};
              });
}
std::vector<Message> Capture::messages() const {
  return load(database_, "SELECT id, process_id, time_ns, severity, text FROM message ORDER BY id",
              [](const Statement& row) {
                return Message{row.int64(0), row.optional_int64(1), row.optional_int64(2),
                               row.word<Severity>(3, "message.severity"), row.text(4)};
              });
}
std::vector<Annotation> Capture::annotations() const {
  std::vector<Annotation> rows;
  Activity(*this).for_each_annotation({}, [&](const Annotation& row) { rows.push_back(row); });
  return rows;
}
std::vector<PmWindow> Capture::pm_windows() const {
  return load(
      database_,
      "SELECT id, process_id, device_id, first_step_index, last_step_index, interval_ns, start_ns,"
      " end_ns, sample_count, buffer_bytes, overflow, clock_shift_ns, shift_correlation, status, reason"
      " FROM pm_window ORDER BY process_id, start_ns, id",
      [](const Statement& row) {
        return PmWindow{row.int64(0),          row.int64(1),
                        row.int64(2),          row.optional_int64(3),
                        row.optional_int64(4), row.int64(5),
                        row.optional_int64(6), row.optional_int64(7),
                        row.int64(8),          row.int64(9),
                        row.int64(10) != 0,    row.optional_int64(11),
                        row.optional_real(12), row.word<WindowStatus>(13, "pm_window.status"),
                        row.optional_text(14)};
      });
}
std::vector<PmSample> Capture::pm_samples(Id device_id, Id metric_id) const {
  std::vector<PmSample> rows;
  Statement statement = database_.prepare(
      "SELECT time_ns, value FROM pm_sample WHERE device_id = ? AND metric_id = ? ORDER BY time_ns");
  statement.bind_all(device_id, metric_id);
  while (statement.step()) rows.push_back({device_id, statement.int64(0), metric_id, statement.real(1)});
  return rows;
}
std::vector<TierCoverage> Capture::tier_coverage() const {
  return load(database_,
              "SELECT process_id, tier, metric_id, kernel_time_ns, covered_ns FROM tier_coverage"
              " ORDER BY process_id, tier, metric_id",
              [](const Statement& row) {
                return TierCoverage{row.int64(0), row.word<Tier>(1, "tier_coverage.tier"), row.int64(2),
                                    row.int64(3), row.int64(4)};
              });
}
std::vector<ReplayExclusion> Capture::replay_exclusions() const {
  return load(database_,
              "SELECT process_id, kernel_id, reason FROM replay_exclusion ORDER BY process_id, kernel_id",
              [](const Statement& row) {
                return ReplayExclusion{row.int64(0), row.int64(1),
                                       row.word<ExclusionReason>(2, "replay_exclusion.reason")};
              });
}
std::vector<GraphMetric> Capture::graph_metrics() const {
  return load(database_,
              "SELECT step_id, correlation_id, metric_id, tier, value FROM graph_metric"
              " ORDER BY step_id, correlation_id, metric_id",
              [](const Statement& row) {
                return GraphMetric{row.int64(0), row.int64(1), row.int64(2),
                                   row.word<Tier>(3, "graph_metric.tier"), row.real(4)};
              });
}
std::vector<RecordingWindow> Capture::recording_windows() const {
  return load(database_,
              "SELECT id, process_id, start_ns, end_ns, cause, synchronisation FROM recording_window"
              " ORDER BY process_id, start_ns",
              [](const Statement& row) {
                return RecordingWindow{row.int64(0),
                                       row.int64(1),
                                       row.int64(2),
                                       row.optional_int64(3),
                                       row.word<WindowCause>(4, "recording_window.cause"),
                                       row.int64(5) != 0};
              });
}
std::vector<StallWindow> Capture::stall_windows() const {
  return load(database_,
              "SELECT id, process_id, device_id, first_step_index, last_step_index, period_cycles, samples,"
              " dropped_samples, foreign_samples, status, reason FROM stall_window ORDER BY id",
              [](const Statement& row) {
                StallWindow window;
                window.id = row.int64(0);
                window.process_id = row.int64(1);
                window.device_id = row.int64(2);
                window.first_step_index = row.int64(3);
                window.last_step_index = row.int64(4);
                window.period_cycles = row.int64(5);
                window.samples = row.int64(6);
                window.dropped_samples = row.int64(7);
                window.foreign_samples = row.int64(8);
                window.status = row.word<WindowStatus>(9, "stall_window.status");
                window.reason = row.optional_text(10);
                return window;
              });
}
std::vector<StallSample> Capture::stall_samples() const {
  return load(
      database_,
      "SELECT kernel_id, pc_offset, value, samples FROM stall_sample JOIN string ON string.id = reason_id"
      " ORDER BY kernel_id, pc_offset, value",
      [](const Statement& row) {
        return StallSample{row.int64(0), row.int64(1), row.text(2), row.int64(3)};
      });
}
std::vector<SourceLine> Capture::source_lines() const {
  return load(database_,
              "SELECT kernel_id, pc_offset, file_id, line FROM source_line ORDER BY kernel_id, pc_offset",
              [](const Statement& row) {
                return SourceLine{row.int64(0), row.int64(1), row.optional_int64(2), row.optional_int64(3)};
              });
}
std::map<Id, std::string> Capture::strings() const {
  std::map<Id, std::string> strings;
  Statement statement = database_.prepare("SELECT id, value FROM string");
  while (statement.step()) strings.emplace(statement.int64(0), statement.text(1));
  return strings;
}

std::map<std::string, std::int64_t> Capture::row_counts() const {
  std::map<std::string, std::int64_t> counts;
  Statement names = database_.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  while (names.step()) {
    std::string quoted;
    for (char c : names.text(0)) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    // The rows of these two are what a reader knows as launches and ranges.
    const std::string table = names.text(0) == "launch_row"  ? "launch"
                              : names.text(0) == "range_row" ? "nvtx_range"
                                                             : names.text(0);
    counts[table] = database_.scalar_int64("SELECT count(*) FROM \"" + quoted + "\"");
  }
  return counts;
}

Result<Capture::Table> Capture::query(std::string_view sql, std::size_t max_rows) const {
  sqlite3* handle = database_.handle();
  struct Authorised {
    sqlite3* handle;
    explicit Authorised(sqlite3* h) : handle(h) { sqlite3_set_authorizer(h, authorise_select, nullptr); }
    ~Authorised() { sqlite3_set_authorizer(handle, nullptr, nullptr); }
  } authorised(handle);

  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &raw, &tail);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> first(raw, sqlite3_finalize);
  const std::string_view message = code == SQLITE_OK ? "" : sqlite3_errmsg(handle);
  // That a view is to be modified is found before the authoriser is asked.
  if (code == SQLITE_AUTH || message.starts_with("cannot modify"))
    return Failure{ErrorKind::usage, "only SELECT is allowed: a capture is never modified"};
  if (code != SQLITE_OK) return Failure{ErrorKind::usage, "SQL: " + std::string(message)};
  if (raw == nullptr) return Failure{ErrorKind::usage, "SQL: the text holds no statement"};
  if (sqlite3_stmt_readonly(raw) == 0)  // VACUUM asks no authoriser before it runs
    return Failure{ErrorKind::usage, "only SELECT is allowed: a capture is never modified"};
  const std::string_view rest(tail, static_cast<std::size_t>(sql.data() + sql.size() - tail));
  if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return Failure{ErrorKind::usage, "SQL: give one statement, not several"};

  try {
    Statement statement(handle, sql);
    Table table;
    for (int column = 0; column < statement.column_count(); ++column)
      table.columns.push_back(statement.column_name(column));
    while (table.rows.size() < max_rows && statement.step()) {
      auto& row = table.rows.emplace_back();
      for (int column = 0; column < statement.column_count(); ++column)
        row.push_back(statement.value(column));
    }
    return table;
  } catch (const Error& error) {
    // What fails only while it runs (an overflow, a LIKE pattern too long) is the query's fault, not ours.
    const ErrorKind kind = error.kind() == ErrorKind::internal ? ErrorKind::usage : error.kind();
    return Failure{kind, error.message()};
  }
}

}  // namespace ridgeline::store
