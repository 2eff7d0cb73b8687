// history.h: results of many commits in one SQLite file, where they changed, and how the newest run compares with the
// last ones.
//
// A series is one quantity (the step, or a kernel at its place) of one kind of runs: one program that does one thing on
// one model of GPU. Nothing follows from runs of another kind. Cards of one model share a series: what a card is faster
// or slower by is taken off.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

/// A place in a series from which on values are others.
struct ChangePoint {
  std::size_t at = 0;  ///< first value after it
  double before = 0;   ///< median of the values up to the change point before
  double after = 0;    ///< median of the values up to the next
  double p = 1;        ///< of so large a change anywhere in the series that were tested together, by chance
};

struct ChangeOptions {
  /// Of any change in all series together, if there is none. One in 20 histories is what is promised: at 0.05 it is
  /// that on the average, and 63 of 1,000 of one kind of noise (docs/results/history.md).
  double significance = 0.04;
  std::size_t least = 3;  ///< values on either side
  int permutations = 999;
  double min_ratio = 0.005;  ///< changes of medians below do not matter and are none
};

/// Where series of the same runs changed. `series`: a value for each run, above zero; NaN where a run has none.
/// ChangePoint::at counts runs. E-divisive (Matteson and James, J. Am. Stat. Assoc. 109, 2014; exponent 1): the
/// split of the largest energy distance, as a share of all that the values of the series differ by, is tested
/// against permutations of the runs; then both sides are. All series are permuted together and tested against the
/// largest share of any (Westfall and Young's step-down), so that `significance` holds for all of them and all
/// places at once. Deterministic.
[[nodiscard]] std::vector<std::vector<ChangePoint>> joint_change_points(
    const std::vector<std::vector<double>>& series, const ChangeOptions& options = {});

/// The same of one series.
[[nodiscard]] std::vector<ChangePoint> change_points(const std::vector<double>& values,
                                                     const ChangeOptions& options = {});

/// One value of a series.
struct HistoryValue {
  std::int64_t start_ns = 0;  ///< of the recording, Unix epoch
  std::string commit;         ///< "" unknown
  std::string card;           ///< UUIDs of the GPUs
  double value_ns = 0;
};

/// A change point with what people said of it.
struct HistoryChange {
  ChangePoint point;
  std::string commit;  ///< of the first value after it
  bool accepted = false;
  std::string reason;  ///< why it was accepted
};

struct HistorySeries {
  std::string kind;                  ///< "./train --fast, 1153 launches a step, NVIDIA H200, driver 580 …"
  std::string name;                  ///< "step", or a kernel: "step / forward / layer * / mlp: gelu_forward"
  std::vector<HistoryValue> values;  ///< by time
  std::vector<HistoryChange> changes;
};

/// A quantity of the newest run beside the last ones.
struct NewestChange {
  std::string series;
  double value_ns = 0;
  double before_ns = 0;   ///< geometric mean of the last ones
  double ratio = 0;       ///< of value_ns above before_ns
  double low_ratio = 0;   ///< 95 % interval of a difference of code
  double high_ratio = 0;  ///< likewise
  double confidence = 0;  ///< probability that it is no chance; of kernels over all of them (Holm)
};

enum class NewestVerdict : std::uint8_t { undecided, slower, faster };

/// The newest run of a kind beside those before it, as many as there are since the last change, twenty at most: of
/// its own card if there are any.
struct NewestRun {
  std::string kind;
  std::int64_t start_ns = 0;
  std::string commit;
  std::size_t runs_before = 0;  ///< 0: nothing to compare it with
  bool other_cards = false;     ///< none of them ran on its card
  double spread_ratio = 0;      ///< standard deviation of runs of identical code on one card, as estimated
  bool spread_guessed = false;  ///< too few runs for an estimate: a guess, or what two of them differ by
  NewestVerdict verdict = NewestVerdict::undecided;
  std::optional<NewestChange> step;
  std::vector<NewestChange> kernels;  ///< slower or faster for certain; largest difference first
};

struct HistoryReport {
  std::vector<HistorySeries> series;  ///< by kind; the step first, then kernels with most time
  std::vector<NewestRun> newest;      ///< of each kind, the newest of all first
};

}  // namespace ridgeline::comparison

namespace ridgeline {

template <>
struct Vocabulary<comparison::NewestVerdict> {
  using Verdict = comparison::NewestVerdict;
  static constexpr std::string_view kName = "verdict on the newest run";
  static constexpr Word<Verdict> kWords[] = {
      {Verdict::undecided, "undecided"}, {Verdict::slower, "slower"}, {Verdict::faster, "faster"}};
};

}  // namespace ridgeline

namespace ridgeline::comparison {

/// How runs are added.
struct AddOptions {
  std::string policy;  ///< of the clocks, as the user calls it
  std::string name;    ///< of the program; "": its command line tells programs apart
};

class History {
 public:
  /// Makes the file if there is none. Failures: io, not_a_capture (another SQLite file), newer_capture, corrupt.
  [[nodiscard]] static Result<History> open(const std::string& path);

  /// Adds runs, all or none; returns how many were not known already (by host, start, command and card). Throws Error.
  [[nodiscard]] std::int64_t add(std::span<const RunProfile> runs, const AddOptions& options = {});
  /// Says that the change at a commit is meant. An empty series: all of that commit. Failures: no_data (no run of the
  /// commit), usage (several commits begin so).
  [[nodiscard]] Result<void> accept(const std::string& commit, const std::string& reason,
                                    const std::string& series = "");
  /// Adds all that another file holds; the number of runs that were new.
  [[nodiscard]] Result<std::int64_t> merge(const std::string& other);

  /// The step's series and those of the kernels with most time, `kernels` of each kind, with their change points,
  /// and the newest runs. Throws Error.
  [[nodiscard]] HistoryReport report(std::size_t kernels = 20) const;
  [[nodiscard]] std::int64_t runs() const;

 private:
  explicit History(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace ridgeline::comparison
