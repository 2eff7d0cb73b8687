#include "ridgeline/store/activity.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>

#include "ridgeline/store/database.h"
#include "sequence_hash.h"

namespace ridgeline::store {

namespace {

Launch launch_of(const Statement& row) {
  Launch l;
  l.id = row.int64(0);
  l.process_id = row.int64(1);
  l.device_id = row.int64(2);
  l.context_id = row.int64(3);
  l.stream_id = row.int64(4);
  l.correlation_id = row.int64(5);
  l.graph_id = row.optional_int64(6);
  l.graph_node_id = row.optional_int64(7);
  l.kernel_id = row.int64(8);
  l.start_ns = row.int64(9);
  l.end_ns = row.int64(10);
  l.host_start_ns = row.optional_int64(11);
  l.host_end_ns = row.optional_int64(12);
  l.thread_id = row.optional_int64(13);
  l.grid = {row.int64(14), row.int64(15), row.int64(16)};
  l.block = {row.int64(17), row.int64(18), row.int64(19)};
  if (!row.is_null(20)) l.cluster = Dim3{row.int64(20), row.int64(21), row.int64(22)};
  l.registers_per_thread = row.int64(23);
  l.static_smem_bytes = row.int64(24);
  l.dynamic_smem_bytes = row.int64(25);
  l.step_id = row.optional_int64(26);
  l.ordinal_in_step = row.optional_int64(27);
  l.nvtx_path_id = row.optional_int64(28);
  return l;
}
constexpr std::string_view kLaunches =
    "SELECT t.id, t.process_id, t.device_id, t.context_id, t.stream_id, t.correlation_id, t.graph_id,"
    " t.graph_node_id, t.kernel_id, t.start_ns, t.end_ns, t.host_start_ns, t.host_end_ns, t.thread_id,"
    " t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z, t.cluster_x, t.cluster_y, t.cluster_z,"
    " t.registers_per_thread, t.static_smem_bytes, t.dynamic_smem_bytes, t.step_id, t.ordinal_in_step,"
    " t.nvtx_path_id FROM launch t ";

Memcpy memcpy_of(const Statement& row) {
  return {row.int64(0),           row.int64(1),          row.int64(2), row.int64(3), row.int64(4),
          row.int64(5),           row.text(6),           row.int64(7), row.int64(8), row.int64(9),
          row.optional_int64(10), row.optional_int64(11)};
}
constexpr std::string_view kMemcpys =
    "SELECT t.id, t.process_id, t.device_id, t.context_id, t.stream_id, t.correlation_id, t.kind, t.bytes,"
    " t.start_ns, t.end_ns, t.step_id, t.nvtx_path_id FROM memcpy t ";

Memset memset_of(const Statement& row) {
  return {row.int64(0), row.int64(1),          row.int64(2),          row.int64(3),
          row.int64(4), row.int64(5),          row.int64(6),          row.int64(7),
          row.int64(8), row.optional_int64(9), row.optional_int64(10)};
}
constexpr std::string_view kMemsets =
    "SELECT t.id, t.process_id, t.device_id, t.context_id, t.stream_id, t.correlation_id, t.bytes,"
    " t.start_ns, t.end_ns, t.step_id, t.nvtx_path_id FROM memset t ";

NvtxRange range_of(const Statement& row) {
  NvtxRange range;
  range.id = row.int64(0);
  range.process_id = row.int64(1);
  range.thread_id = row.int64(2);
  range.parent_id = row.optional_int64(3);
  range.depth = static_cast<int>(row.int64(4));
  range.name_id = row.int64(5);
  range.path_id = row.int64(6);
  range.domain_id = row.optional_int64(7);
  range.step_id = row.optional_int64(8);
  range.start_ns = row.int64(9);
  range.end_ns = row.optional_int64(10);
  return range;
}
constexpr std::string_view kRanges =
    "SELECT t.id, t.process_id, t.thread_id, t.parent_id, t.depth, t.name_id, t.path_id, t.domain_id,"
    " t.step_id, t.start_ns, t.end_ns FROM nvtx_range t ";

Annotation annotation_of(const Statement& row) {
  return {row.int64(0), row.int64(1), row.text(2), row.optional_real(3), row.optional_real(4)};
}
constexpr std::string_view kAnnotations =
    "SELECT a.id, a.nvtx_range_id, a.name, a.bytes, a.flops"
    " FROM nvtx_range t JOIN annotation a ON a.nvtx_range_id = t.id ";

LaunchMetric launch_metric_of(const Statement& row) {
  LaunchMetric metric;
  metric.launch_id = row.int64(0);
  metric.metric_id = row.int64(1);
  metric.tier = row.text(2);
  metric.value = row.real(3);
  metric.error = row.optional_real(4);
  metric.sample_count = row.optional_int64(5);
  metric.concurrent = row.int64(6) != 0;
  return metric;
}
constexpr std::string_view kLaunchMetrics =
    "SELECT m.launch_id, m.metric_id, m.tier, m.value, m.error, m.sample_count, m.concurrent"
    " FROM launch t JOIN launch_metric m ON m.launch_id = t.id ";

constexpr std::string_view kTimed = "t.start_ns > 0 AND t.end_ns >= t.start_ns";
constexpr std::string_view kRangeTimed = "coalesce(t.end_ns, 9223372036854775807) >= t.start_ns";

// Makes SQLite give up a statement soon after a stop was asked for, and tells that from other errors.
class Interruptible {
 public:
  Interruptible(sqlite3* handle, const std::stop_token& stop) : handle_(handle), stop_(stop) {
    constexpr int kInstructions = 4000;  // of SQLite's virtual machine between two looks: some 50 µs
    if (stop_.stop_possible()) sqlite3_progress_handler(handle_, kInstructions, &Interruptible::check, this);
  }
  ~Interruptible() {
    if (stop_.stop_possible()) sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  [[nodiscard]] bool stopped() const { return stop_.stop_requested(); }

 private:
  static int check(void* self) { return static_cast<Interruptible*>(self)->stopped() ? 1 : 0; }
  sqlite3* handle_;
  const std::stop_token& stop_;
};

template <typename Build, typename Visit>
bool visit_rows(Statement& statement, const Interruptible& guard, Build build, const Visit& visit) {
  for (;;) {
    if (guard.stopped()) return false;
    try {
      if (!statement.step()) return true;
    } catch (const Error&) {
      if (guard.stopped()) return false;
      throw;
    }
    visit(build(statement));
  }
}

// The rows of one statement for a filter; `timed` is the condition under which a row has usable times.
template <typename Build, typename Visit>
bool select(const Database& database, std::string_view columns, std::string_view timed,
            std::string_view order, const ActivityFilter& filter, const std::stop_token& stop, Build build,
            const Visit& visit) {
  const Interruptible guard(database.handle(), stop);
  std::string conditions;
  const auto require = [&](std::string_view condition) {
    conditions += conditions.empty() ? "WHERE " : " AND ";
    conditions += condition;
  };
  if (filter.step_ids) require("t.step_id = ?1");
  if (filter.process_id) require("t.process_id = ?2");
  if (filter.time) {
    require(timed);
    require("coalesce(t.end_ns, 9223372036854775807) > ?3 AND t.start_ns < ?4");
  }
  Statement statement =
      database.prepare(std::string(columns) + conditions + " ORDER BY " + std::string(order));
  const auto run = [&](std::optional<Id> step) {
    if (step) statement.bind(1, *step);
    if (filter.process_id) statement.bind(2, *filter.process_id);
    if (filter.time) {
      statement.bind(3, filter.time->begin_ns);
      statement.bind(4, filter.time->end_ns);
    }
    const bool whole = visit_rows(statement, guard, build, visit);
    statement.reset();
    return whole;
  };
  if (!filter.step_ids) return run(std::nullopt);
  for (const Id step : *filter.step_ids) {
    if (!run(step)) return false;
  }
  return true;
}

}  // namespace

struct Activity::State {
  const Database& database;
};

Activity::Activity(const Capture& capture) : state_(new State{capture.database_}) {}
Activity::~Activity() = default;

bool Activity::for_each_launch(const ActivityFilter& filter, const Visit<Launch>& visit,
                               std::stop_token stop) const {
  return select(state_->database, kLaunches, kTimed, "t.id", filter, stop, launch_of, visit);
}
bool Activity::for_each_memcpy(const ActivityFilter& filter, const Visit<Memcpy>& visit,
                               std::stop_token stop) const {
  return select(state_->database, kMemcpys, kTimed, "t.id", filter, stop, memcpy_of, visit);
}
bool Activity::for_each_memset(const ActivityFilter& filter, const Visit<Memset>& visit,
                               std::stop_token stop) const {
  return select(state_->database, kMemsets, kTimed, "t.id", filter, stop, memset_of, visit);
}
bool Activity::for_each_range(const ActivityFilter& filter, const Visit<NvtxRange>& visit,
                              std::stop_token stop) const {
  return select(state_->database, kRanges, kRangeTimed, "t.id", filter, stop, range_of, visit);
}
bool Activity::for_each_annotation(const ActivityFilter& filter, const Visit<Annotation>& visit,
                                   std::stop_token stop) const {
  return select(state_->database, kAnnotations, kRangeTimed, "t.id, a.id", filter, stop, annotation_of,
                visit);
}
bool Activity::for_each_launch_metric(const ActivityFilter& filter, const Visit<LaunchMetric>& visit,
                                      std::stop_token stop) const {
  return select(state_->database, kLaunchMetrics, kTimed, "m.launch_id, m.metric_id, m.tier", filter, stop,
                launch_metric_of, visit);
}

std::vector<Launch> Activity::launches_by_id(const std::vector<Id>& ids) const {
  std::vector<Launch> launches;
  Statement statement = state_->database.prepare(std::string(kLaunches) + "WHERE t.id = ?1");
  for (const Id id : ids) {
    statement.bind(1, id);
    if (statement.step()) launches.push_back(launch_of(statement));
    statement.reset();
  }
  return launches;
}

std::vector<StepTotal> Activity::step_totals() const {
  std::map<Id, StepTotal> totals;
  Statement steps = state_->database.prepare("SELECT id FROM step");
  while (steps.step()) totals[steps.int64(0)].step_id = steps.int64(0);
  const auto total_of = [&](const auto& row) -> StepTotal* {
    if (!row.step_id) return nullptr;
    const auto found = totals.find(*row.step_id);
    return found == totals.end() ? nullptr : &found->second;
  };
  const auto extend = [](std::int64_t& start, std::int64_t& end, const auto& row) {
    start = start == 0 ? row.start_ns : std::min(start, row.start_ns);
    end = std::max(end, row.end_ns);
  };
  for_each_launch({}, [&](const Launch& launch) {
    StepTotal* total = total_of(launch);
    if (total == nullptr) return;
    ++total->launches;
    total->sequence_hash += sequence_hash_part(launch);
    if (!has_usable_time(launch)) {
      ++total->launches_without_time;
      return;
    }
    total->kernel_time_ns += launch.end_ns - launch.start_ns;
    extend(total->kernel_start_ns, total->kernel_end_ns, launch);
  });
  const auto add_copy = [&](const auto& copy) {
    StepTotal* total = total_of(copy);
    if (total == nullptr) return;
    ++total->copies;
    if (has_usable_time(copy)) extend(total->copy_start_ns, total->copy_end_ns, copy);
  };
  for_each_memcpy({}, add_copy);
  for_each_memset({}, add_copy);
  std::vector<StepTotal> rows;
  for (const auto& [id, total] : totals) rows.push_back(total);
  return rows;
}

std::vector<ProcessTotal> Activity::process_totals() const {
  std::map<Id, ProcessTotal> totals;
  for_each_launch({}, [&](const Launch& launch) {
    ProcessTotal& total = totals[launch.process_id];
    total.process_id = launch.process_id;
    ++total.launches;
    if (has_usable_time(launch)) {
      total.kernel_time_ns += launch.end_ns - launch.start_ns;
    } else {
      ++total.launches_without_time;
    }
  });
  std::vector<ProcessTotal> rows;
  for (const auto& [id, total] : totals) rows.push_back(total);
  return rows;
}

std::vector<OrdinalSum> Activity::ordinal_sums(const SequenceKey& key) const {
  std::unordered_set<Id> wanted;
  Statement steps =
      state_->database.prepare("SELECT id FROM step WHERE process_id = ? AND phase = ? AND status = 'ok'");
  steps.bind_all(key.process_id, key.phase);
  while (steps.step()) wanted.insert(steps.int64(0));
  ActivityFilter filter;
  filter.step_ids.emplace();
  for (const StepTotal& total : step_totals()) {
    if (total.sequence_hash == key.sequence_hash && total.launches > 0 && wanted.contains(total.step_id))
      filter.step_ids->push_back(total.step_id);
  }
  if (filter.step_ids->size() < 2) return {};
  std::map<std::int64_t, OrdinalSum> sums;
  for_each_launch(filter, [&](const Launch& launch) {
    if (!launch.ordinal_in_step || !has_usable_time(launch)) return;
    OrdinalSum& sum = sums[*launch.ordinal_in_step];
    const std::int64_t duration_ns = launch.end_ns - launch.start_ns;
    sum.ordinal_in_step = *launch.ordinal_in_step;
    ++sum.count;
    sum.sum_ns += duration_ns;
    sum.sum_of_squares_ns2 += static_cast<double>(duration_ns) * static_cast<double>(duration_ns);
  });
  std::vector<OrdinalSum> rows;
  for (const auto& [ordinal, sum] : sums) rows.push_back(sum);
  return rows;
}

}  // namespace ridgeline::store
