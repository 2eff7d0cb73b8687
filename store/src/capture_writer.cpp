#include "ridgeline/store/capture_writer.h"

#include <filesystem>
#include <unordered_map>

#include "launch_table.h"
#include "range_table.h"
#include "reason_table.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/interventions.h"
#include "ridgeline/store/kernel_identity.h"
#include "ridgeline/store/metric_catalog.h"
#include "ridgeline/store/order.h"
#include "ridgeline/store/schema.h"
#include "schema_tables_v3.h"
#include "step_sums.h"
#include "table_rows.h"

namespace ridgeline::store {

namespace {

struct TransparentHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using IdByText = std::unordered_map<std::string, Id, TransparentHash, std::equal_to<>>;

Database create_database(const std::string& path) {
  Database database(path, OpenMode::create);
  // A half-written import is repeated from its spool, so fsync at every commit buys nothing.
  database.execute(
      "PRAGMA page_size = 8192; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;"
      "PRAGMA cache_size = -65536");
  migrate(database, migrations(), views_sql());
  // They are made when the rows are there, by finish().
  database.execute("DROP INDEX memcpy_by_step; DROP INDEX memset_by_step; DROP INDEX work_by_range");
  return database;
}

}  // namespace

// Every statement is prepared once: a recording inserts hundreds of thousands of rows.
struct CaptureWriter::State {
  explicit State(const std::string& path) : database(create_database(path)) {}

  Database database;
  std::optional<Transaction> transaction;
  IdByText strings;
  IdByText kernels;
  IdByText metrics;

