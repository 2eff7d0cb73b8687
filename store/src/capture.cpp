#include "ridgeline/store/capture.h"

#include <sqlite3.h>

#include <algorithm>
#include <tuple>

#include "capture_file.h"
#include "ceilings.h"
#include "reason_table.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/extra_table.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

// Reads all rows of a SELECT into a vector through a function that builds one.
template <typename Build>
auto load(const Database& database, std::string_view sql, Build build, std::int64_t expected = 0) {
  std::vector<decltype(build(std::declval<const Statement&>()))> rows;
  rows.reserve(static_cast<std::size_t>(expected));
  Statement statement = database.prepare(sql);
  while (statement.step()) rows.push_back(build(statement));
  return rows;
}

// Of a kernel's name: longer ones are a mistake or mischief, and every report would carry them.
constexpr std::size_t kMaxStoredNameBytes = 64 * 1024;

std::string name_of(const Statement& row, int column) {
  std::string name = row.text(column);
  if (name.size() > kMaxStoredNameBytes) name.resize(kMaxStoredNameBytes);
  return name;
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
  Result<Database> opened = open_capture_file(path);
  if (!opened.ok()) return opened.failure();
  return Capture(path, std::move(opened).value());
}

bool Capture::has_run() const {
  return database_.scalar_int64("SELECT count(*) FROM run") > 0;
}
Run Capture::run() const {
  Statement row = database_.prepare(
      "SELECT command_line, working_directory, git_commit, git_dirty, host_name, os, ridgeline_version, "
      "clock,"
      " start_ns, end_ns, exit_status, exit_signal, schedule, step_range FROM run");
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
                return DevicePeak{row.int64(0), row.word<Quantity>(1, "device_peak.quantity"),
                                  row.word<PeakSource>(2, "device_peak.source"), row.real(3),
                                  row.optional_text(4)};
              });
}
std::vector<Ceiling> Capture::ceilings() const {
  return read_ceilings(database_);
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
        return Kernel{row.int64(0),        name_of(row, 1),  // "": the source has the demangled one alone
                      name_of(row, 2),     name_of(row, 3), row.word<KernelClass>(4, "kernel.class"),
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
  const Reasons reasons(database_);
  return load(
      database_,
      "SELECT id, process_id, step_index, phase, host_start_ns, host_end_ns, gpu_start_ns, gpu_end_ns,"
      " configuration_id, status, " +
          reasons.column() + ", source FROM step ORDER BY process_id, step_index",
      [&](const Statement& row) {
        return Step{row.int64(0),          row.int64(1),
                    row.int64(2),          row.word<Phase>(3, "step.phase"),
                    row.optional_int64(4), row.optional_int64(5),
                    row.optional_int64(6), row.optional_int64(7),
                    row.optional_int64(8), row.word<StepStatus>(9, "step.status"),
                    reasons.of(row, 10),   row.word<StepSource>(11, "step.source")};
      },
      database_.scalar_int64("SELECT count(*) FROM step"));
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
  const Reasons reasons(database_);
  return load(
      database_,
      "SELECT process_id, tier, status, " + reasons.column() + " FROM tier_status ORDER BY process_id, tier",
      [&](const Statement& row) {
        return TierStatus{row.int64(0), row.word<Tier>(1, "tier_status.tier"),
                          row.word<TierOutcome>(2, "tier_status.status"), reasons.of(row, 3)};
      });
}
std::vector<Message> Capture::messages() const {
  const Reasons reasons(database_);
  return load(
      database_,
      "SELECT id, process_id, time_ns, severity, " + reasons.column("text") + " FROM message ORDER BY id",
      [&](const Statement& row) {
        return Message{row.int64(0), row.optional_int64(1), row.optional_int64(2),
                       row.word<Severity>(3, "message.severity"), reasons.of(row, 4).value_or(Reason())};
      });
}
std::vector<Annotation> Capture::annotations() const {
  std::vector<Annotation> rows;
  Activity(*this).for_each_annotation({}, [&](const Annotation& row) { rows.push_back(row); });
  return rows;
}
std::vector<PmWindow> Capture::pm_windows() const {
  const Reasons reasons(database_);
  return load(database_,
              "SELECT id, process_id, device_id, first_step_index, last_step_index, interval_ns, start_ns,"
              " end_ns, sample_count, buffer_bytes, overflow, clock_shift_ns, shift_correlation, status, " +
                  reasons.column() + " FROM pm_window ORDER BY process_id, start_ns, id",
              [&](const Statement& row) {
                return PmWindow{row.int64(0),          row.int64(1),
                                row.int64(2),          row.optional_int64(3),
                                row.optional_int64(4), row.int64(5),
                                row.optional_int64(6), row.optional_int64(7),
                                row.int64(8),          row.int64(9),
                                row.int64(10) != 0,    row.optional_int64(11),
                                row.optional_real(12), row.word<WindowStatus>(13, "pm_window.status"),
                                reasons.of(row, 14)};
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
  const bool has_order = database_.scalar_int64("PRAGMA user_version") >= kOrderIsRecorded;
  return load(database_,
              std::string("SELECT id, process_id, start_ns, end_ns, cause, synchronisation, ") +
                  (has_order ? "stream_calls" : "0") + " FROM recording_window ORDER BY process_id, start_ns",
              [](const Statement& row) {
                return RecordingWindow{row.int64(0),
                                       row.int64(1),
                                       row.int64(2),
                                       row.optional_int64(3),
                                       row.word<WindowCause>(4, "recording_window.cause"),
                                       row.int64(5) != 0,
                                       row.int64(6) != 0};
              });
}
std::vector<StallWindow> Capture::stall_windows() const {
  const Reasons reasons(database_);
  return load(database_,
              "SELECT id, process_id, device_id, first_step_index, last_step_index, period_cycles, samples,"
              " dropped_samples, foreign_samples, status, " +
                  reasons.column() + " FROM stall_window ORDER BY id",
              [&](const Statement& row) {
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
                window.reason = reasons.of(row, 10);
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
  Table table;
  const auto add = [&](std::vector<Value>&& row) {
    table.rows.push_back(std::move(row));
    return table.rows.size() < max_rows;
  };
  const Result<void> done = query(
      sql,
      [&](std::vector<std::string>&& columns) {
        table.columns = std::move(columns);
        return max_rows > 0;
      },
      add);
  if (!done.ok()) return done.failure();
  return table;
}

Result<void> Capture::query(std::string_view sql,
                            const std::function<bool(std::vector<std::string>&&)>& columns,
                            const std::function<bool(std::vector<Value>&&)>& row) const {
  sqlite3* handle = database_.handle();
  const ExtraTable::Made extra(handle);  // before nothing but reading is allowed; dropped when that ends
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

  struct Unlimited {
    const Database& database;
    explicit Unlimited(const Database& d) : database(d) { database.set_limited(false); }
    ~Unlimited() { database.set_limited(true); }
  } unlimited(database_);
  Statement statement(handle, sql);
  std::vector<std::string> names;
  for (int column = 0; column < statement.column_count(); ++column)
    names.push_back(statement.column_name(column));
  if (!columns(std::move(names))) return {};
  while (true) {
    std::vector<Value> values;
    try {
      if (!statement.step()) return {};
      for (int column = 0; column < statement.column_count(); ++column)
        values.push_back(statement.value(column));
    } catch (const Error& error) {
      // What fails only while it runs (an overflow, a LIKE pattern too long) is the query's fault, not ours.
      const int failed = sqlite3_errcode(handle) & 0xff;
      const bool file = failed == SQLITE_CORRUPT || failed == SQLITE_NOTADB || error.kind() == ErrorKind::io;
      if (file) return Failure{error.kind(), path_ + ": " + sqlite3_errmsg(handle)};
      if (error.kind() == ErrorKind::cancelled) return Failure{error.kind(), "SQL: " + error.message()};
      return Failure{error.kind() == ErrorKind::environment ? error.kind() : ErrorKind::usage,
                     std::string("SQL: ") + sqlite3_errmsg(handle)};
    }
    if (!row(std::move(values))) return {};
  }
}

}  // namespace ridgeline::store
