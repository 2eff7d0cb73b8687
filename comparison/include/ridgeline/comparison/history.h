// history.h: results of many commits in one SQLite file, and where they changed.
//
// A series is one quantity (the step, or a kernel at its place) of one kind of runs: host, GPU, driver, CUDA, policy.
// Nothing follows from runs of another kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

/// A place in a series from which on values are others.
struct ChangePoint {
  std::size_t at = 0;  ///< first value behind it
  double before = 0;   ///< median of the values up to the change point before
  double after = 0;    ///< median of the values up to the next
  double p = 1;        ///< of so large a change by chance
};

/// E-divisive (Matteson and James, J. Am. Stat. Assoc. 109, 2014; exponent 1): the split of the largest energy distance
/// is tested against permutations of its segment, then both sides are. Segments have at least `least` values. Changes
/// of medians below `least_ratio` do not matter and are none. Deterministic.
[[nodiscard]] std::vector<ChangePoint> change_points(const std::vector<double>& values,
                                                     double significance = 0.05, std::size_t least = 3,
                                                     int permutations = 199, double least_ratio = 0.005);

/// One value of a series.
struct HistoryValue {
  std::int64_t start_ns = 0;  ///< of the recording, Unix epoch
  std::string commit;         ///< "" unknown
  double value_ns = 0;
};

/// A change point with what people said of it.
struct HistoryChange {
  ChangePoint point;
  std::string commit;  ///< of the first value behind it
  bool accepted = false;
  std::string reason;  ///< why it was accepted
};

struct HistorySeries {
  std::string kind;                  ///< "host, NVIDIA H200, driver 580 …"
  std::string name;                  ///< "step", or a kernel: "step / forward / layer * / mlp: gelu_forward"
  std::vector<HistoryValue> values;  ///< by time
  std::vector<HistoryChange> changes;
};

class History {
 public:
  /// Makes the file if there is none. Failures: io, not_a_capture (another SQLite file), newer_capture.
  [[nodiscard]] static Result<History> open(const std::string& path);

  /// Adds a run; false if this recording (host, start, command) is known already.
  [[nodiscard]] bool add(const RunProfile& run, const std::string& policy = "");
  /// Says that the change at a commit is meant. An empty series: all of that commit. Failures: no_data (no run of the
  /// commit), usage (several commits begin so).
  [[nodiscard]] Result<void> accept(const std::string& commit, const std::string& reason,
                                    const std::string& series = "");
  /// Adds all that another file holds; the number of runs that were new.
  [[nodiscard]] Result<std::int64_t> merge(const std::string& other);

  /// The step's series and those of the kernels with most time, `kernels` of each kind, with their change points.
  [[nodiscard]] std::vector<HistorySeries> series(std::size_t kernels = 20) const;
  [[nodiscard]] std::int64_t runs() const;

 private:
  explicit History(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace ridgeline::comparison
