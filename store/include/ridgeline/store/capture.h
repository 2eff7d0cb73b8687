// capture.h: reads a capture. The file is opened read-only and never modified; one of an older schema is
// migrated in a private in-memory copy. Tables load whole, as vectors ordered by id unless said otherwise.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

class Activity;
class Order;
struct ActivityFilter;

/// A table that holds a different number of rows than when the capture was finished.
struct LostRows {
  std::string table;
  std::int64_t rows = 0;
  std::int64_t written = 0;
};

/// What Capture::verify() found.
struct Verification {
  bool noted = false;               ///< false: the capture does not say what its tables held
  std::vector<std::string> damage;  ///< one line each; empty: nothing is wrong
};

/// Whether a file begins as captures do, whole or damaged, of this schema or another.
[[nodiscard]] bool is_capture_file(const std::string& path);

class Capture {
 public:
  /// Failures: io (missing, unreadable), not_a_capture, newer_capture, corrupt (also: truncated).
  [[nodiscard]] static Result<Capture> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] bool has_run() const;  // false: the recording never began
  [[nodiscard]] Run run() const;       // throws Error(no_data) if the recording never began
  [[nodiscard]] std::map<std::string, std::string> versions() const;
  [[nodiscard]] std::map<std::string, std::string> environment() const;
  [[nodiscard]] std::vector<Process> processes() const;
  [[nodiscard]] std::vector<Device> devices() const;
  [[nodiscard]] std::vector<DevicePeak> device_peaks() const;
  /// By device, level, kind, state; none before version kCeilingsAreMeasured.
  [[nodiscard]] std::vector<Ceiling> ceilings() const;
  [[nodiscard]] std::vector<ClockSample> clock_samples() const;  // by device, time
  [[nodiscard]] std::vector<Kernel> kernels() const;
  [[nodiscard]] std::vector<CounterConfiguration> counter_configurations() const;
  [[nodiscard]] std::vector<Step> steps() const;             // by process, step_index
  [[nodiscard]] std::vector<NvtxRange> nvtx_ranges() const;  // by process, start_ns
  [[nodiscard]] std::vector<Launch> launches() const;        // by process, start_ns
  [[nodiscard]] std::vector<Memcpy> memcpys() const;         // by process, start_ns
  [[nodiscard]] std::vector<Memset> memsets() const;         // by process, start_ns
  [[nodiscard]] std::vector<Metric> metrics() const;
  [[nodiscard]] std::vector<LaunchMetric> launch_metrics() const;  // by launch, metric
  [[nodiscard]] std::vector<Completeness> completeness() const;
  [[nodiscard]] std::vector<TierStatus> tier_statuses() const;
  [[nodiscard]] std::vector<Message> messages() const;
  [[nodiscard]] std::vector<Annotation> annotations() const;  // by range
  [[nodiscard]] std::vector<PmWindow> pm_windows() const;
  [[nodiscard]] std::vector<PmSample> pm_samples(Id device_id, Id metric_id) const;  // by time
  [[nodiscard]] std::vector<TierCoverage> tier_coverage() const;
  [[nodiscard]] std::vector<ReplayExclusion> replay_exclusions() const;
  [[nodiscard]] std::vector<GraphMetric> graph_metrics() const;
  [[nodiscard]] std::vector<Thread> threads() const;  // by process, thread
  /// Of one process, those that overlap the time; by thread, start.
  [[nodiscard]] std::vector<Synchronisation> synchronisations(Id process_id, std::int64_t start_ns,
                                                              std::int64_t end_ns) const;
  [[nodiscard]] std::vector<RecordingWindow> recording_windows() const;  // by process, start_ns
  [[nodiscard]] std::vector<StallWindow> stall_windows() const;
  [[nodiscard]] std::vector<StallSample> stall_samples() const;  // by kernel, offset
  [[nodiscard]] std::vector<SourceLine> source_lines() const;    // by kernel, offset
  [[nodiscard]] std::map<Id, std::string> strings() const;

  /// Rows in each table, by table name; for `info`.
  [[nodiscard]] std::map<std::string, std::int64_t> row_counts() const;

  /// Tables that lost or gained rows since the capture was finished: of those that are small. Empty if it does not say.
  [[nodiscard]] std::vector<LostRows> lost_rows() const;
  /// Reads everything and holds it against what was noted when the capture was finished and against the sums of steps
  /// and processes: rows, values, SQLite's own structure.
  [[nodiscard]] Verification verify() const;

  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<Value>> rows;
  };
  /// Runs one SELECT of the user's. Failures: usage (bad SQL, or a statement that would write).
  [[nodiscard]] Result<Table> query(std::string_view sql, std::size_t max_rows = SIZE_MAX) const;
  /// The same, row by row: `columns` is called once with their names, then `row` for each; either ends it by returning
  /// false. What they throw passes through.
  [[nodiscard]] Result<void> query(std::string_view sql,
                                   const std::function<bool(std::vector<std::string>&&)>& columns,
                                   const std::function<bool(std::vector<Value>&&)>& row) const;

 private:
  friend class Activity;
  friend class Order;
  template <typename Row>
  using RowVisitor = bool (Activity::*)(const ActivityFilter&, const std::function<void(const Row&)>&,
                                        const std::stop_token&) const;
  template <typename Row>
  [[nodiscard]] std::vector<Row> activity(RowVisitor<Row> for_each) const;
  Capture(std::string path, Database database) : path_(std::move(path)), database_(std::move(database)) {}
  std::string path_;
  Database database_;
};

}  // namespace ridgeline::store
