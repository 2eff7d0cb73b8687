// sampled_windows.h: windows of periodic samples of a device (T1): samples, what each launch of the sampled steps did,
// coverage.
//
// Order: 1. expect() each window, with its extent  2. add() all executions and copies of the process,
// add_foreign() what others ran on its devices  3. add_sample() in any order, then finish(). Memory grows with
// one window: its samples and what ran during it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attribution/pm_attribution.h"
#include "recording/process_rows.h"
#include "recording/step_rows.h"
#include "recording/steps.h"

namespace ridgeline::import {

/// How a metric of a sample adds up over a launch.
enum class PmMeaning {
  amount,      // a count: parts add up
  mean,        // a share of a peak or a rate of work: mean over time; nothing runs, nothing counted
  background,  // goes on when nothing runs (clocks): mean over time of what the samples say
  ratio,       // hits of look-ups: mean weighted by traffic, if that was sampled too
};
[[nodiscard]] PmMeaning pm_meaning(std::string_view metric);

/// A column of samples; without a name it is left out.
struct SampledMetric {
  std::string name, unit, meaning;
};

struct SampledWindow {
  std::uint32_t device = 0;
  std::optional<std::int64_t> first_step, last_step;  ///< meant to be covered
  std::int64_t interval_ns = 0;
  std::int64_t buffer_bytes = 0;
  bool whole = false;                  ///< samples came to its end
  std::optional<Reason> reason;        ///< why not
  std::vector<SampledMetric> metrics;  ///< by position in a sample
  std::int64_t samples = 0;            ///< that come; their extent, as stamped
  std::int64_t first_start_ns = 0, last_end_ns = 0;
};

/// A sample whose times can be reckoned with; a damaged record may hold anything.
[[nodiscard]] inline bool is_plausible_sample(std::int64_t start_ns, std::int64_t end_ns) {
  constexpr std::int64_t kLongestNs = 10'000'000'000;
  return start_ns > 0 && start_ns < kLatestNs && end_ns > start_ns && end_ns - start_ns <= kLongestNs;
}

class SampledWindows {
 public:
  explicit SampledWindows(ProcessRows& rows) : rows_(rows) {}

  void expect(std::uint32_t window, SampledWindow described) { windows_[window] = std::move(described); }
  /// Of a program without steps, all launches are meant.
  void take_all() { take_all_ = true; }
  [[nodiscard]] bool any_expected() const { return !windows_.empty(); }

  /// `step` may be null; `ordinal` and the ids are those of the capture.
  void add(const Execution& execution, store::Id kernel_id, const RecordedStep* step,
           std::optional<std::int64_t> ordinal, store::Id launch_id);
  void add(const Copy& copy);
  /// What another process ran on a device: it is in the samples too.
  void add_foreign(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns);

  /// A plausible one of an expected window; a window is written as soon as its last sample came.
  void add_sample(std::uint32_t window, std::int64_t start_ns, std::int64_t end_ns,
                  std::vector<double> values);
  /// Writes what is left, and coverage; adds kernel time and covered time to the outcome.
  void finish(SamplingOutcome& outcome);

 private:
  struct Ran {
    std::int64_t start_ns, end_ns;
    std::uint32_t device;
    std::uint32_t position, family;
    store::Id launch_id;  // 0: not of a sampled step
    bool kernel;
  };
  struct Column {
    std::uint32_t place;  // in the samples
    std::string name;
    store::Id metric_id;
    PmMeaning meaning;
    std::vector<double> values;
  };
  struct Samples {
    PmSamples times;
    std::vector<std::vector<double>> values;  // by sample, as they came
  };
  struct Covered {
    std::int64_t kernel_time_ns = 0;
    std::map<store::Id, std::int64_t> by_metric;
  };
  [[nodiscard]] bool in_window(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) const;
  void add_other(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t kind,
                 std::int64_t bytes);
  void sort_ran();
  void write_window(const SampledWindow& window, Samples samples);
  [[nodiscard]] std::vector<Column> columns_of(const SampledWindow& window, const Samples& samples);
  void write_values(const std::vector<Ran>& ran, const PmSamples& samples,
                    const std::vector<Column>& columns);

  ProcessRows& rows_;
  std::map<std::uint32_t, SampledWindow> windows_;
  std::map<std::uint32_t, Samples> open_;
  std::vector<Ran> ran_;
  bool sorted_ = false;
  bool take_all_ = false;
  /// Numbers of positions and families, from what makes them the same.
  std::map<std::tuple<std::uint32_t, std::int64_t, store::Id, std::uint64_t>, std::uint32_t> positions_;
  std::map<std::tuple<std::uint32_t, store::Id, std::uint64_t>, std::uint32_t> families_;
  std::uint32_t next_position_ = 0;
  Covered covered_;
};

}  // namespace ridgeline::import
