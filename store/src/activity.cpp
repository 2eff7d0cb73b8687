#include "ridgeline/store/activity.h"

#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "chunk_rows.h"
#include "convert_v8.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/schema.h"
#include "row_scan.h"
#include "sequence_hash.h"
#include "site_rows.h"

namespace ridgeline::store {

namespace {

constexpr Id kFirst = std::numeric_limits<Id>::min();
constexpr Id kLast = std::numeric_limits<Id>::max();

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

// Visits the statement's rows; false if it was stopped.
template <typename Visit>
bool visit_rows(Statement& statement, const Interruptible& guard, const Visit& visit) {
  for (;;) {
    if (guard.stopped()) return false;
    try {
      if (!statement.step()) break;
    } catch (const Error&) {
      if (guard.stopped()) return false;
      throw;
    }
    visit(statement);
  }
  statement.reset();
  return true;
}

// Likewise with the rows of a statement of row_scan_sql().
template <typename Visit>
bool scan_rows(Statement& statement, const Interruptible& guard, const Visit& visit) {
  try {
    scan(statement, [&](const RowValues& row) {
      if (!guard.stopped()) visit(row);
    });
  } catch (const Error&) {
    if (!guard.stopped()) throw;
  }
  return !guard.stopped();
}

// Rows with ids from first to last, of one step or of any.
struct IdRange {
  Id first = kFirst;
  Id last = kLast;
  std::optional<Id> step_id;
};

// The ids of chunks that follow each other are one range.
class ChunkRanges {
 public:
  void add(Id chunk) {
    const Id first = chunk << kChunkShift;
    if (!ranges_.empty() && ranges_.back().last + 1 == first) {
      ranges_.back().last = first + kChunkRows - 1;
    } else {
      ranges_.push_back({first, first + kChunkRows - 1, std::nullopt});
    }
  }
  [[nodiscard]] std::vector<IdRange> take() { return std::move(ranges_); }

 private:
  std::vector<IdRange> ranges_;
};

bool overlaps(const Chunk& chunk, const TimeSpan& time) {
  return chunk.start_ns && *chunk.start_ns < time.end_ns &&
         (chunk.open_ended || (chunk.end_ns && *chunk.end_ns > time.start_ns));
}

bool overlaps(std::int64_t start_ns, std::int64_t end_ns, const TimeSpan& time) {
  return end_ns >= start_ns && end_ns > time.start_ns && start_ns < time.end_ns;
}
bool overlaps(const LaunchRow& launch, const TimeSpan& time) {
  return has_usable_time(launch) && overlaps(launch.start_ns, launch.end_ns, time);
}
bool overlaps(const NvtxRange& range, const TimeSpan& time) {
  return overlaps(range.start_ns, range.end_ns.value_or(kLast), time);
}

// Whether a row of that process that lies in the wanted ids is wanted.
template <typename Row>
bool wanted(const Row& row, Id process_id, const ActivityFilter& filter) {
  if (filter.process_id && process_id != *filter.process_id) return false;
  return !filter.time || overlaps(row, *filter.time);
}

Memcpy memcpy_of(const Statement& row) {
  return {row.int64(0),
          row.int64(1),
          row.int64(2),
          row.int64(3),
          row.int64(4),
          row.int64(5),
          row.word<CopyKind>(6, "memcpy.kind"),
          row.int64(7),
          row.int64(8),
          row.int64(9),
          row.optional_int64(10),
          row.optional_int64(11),
          row.optional_int64(12)};
}
constexpr std::string_view kMemcpys =
    "SELECT id, process_id, device_id, context_id, stream_id, correlation_id, kind, bytes, start_ns, end_ns,"
    " step_id, nvtx_path_id, ";

Memset memset_of(const Statement& row) {
  return {row.int64(0), row.int64(1),          row.int64(2),           row.int64(3),
          row.int64(4), row.int64(5),          row.int64(6),           row.int64(7),
          row.int64(8), row.optional_int64(9), row.optional_int64(10), row.optional_int64(11)};
}
constexpr std::string_view kMemsets =
    "SELECT id, process_id, device_id, context_id, stream_id, correlation_id, bytes, start_ns, end_ns,"
    " step_id, nvtx_path_id, ";

// Captures of older versions do not say which node of a graph a copy is.
std::string columns_of(const Database& database, std::string_view columns, std::string_view table) {
  const bool has_node = database.scalar_int64("PRAGMA user_version") >= kOrderIsRecorded;
  return std::string(columns) + (has_node ? "graph_node_id" : "NULL") + " FROM " + std::string(table) + " ";
}

// Copies and sets, whose tables are plain.
template <typename Build, typename Visit>
bool select_copies(const Database& database, std::string_view columns, const ActivityFilter& filter,
                   const std::stop_token& stop, Build build, const Visit& visit) {
  const Interruptible guard(database.handle(), stop);
  std::string conditions;
  const auto require = [&](std::string_view condition) {
    conditions += conditions.empty() ? "WHERE " : " AND ";
    conditions += condition;
  };
  if (filter.step_ids) require("step_id = ?1");
  if (filter.process_id) require("process_id = ?2");
  if (filter.time) require("start_ns > 0 AND end_ns >= start_ns AND end_ns > ?3 AND start_ns < ?4");
  Statement statement = database.prepare(std::string(columns) + conditions + " ORDER BY id");
  const auto run = [&](std::optional<Id> step) {
    if (step) statement.bind(1, *step);
    if (filter.process_id) statement.bind(2, *filter.process_id);
    if (filter.time) {
      statement.bind(3, filter.time->start_ns);
      statement.bind(4, filter.time->end_ns);
    }
    return visit_rows(statement, guard, [&](const Statement& row) { visit(build(row)); });
  };
  if (!filter.step_ids) return run(std::nullopt);
  for (const Id step : *filter.step_ids) {
    if (!run(step)) return false;
  }
  return true;
}

}  // namespace

struct Activity::State {
  explicit State(const Database& source)
      : database(source),
        of_v3(has_launches_of_v3(source)),
        launch_site(source.prepare(kLaunchSite)),
        range_site(source.prepare(kRangeSite)) {}