  Statement insert_string = database.prepare("INSERT INTO string(value) VALUES (?)");
  Statement insert_kernel = database.prepare(
      "INSERT INTO kernel(mangled_name, demangled_name, normalised_name, class, code_hash) VALUES "
      "(?,?,?,?,?)");
  Statement insert_metric =
      database.prepare("INSERT INTO metric(name, label, unit, meaning) VALUES (?,?,?,?)");
  Statement insert_clock = database.prepare("INSERT OR IGNORE INTO clock_sample VALUES (?,?,?,?,?,?,?)");
  Statement insert_step = database.prepare(
      "INSERT INTO step(process_id, step_index, phase, host_start_ns, host_end_ns, gpu_start_ns, gpu_end_ns,"
      " configuration_id, status, reason_id, source) VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  Statement insert_memcpy = database.prepare(
      "INSERT INTO memcpy(process_id, device_id, context_id, stream_id, correlation_id, kind, bytes,"
      " start_ns, end_ns, step_id, nvtx_path_id, graph_node_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  Statement insert_memset = database.prepare(
      "INSERT INTO memset(process_id, device_id, context_id, stream_id, correlation_id, bytes,"
      " start_ns, end_ns, step_id, nvtx_path_id, graph_node_id) VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  Statement insert_launch_metric =
      database.prepare("INSERT OR REPLACE INTO launch_metric VALUES (?,?,?,?,?,?,?)");
  Statement insert_pm_sample = database.prepare("INSERT OR REPLACE INTO pm_sample VALUES (?,?,?,?)");
  Statement insert_stall = database.prepare(
      "INSERT INTO stall_sample VALUES (?,?,?,?)"
      " ON CONFLICT(kernel_id, pc_offset, reason_id) DO UPDATE SET samples = samples + excluded.samples");

  ReasonTable reasons{database};
  StepSums sums{database};
  LaunchTable launches{database, sums};
  RangeTable ranges{database, sums};
  std::unordered_map<const void*, Statement> others;  // by the place of their text

  Id inserted(Statement& statement) {
    statement.run();
    return database.last_insert_id();
  }
  // For tables that mostly get a handful of rows; the text must be a literal.
  template <typename... Args>
  Id insert(const char* sql, const Args&... args) {
    const auto found = others.try_emplace(sql, database.handle(), sql).first;
    found->second.bind_all(args...);
    return inserted(found->second);
  }
  Id kernel_id(std::string_view name, bool mangled, const std::optional<std::string>& code_hash) {
    std::string key(name);
    if (code_hash) key += '\0' + *code_hash;
    if (!mangled) key += std::string("\0demangled", 10);
    if (auto found = kernels.find(key); found != kernels.end()) return found->second;
    const KernelIdentity identity = identify_kernel(name);
    insert_kernel.bind_all(mangled ? std::optional(name) : std::nullopt, identity.demangled_name,
                           identity.normalised_name, to_string(identity.kernel_class), code_hash);
    const Id id = inserted(insert_kernel);
    kernels.emplace(std::move(key), id);
    return id;
  }
  void checkpoint() {
    launches.checkpoint();
    ranges.checkpoint();
    sums.checkpoint();
  }
};

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;
CaptureWriter::~CaptureWriter() = default;

Result<CaptureWriter> CaptureWriter::create(const std::string& path) {
  try {
    auto state = std::make_unique<State>(path);
    state->transaction.emplace(state->database);
    return CaptureWriter(std::move(state));
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

void CaptureWriter::set_run(const Run& run) {
  state_->insert(
      "INSERT OR REPLACE INTO run(id, command_line, working_directory, git_commit, git_dirty, host_name, os,"
      " ridgeline_version, clock, start_ns, end_ns, exit_status, exit_signal, schedule, step_range)"
      " VALUES (1,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      run.command_line, run.working_directory, run.git_commit, run.git_dirty, run.host_name, run.os,
      run.ridgeline_version, run.clock, run.start_ns, run.end_ns, run.exit_status, run.exit_signal,
      run.schedule, run.step_range);
}
void CaptureWriter::add_environment(std::string_view name, std::string_view value) {
  state_->insert("INSERT OR REPLACE INTO environment_variable VALUES (?,?)", name, value);
}
void CaptureWriter::add_version(std::string_view component, std::string_view version) {
  state_->insert("INSERT OR REPLACE INTO version VALUES (?,?)", component, version);
}

Id CaptureWriter::string_id(std::string_view text) {
  if (auto found = state_->strings.find(text); found != state_->strings.end()) return found->second;
  state_->insert_string.bind_all(text);
  const Id id = state_->inserted(state_->insert_string);
  state_->strings.emplace(text, id);
  return id;
}
Id CaptureWriter::kernel_id(std::string_view mangled_name, std::optional<std::string> code_hash) {
  return state_->kernel_id(mangled_name, true, code_hash);
}
Id CaptureWriter::demangled_kernel_id(std::string_view demangled_name, std::optional<std::string> code_hash) {
  return state_->kernel_id(demangled_name, false, code_hash);
}
Id CaptureWriter::metric_id(std::string_view name, std::string_view unit, std::string_view meaning) {
  if (auto found = state_->metrics.find(name); found != state_->metrics.end()) return found->second;
  if (const auto known = describe_metric(name)) {
    state_->insert_metric.bind_all(name, known->label, known->unit, known->meaning);
  } else {
    state_->insert_metric.bind_all(name, name, unit, meaning);
  }
  const Id id = state_->inserted(state_->insert_metric);
  state_->metrics.emplace(name, id);
  return id;
}

Id CaptureWriter::add(const Process& row) {
  return state_->insert(
      "INSERT INTO process(pid, parent_pid, command, rank, start_ns, end_ns) VALUES (?,?,?,?,?,?)", row.pid,
      row.parent_pid, row.command, row.rank, row.start_ns, row.end_ns);
}
Id CaptureWriter::add(const Device& row) {
  return state_->insert(
      "INSERT INTO device(device_index, name, uuid, chip, compute_capability, sm_count, max_sm_clock_hz,"
      " max_memory_clock_hz, memory_bus_bits, memory_bytes, l2_bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
      row.device_index, row.name, row.uuid, row.chip, row.compute_capability, row.sm_count,
      row.max_sm_clock_hz, row.max_memory_clock_hz, row.memory_bus_bits, row.memory_bytes, row.l2_bytes);
}
void CaptureWriter::add(const DevicePeak& row) {
  state_->insert(
      "INSERT OR REPLACE INTO device_peak(device_id, quantity, source, value, detail) VALUES (?,?,?,?,?)",
      row.device_id, row.quantity, row.source, row.value, row.detail);
}
void CaptureWriter::add(const Ceiling& row) {
  state_->insert(
      "INSERT OR REPLACE INTO ceiling(device_id, level, kind, state, read_share, value, unit, spread_ratio,"
      " sm_clock_hz, power_w, joules_each, conditions) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
      row.device_id, row.level, row.kind, row.state, row.read_share, row.value, row.unit, row.spread_ratio,
      row.sm_clock_hz, row.power_w, row.joules_each, row.conditions);
}
void CaptureWriter::add(const ClockSample& row) {
  state_->insert_clock.bind_all(row.device_id, row.time_ns, row.sm_clock_hz, row.memory_clock_hz,
                                row.power_mw, row.temperature_c, row.throttle_reasons);
  state_->insert_clock.run();
}
Id CaptureWriter::add(const CounterConfiguration& row) {
  return state_->insert("INSERT INTO counter_configuration(name, pass_count) VALUES (?,?)", row.name,
                        row.pass_count);
}
Id CaptureWriter::add(const Step& row) {
  state_->insert_step.bind_all(row.process_id, row.step_index, row.phase, row.host_start_ns, row.host_end_ns,
                               row.gpu_start_ns, row.gpu_end_ns, row.configuration_id, row.status,
                               state_->reasons.id_of(row.reason), row.source);
  const Id id = state_->inserted(state_->insert_step);
  state_->sums.add_step(id, row);
  state_->launches.add_step(id, row);
  return id;
}
Id CaptureWriter::add(const NvtxRange& row, std::optional<Id> work_id) {
  return state_->ranges.add(row, work_id);
}
Id CaptureWriter::reserve_range_id() {
  return state_->ranges.reserve();
}
void CaptureWriter::add_reserved(const NvtxRange& range, std::optional<Id> work_id) {
  state_->ranges.add_with_id(range, work_id);
}
Id CaptureWriter::work_id(const Annotation& work) {
  return state_->ranges.work_id(work);
}
Id CaptureWriter::add(const Launch& row) {
  return state_->launches.add(row);
}
Id CaptureWriter::add(const Memcpy& row) {
  state_->insert_memcpy.bind_all(row.process_id, row.device_id, row.context_id, row.stream_id,
                                 row.correlation_id, row.kind, row.bytes, row.start_ns, row.end_ns,
                                 row.step_id, row.nvtx_path_id, row.graph_node_id);
  if (row.step_id) state_->sums.add_copy(*row.step_id, row.start_ns, row.end_ns);
  return state_->inserted(state_->insert_memcpy);
}
Id CaptureWriter::add(const Memset& row) {
  state_->insert_memset.bind_all(row.process_id, row.device_id, row.context_id, row.stream_id,
                                 row.correlation_id, row.bytes, row.start_ns, row.end_ns, row.step_id,
                                 row.nvtx_path_id, row.graph_node_id);
  if (row.step_id) state_->sums.add_copy(*row.step_id, row.start_ns, row.end_ns);
  return state_->inserted(state_->insert_memset);
}
void CaptureWriter::add(const LaunchMetric& row) {
  state_->insert_launch_metric.bind_all(row.launch_id, row.metric_id, row.tier, row.value, row.error,
                                        row.sample_count, row.concurrent);
  state_->insert_launch_metric.run();
}
void CaptureWriter::add(const Thread& row) {
  state_->insert("INSERT OR REPLACE INTO thread VALUES (?,?,?)", row.process_id, row.thread_id, row.name);
}
void CaptureWriter::add(const Synchronisation& row) {
  state_->insert("INSERT OR IGNORE INTO synchronisation VALUES (?,?,?,?,?,?,?)", row.process_id,
                 row.thread_id, row.start_ns, row.duration_ns, string_id(to_string(row.call)),
                 row.correlation_id, row.step_id);
}
Id CaptureWriter::add(const ProfilerOverhead& row) {
  return state_->insert(
      "INSERT INTO profiler_overhead(process_id, kind, thread_id, start_ns, end_ns) VALUES (?,?,?,?,?)",
      row.process_id, row.kind, row.thread_id, row.start_ns, row.end_ns);
}
void CaptureWriter::add(const ClockPair& row) {
  state_->insert("INSERT OR IGNORE INTO clock_pair VALUES (?,?,?,?)", row.process_id, row.time_ns,
                 row.realtime_ns, row.monotonic_ns);
}
void CaptureWriter::add(const Completeness& row) {
  state_->insert("INSERT OR REPLACE INTO completeness VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row.process_id,
                 row.launches_seen, row.kernel_records, row.graph_launches, row.graph_kernel_records,
                 row.profiler_records, row.dropped_records, row.lost_spool_records, row.zero_timestamps,
                 row.truncated_bytes, row.strings_lost, row.nvtx_unbalanced);
}
void CaptureWriter::add(const TierStatus& row) {
  state_->insert("INSERT OR REPLACE INTO tier_status VALUES (?,?,?,?)", row.process_id, row.tier, row.status,
                 state_->reasons.id_of(row.reason));
}
Id CaptureWriter::add(const Message& row) {
  return state_->insert("INSERT INTO message(process_id, time_ns, severity, reason_id) VALUES (?,?,?,?)",
                        row.process_id, row.time_ns, row.severity, state_->reasons.id_of(row.what));
}
Id CaptureWriter::add(const Annotation& row) {
  return state_->ranges.add(row);
}

Id CaptureWriter::add(const PmWindow& row) {
  return state_->insert(
      "INSERT INTO pm_window(process_id, device_id, first_step_index, last_step_index, interval_ns, start_ns,"
      " end_ns, sample_count, buffer_bytes, overflow, clock_shift_ns, shift_correlation, status, reason_id)"
      " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      row.process_id, row.device_id, row.first_step_index, row.last_step_index, row.interval_ns, row.start_ns,
      row.end_ns, row.sample_count, row.buffer_bytes, row.overflow, row.clock_shift_ns, row.shift_correlation,
      row.status, state_->reasons.id_of(row.reason));
}
void CaptureWriter::add(const PmSample& row) {
  state_->insert_pm_sample.bind_all(row.device_id, row.time_ns, row.metric_id, row.value);
  state_->insert_pm_sample.run();
}
void CaptureWriter::add(const TierCoverage& row) {
  state_->insert("INSERT OR REPLACE INTO tier_coverage VALUES (?,?,?,?,?)", row.process_id, row.tier,
                 row.metric_id, row.kernel_time_ns, row.covered_ns);
}
void CaptureWriter::add(const ReplayExclusion& row) {
  state_->insert("INSERT OR REPLACE INTO replay_exclusion VALUES (?,?,?)", row.process_id, row.kernel_id,
                 row.reason);
}
void CaptureWriter::add(const GraphMetric& row) {
  state_->insert("INSERT OR REPLACE INTO graph_metric VALUES (?,?,?,?,?)", row.step_id, row.correlation_id,
                 row.metric_id, row.tier, row.value);
}
Id CaptureWriter::add(const RecordingWindow& row) {
  return state_->insert(
      "INSERT INTO recording_window(process_id, start_ns, end_ns, cause, synchronisation, stream_calls)"
      " VALUES (?,?,?,?,?,?)",
      row.process_id, row.start_ns, row.end_ns, row.cause, row.synchronisation, row.stream_calls);
}
Id CaptureWriter::add(const StallWindow& row) {
  return state_->insert(
      "INSERT INTO stall_window(process_id, device_id, first_step_index, last_step_index, period_cycles,"
      " samples, dropped_samples, foreign_samples, status, reason_id) VALUES (?,?,?,?,?,?,?,?,?,?)",
      row.process_id, row.device_id, row.first_step_index, row.last_step_index, row.period_cycles,
      row.samples, row.dropped_samples, row.foreign_samples, row.status, state_->reasons.id_of(row.reason));
}
void CaptureWriter::add(const StallSample& row) {
  state_->insert_stall.bind_all(row.kernel_id, row.pc_offset, string_id(row.stall_reason), row.samples);
  state_->insert_stall.run();
}
void CaptureWriter::add(const SourceLine& row) {
  state_->insert("INSERT OR REPLACE INTO source_line VALUES (?,?,?,?)", row.kernel_id, row.pc_offset,
                 row.file_id, row.line);
}

void CaptureWriter::add(const Intervention& row) {
  state_->insert("INSERT OR REPLACE INTO intervention VALUES (?,?,?,?,?,?,?,?,?,?)", row.step_id, row.target,
                 row.process_id, row.kernel_id, row.ordinal, row.drawn, row.level_ns, row.start_ns,
                 row.end_ns, row.seed);
}

Id CaptureWriter::add(const Communicator& row) {
  return state_->insert("INSERT INTO communicator(process_id, hash, ranks, rank, name) VALUES (?,?,?,?,?)",
                        row.process_id, row.hash, row.ranks, row.rank, row.name);
}
void CaptureWriter::add(const Collective& row) {
  state_->insert("INSERT OR REPLACE INTO collective VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row.launch_id,
                 row.communicator_id, row.ordinal, row.function, row.bytes, row.source, row.bytes_source,
                 row.element_type, row.element_type_source, row.channels, row.channels_source, row.algorithm,
                 row.protocol, row.algorithm_source);
}

void CaptureWriter::add(const CopiedCollective& row) {
  state_->insert("INSERT OR REPLACE INTO collective_copy VALUES (?,?,?,?,?,?,?)", row.copy_id,
                 row.first_copy_id, row.communicator_id, row.function, row.bytes, row.source, row.ordinal);
}

void CaptureWriter::set_host(Id process_id, std::string_view host_name) {
  state_->insert("INSERT OR IGNORE INTO node(host_name) VALUES (?)", host_name);
  state_->insert("UPDATE process SET node_id = (SELECT id FROM node WHERE host_name = ?) WHERE id = ?",
                 host_name, process_id);
}
void CaptureWriter::add(const Stream& row) {
  state_->insert("INSERT OR REPLACE INTO stream VALUES (?,?,?,?,?)", row.process_id, row.context_id,
                 row.stream_id, row.kind, row.priority);
}
void CaptureWriter::add(const OrderingCall& row) {
  state_->insert("INSERT OR REPLACE INTO stream_call VALUES (?,?,?,?,?,?,?,?,?,?)", row.process_id,
                 row.correlation_id, string_id(to_string(row.call)), row.thread_id, row.time_ns,
                 row.context_id, row.stream_id, row.event, row.source_id, row.step_id);
}
void CaptureWriter::add(const GraphNode& row) {
  state_->insert("INSERT OR REPLACE INTO graph_node VALUES (?,?,?,?,?)", row.process_id, row.node_id,
                 row.graph, string_id(to_string(row.kind)), row.parent_node_id);
}
void CaptureWriter::add(const GraphEdge& row) {
  state_->insert("INSERT OR REPLACE INTO graph_edge VALUES (?,?,?,?)", row.process_id, row.to_node_id,
                 row.from_node_id, row.programmatic);
}
void CaptureWriter::add(const MemoryUse& row) {
  state_->insert("INSERT OR REPLACE INTO memory_call VALUES (?,?,?,?,?,?,?,?,?,?)", row.process_id,
                 row.correlation_id, string_id(to_string(row.call)), row.thread_id, row.time_ns,
                 row.device_id, row.bytes, row.allocation_id, row.allocated_bytes, row.step_id);
}
void CaptureWriter::add(const LeftOutCount& row) {
  state_->insert("INSERT OR REPLACE INTO left_out VALUES (?,?,?)", row.process_id, row.what, row.count);
}

void CaptureWriter::checkpoint() {
  state_->checkpoint();
  state_->transaction->commit();
  state_->transaction.reset();
  state_->transaction.emplace(state_->database);
}
void CaptureWriter::finish() {
  state_->ranges.drop_missing_parents();
  state_->checkpoint();
  state_->sums.finish();
  state_->database.execute(kIndexesV3);
  write_table_rows(state_->database,
                   {{"launch_row", state_->launches.rows()}, {"range_row", state_->ranges.rows()}});
  state_->transaction->commit();
  state_->transaction.reset();
  // A sample of each index tells the planner enough, and takes no longer for more rows.
  state_->database.execute("PRAGMA analysis_limit = 1000; ANALYZE");
  state_->transaction.emplace(state_->database);
}

}  // namespace ridgeline::store
