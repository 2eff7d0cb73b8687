// activity.h: the rows of a capture whose number grows with the program's run (launches, ranges, copies,
// metrics), asked for in parts: by process, by steps, by a window of time. Rows are handed out one by one, so
// that nobody holds more of them than wanted. The sums of steps are stored: they touch no launch.
//
// Lifecycle: 1. Capture::open()  2. make an Activity of it, which must not outlive it  3. ask as often as
// wanted. One thread at a time for a capture, as for the capture itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// From start_ns up to, but without, end_ns, on the capture's clock.
struct TimeSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// Which rows; what is left empty does not restrict, and what is given must hold together.
struct ActivityFilter {
  std::optional<Id> process_id;
  std::optional<std::vector<Id>> step_ids;  ///< rows of these steps; an empty list selects none
  std::optional<TimeSpan> time;             ///< rows that overlap it; those without usable times never do
};

/// What a launch has of its own; the rest is shared by the launches of its site. A step may have millions.
struct LaunchRow {
  Id id = 0;
  Id site_id = 0;
  std::optional<Id> step_id;
  std::optional<std::int64_t> ordinal_in_step;
  std::int64_t start_ns = 0;  ///< 0: the driver gave no timestamp
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> host_start_ns;  ///< this and what follows: not with LaunchColumns::times
  std::optional<std::int64_t> host_end_ns;
  std::int64_t correlation_id = 0;
};

/// The launch that a row and its site, as Activity::launch_site() gives it, make together.
[[nodiscard]] inline Launch joined(const LaunchRow& row, const Launch& site) {
  Launch launch = site;
  launch.id = row.id;
  launch.step_id = row.step_id;
  launch.ordinal_in_step = row.ordinal_in_step;
  launch.start_ns = row.start_ns;
  launch.end_ns = row.end_ns;
  launch.host_start_ns = row.host_start_ns;
  launch.host_end_ns = row.host_end_ns;
  launch.correlation_id = row.correlation_id;
  return launch;
}

/// What a launch shares with those of its site: the fields of LaunchRow are as in an empty one.
[[nodiscard]] inline Launch site_of(const Launch& launch) {
  return joined({}, launch);
}

/// What a launch has of its own, without the id of its site, which only a capture knows.
[[nodiscard]] inline LaunchRow row_of(const Launch& launch) {
  return {launch.id,
          0,
          launch.step_id,
          launch.ordinal_in_step,
          launch.start_ns,
          launch.end_ns,
          launch.host_start_ns,
          launch.host_end_ns,
          launch.correlation_id};
}

/// How much of a LaunchRow is read.
enum class LaunchColumns {
  times,   ///< without what tells of the launching call
  events,  ///< when it ran and when it was launched: without its step, its ordinal there and its correlation
  all,
};

/// What one step ran, taken together. A launch has a usable time if start_ns > 0 and end_ns >= start_ns.
struct StepTotal {
  Id step_id = 0;
  std::int64_t launches = 0;
  std::int64_t launches_without_time = 0;
  std::int64_t kernel_time_ns = 0;   ///< sum of the durations
  std::int64_t kernel_start_ns = 0;  ///< of the first kernel; 0: none has a usable time
  std::int64_t kernel_end_ns = 0;    ///< of the last to end
  std::int64_t copies = 0;           ///< memcpy and memset
  std::int64_t copy_start_ns = 0;    ///< 0: none has a usable time
  std::int64_t copy_end_ns = 0;
  /// Equal for two steps if they launched the same kernels with the same grids and blocks at the same
  /// ordinals. Comparable within one capture only.
  std::uint64_t sequence_hash = 0;
};

/// What one process ran, in steps and outside of them.
struct ProcessTotal {
  Id process_id = 0;
  std::int64_t launches = 0;
  std::int64_t launches_without_time = 0;
  std::int64_t kernel_time_ns = 0;
};

/// Durations of the launches at one ordinal, over the steps of one sequence.
struct OrdinalSum {
  std::int64_t ordinal_in_step = 0;
  std::int64_t count = 0;  ///< launches with a usable time
  std::int64_t sum_ns = 0;
  double sum_of_squares_ns2 = 0;
};

/// Names the steps that OrdinalSums are taken over: those of one process, phase and sequence with status ok.
struct SequenceKey {
  Id process_id = 0;
  Phase phase = Phase::timeline;
  std::uint64_t sequence_hash = 0;  ///< as in StepTotal
};

class Activity {
 public:
  explicit Activity(const Capture& capture);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  template <typename Row>
  using Visit = std::function<void(const Row&)>;

  /// Each visits the wanted rows: step by step in the order of the filter's steps if it names any, else by
  /// id, which is the order of arrival and nearly that of time. Returns false if it was stopped before the
  /// last row. Throws Error if the capture is damaged; what `visit` throws passes through.
  bool for_each_launch(const ActivityFilter&, const Visit<Launch>& visit,
                       const std::stop_token& stop = {}) const;
  /// Likewise without what the site says: for many launches.
  bool for_each_launch_row(const ActivityFilter&, LaunchColumns columns, const Visit<LaunchRow>& visit,
                           const std::stop_token& stop = {}) const;
  /// A launch with what those of the site have in common; the fields of LaunchRow are as in an empty one.
  [[nodiscard]] Launch launch_site(Id site_id) const;
  bool for_each_memcpy(const ActivityFilter&, const Visit<Memcpy>& visit,
                       const std::stop_token& stop = {}) const;
  bool for_each_memset(const ActivityFilter&, const Visit<Memset>& visit,
                       const std::stop_token& stop = {}) const;
  /// A range belongs to the step in which it began; one that never ended overlaps everything after its start.
  bool for_each_range(const ActivityFilter&, const Visit<NvtxRange>& visit,
                      const std::stop_token& stop = {}) const;
  /// Of the ranges that the filter selects.
  bool for_each_annotation(const ActivityFilter&, const Visit<Annotation>& visit,
                           const std::stop_token& stop = {}) const;
  /// Of the launches that the filter selects; by launch, metric.
  bool for_each_launch_metric(const ActivityFilter&, const Visit<LaunchMetric>& visit,
                              const std::stop_token& stop = {}) const;

  /// Of all steps, by step id.
  [[nodiscard]] std::vector<StepTotal> step_totals() const;
  /// Of all processes that launched anything, by process id.
  [[nodiscard]] std::vector<ProcessTotal> process_totals() const;
  /// By ordinal. Empty if nothing was summed up for that sequence: it is of one step only, or has too many
  /// launches; its launches are then to be asked for.
  [[nodiscard]] std::vector<OrdinalSum> ordinal_sums(const SequenceKey& key) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::store