  const Database& database;
  const bool of_v3;
  Statement launch_site;
  Statement range_site;
  Sites<Launch> launch_sites;
  Sites<NvtxRange> range_sites;
  std::optional<Chunks> launch_chunks_read;
  std::optional<Chunks> range_chunks_read;

  const Chunks& launch_chunks() {
    return launch_chunks_read ? *launch_chunks_read
                              : launch_chunks_read.emplace(store::launch_chunks(database, of_v3));
  }
  const Chunks& range_chunks() {
    return range_chunks_read ? *range_chunks_read : range_chunks_read.emplace(store::range_chunks(database));
  }

  // Where the wanted rows are: by the steps' first and last ids, else by what the chunks say.
  [[nodiscard]] std::vector<IdRange> ranges_of(const ActivityFilter& filter, const char* step_columns,
                                               const Chunks& (State::*chunks_of)()) {
    if (filter.step_ids) {
      std::vector<IdRange> ranges;
      Statement step = database.prepare(std::string("SELECT ") + step_columns + " FROM step WHERE id = ?");
      for (const Id id : *filter.step_ids) {
        step.bind_all(id);
        if (step.step() && !step.is_null(0) && !step.is_null(1))
          ranges.push_back({step.int64(0), step.int64(1), id});
        step.reset();
      }
      return ranges;
    }
    if (!filter.time && !filter.process_id) return {IdRange{}};
    ChunkRanges ranges;
    for (const auto& [id, chunk] : (this->*chunks_of)()) {
      if (filter.time && !overlaps(chunk, *filter.time)) continue;
      if (filter.process_id && chunk.process_id && *chunk.process_id != *filter.process_id) continue;
      ranges.add(id);
    }
    return ranges.take();
  }
  [[nodiscard]] std::vector<IdRange> launch_ranges(const ActivityFilter& filter) {
    return ranges_of(filter, "first_launch_id, last_launch_id", &State::launch_chunks);
  }

  const Launch& launch_site_at(Id id) { return launch_sites.at(id, launch_site, launch_site_of); }

  // visit(range, id of its declared work or empty)
  template <typename Visit>
  bool visit_ranges(const ActivityFilter& filter, const std::stop_token& stop, const Visit& visit) {
    const Interruptible guard(database.handle(), stop);
    const Chunks& chunks = range_chunks();
    auto last = chunks.end();
    Statement statement = database.prepare(row_scan_sql(
        "r.id, r.site_id, r.step_id, r.parent_offset, r.start_offset_ns, r.duration_ns, r.work_id",
        "range_row r WHERE r.id BETWEEN ?2 AND ?3"));
    for (const IdRange& ids : ranges_of(filter, "first_range_id, last_range_id", &State::range_chunks)) {
      statement.bind(2, ids.first);
      statement.bind(3, ids.last);
      const bool whole = scan_rows(statement, guard, [&](const RowValues& row) {
        const std::optional<Id> step_id = row.optional_int64(2);
        if (ids.step_id && step_id != ids.step_id) return;  // of few at the step's boundaries
        NvtxRange range = range_sites.at(row.int64(1), range_site, range_site_of);
        range.id = row.int64(0);
        range.step_id = step_id;
        if (const auto offset = row.optional_int64(3)) range.parent_id = wrapping_subtract(range.id, *offset);
        range.start_ns = wrapping_add(chunk_at(chunks, range.id, last).base_ns, row.int64(4));
        if (const auto duration_ns = row.optional_int64(5))
          range.end_ns = wrapping_add(range.start_ns, *duration_ns);
        if (wanted(range, range.process_id, filter)) visit(range, row.optional_int64(6));
      });
      if (!whole) return false;
    }
    return true;
  }
};

Activity::Activity(const Capture& capture) : state_(new State(capture.database_)) {}
Activity::~Activity() = default;

bool Activity::for_each_launch(const ActivityFilter& filter, const Visit<Launch>& visit,
                               const std::stop_token& stop) const {
  return for_each_launch_row(
      filter, LaunchColumns::all,
      [&](const LaunchRow& row) { visit(joined(row, state_->launch_site_at(row.site_id))); }, stop);
}

bool Activity::for_each_launch_row(const ActivityFilter& filter, LaunchColumns columns,
                                   const Visit<LaunchRow>& visit, const std::stop_token& stop) const {
  const Interruptible guard(state_->database.handle(), stop);
  LaunchDecoder decoder(state_->launch_chunks(), state_->of_v3, columns);
  Statement statement = state_->database.prepare(
      row_scan_sql(launch_columns(state_->of_v3, columns), "launch_row r WHERE r.id BETWEEN ?2 AND ?3"));
  for (const IdRange& ids : state_->launch_ranges(filter)) {
    statement.bind(2, ids.first);
    statement.bind(3, ids.last);
    const bool whole = scan_rows(statement, guard, [&](const RowValues& values) {
      const LaunchRow row = decoder.read(values);
      if (ids.step_id && row.step_id != ids.step_id) return;  // of few at the step's boundaries
      const Id process_id = filter.process_id ? state_->launch_site_at(row.site_id).process_id : 0;
      if (wanted(row, process_id, filter)) visit(row);
    });
    if (!whole) return false;
  }
  return true;
}

Launch Activity::launch_site(Id site_id) const {
  return state_->launch_site_at(site_id);
}

bool Activity::for_each_memcpy(const ActivityFilter& filter, const Visit<Memcpy>& visit,
                               const std::stop_token& stop) const {
  return select_copies(state_->database, columns_of(state_->database, kMemcpys, "memcpy"), filter, stop,
                       memcpy_of, visit);
}
bool Activity::for_each_memset(const ActivityFilter& filter, const Visit<Memset>& visit,
                               const std::stop_token& stop) const {
  return select_copies(state_->database, columns_of(state_->database, kMemsets, "memset"), filter, stop,
                       memset_of, visit);
}

bool Activity::for_each_range(const ActivityFilter& filter, const Visit<NvtxRange>& visit,
                              const std::stop_token& stop) const {
  return state_->visit_ranges(filter, stop, [&](const NvtxRange& range, std::optional<Id>) { visit(range); });
}

bool Activity::for_each_annotation(const ActivityFilter& filter, const Visit<Annotation>& visit,
                                   const std::stop_token& stop) const {
  const Database& database = state_->database;
  // Captures that are older than these columns are read as they are.
  const bool sizes = database.scalar_int64(
                         "SELECT count(*) FROM pragma_table_info('declared_work') WHERE name = 'tokens'") > 0;
  Statement one =
      database.prepare(std::string("SELECT name, bytes, flops") +
                       (sizes ? ", tokens, samples, m, n, k" : "") + " FROM declared_work WHERE id = ?");
  Statement further = database.prepare("SELECT work_id FROM range_work WHERE range_id = ? ORDER BY id");
  const bool any_further = database.scalar_int64("SELECT EXISTS (SELECT 1 FROM range_work)") != 0;
  std::unordered_map<Id, Annotation> works;
  const auto add = [&](Id range_id, Id work_id) {
    auto known = works.find(work_id);
    if (known == works.end()) {
      if (works.size() >= kMaxSitesHeld) works.clear();
      one.bind_all(work_id);
      if (!one.step()) throw Error(ErrorKind::corrupt, "a range names declared work that is not there");
      Annotation work{0, 0, one.text(0), one.optional_real(1), one.optional_real(2)};
      if (sizes) {
        work.tokens = one.optional_real(3);
        work.samples = one.optional_real(4);
        work.m = one.optional_int64(5);
        work.n = one.optional_int64(6);
        work.k = one.optional_int64(7);
      }
      known = works.emplace(work_id, std::move(work)).first;
      one.reset();
    }
    known->second.nvtx_range_id = range_id;
    visit(known->second);
  };
  return state_->visit_ranges(filter, stop, [&](const NvtxRange& range, std::optional<Id> work_id) {
    if (work_id) add(range.id, *work_id);
    if (!any_further) return;
    further.bind_all(range.id);
    while (further.step()) add(range.id, further.int64(0));
    further.reset();
  });
}

bool Activity::for_each_launch_metric(const ActivityFilter& filter, const Visit<LaunchMetric>& visit,
                                      const std::stop_token& stop) const {
  const Interruptible guard(state_->database.handle(), stop);
  LaunchDecoder decoder(state_->launch_chunks(), state_->of_v3, LaunchColumns::all);
  Statement statement =
      state_->database.prepare("SELECT " + launch_columns(state_->of_v3) +
                               ", m.metric_id, m.tier, m.value, m.error, m.sample_count, m.concurrent"
                               " FROM launch_metric m CROSS JOIN launch_row r ON r.id = m.launch_id"
                               " WHERE m.launch_id BETWEEN ?1 AND ?2"
                               " ORDER BY m.launch_id, m.metric_id, m.tier");
  const bool look = filter.process_id || filter.time || filter.step_ids;
  for (const IdRange& ids : state_->launch_ranges(filter)) {
    statement.bind(1, ids.first);
    statement.bind(2, ids.last);
    const bool whole = visit_rows(statement, guard, [&](const Statement& row) {
      if (look) {
        const LaunchRow launch = decoder.read(row);
        if (ids.step_id && launch.step_id != ids.step_id) return;
        if (!wanted(launch, state_->launch_site_at(launch.site_id).process_id, filter)) return;
      }
      LaunchMetric metric;
      metric.launch_id = row.int64(0);
      metric.metric_id = row.int64(kLaunchColumnCount);
      metric.tier = row.word<Tier>(kLaunchColumnCount + 1, "launch_metric.tier");
      metric.value = row.real(kLaunchColumnCount + 2);
      metric.error = row.optional_real(kLaunchColumnCount + 3);
      metric.sample_count = row.optional_int64(kLaunchColumnCount + 4);
      metric.concurrent = row.int64(kLaunchColumnCount + 5) != 0;
      visit(metric);
    });
    if (!whole) return false;
  }
  return true;
}

std::vector<StepTotal> Activity::step_totals() const {
  std::vector<StepTotal> totals;
  Statement row = state_->database.prepare(
      "SELECT id, launches, launches_without_time, kernel_time_ns, kernel_start_ns, kernel_end_ns, copies,"
      " copy_start_ns, copy_end_ns, sequence_hash FROM step ORDER BY id");
  while (row.step())
    totals.push_back({row.int64(0), row.int64(1), row.int64(2), row.int64(3), row.int64(4), row.int64(5),
                      row.int64(6), row.int64(7), row.int64(8), static_cast<std::uint64_t>(row.int64(9))});
  return totals;
}

std::vector<ProcessTotal> Activity::process_totals() const {
  std::vector<ProcessTotal> totals;
  Statement row = state_->database.prepare(
      "SELECT t.process_id, sum(w.launches), sum(w.launches - w.timed_launches), sum(w.kernel_time_ns)"
      " FROM site_total w JOIN launch_site t ON t.id = w.site_id GROUP BY t.process_id ORDER BY "
      "t.process_id");
  while (row.step()) totals.push_back({row.int64(0), row.int64(1), row.int64(2), row.int64(3)});
  return totals;
}

std::vector<OrdinalSum> Activity::ordinal_sums(const SequenceKey& key) const {
  const auto hash = static_cast<std::int64_t>(key.sequence_hash);
  Statement sequence = state_->database.prepare(
      "SELECT id, steps FROM launch_sequence WHERE process_id = ? AND phase = ? AND sequence_hash = ?");
  sequence.bind_all(key.process_id, key.phase, hash);
  if (!sequence.step()) return {};
  // Sums that lack a step, because it was not yet known to be of that sequence, are none.
  Statement steps = state_->database.prepare(
      "SELECT count(*) FROM step WHERE process_id = ? AND phase = ? AND sequence_hash = ? AND status = 'ok'"
      " AND launches > 0");
  steps.bind_all(key.process_id, key.phase, hash);
  if (!steps.step() || steps.int64(0) != sequence.int64(1)) return {};
  std::vector<OrdinalSum> sums;
  Statement row = state_->database.prepare(
      "SELECT ordinal_in_step, launches, sum_ns, sum_of_squares_ns2 FROM ordinal_sum WHERE sequence_id = ?"
      " ORDER BY ordinal_in_step");
  row.bind_all(sequence.int64(0));
  while (row.step()) sums.push_back({row.int64(0), row.int64(1), row.int64(2), row.real(3)});
  return sums;
}

}  // namespace ridgeline::store
