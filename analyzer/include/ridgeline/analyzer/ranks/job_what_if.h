/// job_what_if.h: what the steps of a job would take if its communication were otherwise: perfect overlap, buckets of
/// another size, faster links, no rank later than the others. Model and formulas:
/// docs/design/052-communication-what-if.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/base/collective_words.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/job.h"

namespace ridgeline::analyzer {

/// What is done otherwise; several things at once are one change.
struct JobChange {
  std::string text;  ///< as it was asked
  double links = 1;  ///< bytes travel so many times as fast; latency stays
  std::optional<std::int64_t>
      bucket_bytes;  ///< gradients are reduced in buckets of at least this, recorded ones put together
  bool perfect_overlap = false;  ///< no transfer delays anything
  bool no_skew = false;          ///< every rank's own part of a step takes the median of the ranks
};

/// Why a change has no figures.
enum class JobWhatIfRefusal {
  none,
  replay_departs,  ///< the unchanged simulation is not the recorded step
  no_buckets,      ///< no reductions in a row whose bytes are known
  ready_unknown,   ///< when buckets were ready is not in the captures
  finer_buckets,   ///< smaller ones than were recorded: which gradients those hold is not known
  never_waited,  ///< slower links: no rank ever waited for a communicator's collectives, so that where it would is not known
  range_too_wide,  ///< the answer depends on what is not recorded by more than kMaxRangeRatio
};

/// Times are of a step, medians over the steps. A gain below 0 is a loss.
struct JobGain {
  double bound_ns = 0;  ///< not to be exceeded: what a rank waits for at most
  double naive_ns = 0;  ///< what collectives take less, hidden or not
  double gain_ns = 0;   ///< simulated
  /// Of the gain, what comes of kernels and collectives that are slower beside each other: less that of a
  /// simulation in which both stay as fast as they were. Empty: neither is known to be, or that simulation has no
  /// answer.
  std::optional<double> contention_ns;
  double low_ns = 0;  ///< of nine of ten steps, and of both ends of what is not recorded
  double high_ns = 0;
  double step_ns = 0;          ///< recorded step less the gain
  double exposed_wait_ns = 0;  ///< then, mean over ranks and steps
  double exposed_transfer_ns = 0;
  std::int64_t buckets = 0;  ///< reductions of gradients in a step, then; 0: none were found
  std::optional<std::int64_t> largest_bucket_bytes;
};

struct JobWhatIfRow {
  JobChange change;
  JobWhatIfRefusal refusal = JobWhatIfRefusal::none;
  std::optional<JobGain> gain;  ///< empty with a refusal
};

/// What collectives cost the kernels beside them, as the simulation has it: a rank's own work that was recorded
/// beside a collective is taken as shorter by its cost, and goes on so much slower beside one.
struct KernelContention {
  InterferenceRefusal refusal = InterferenceRefusal::none;
  std::optional<double> factor_ratio;  ///< time beside collectives over that beside none; empty: taken as 1
  double beside_ns = 0;                ///< in a step, mean over ranks, as the next two
  double controlled_ns = 0;  ///< of that, of launches with controls; the rest is taken to be as slow
  double cost_ns = 0;
};

/// How long a collective takes once all ranks are in it: latency + bytes / rate.
struct LinkFit {
  std::string communicator;
  CollectiveFunction function = CollectiveFunction::all_reduce;
  double latency_ns = 0;
  bool latency_assumed = false;  ///< there is one size only
  double bytes_per_s = 0;        ///< of the whole array
  std::int64_t sizes = 0;
  std::int64_t smallest_bytes = 0;
  std::int64_t largest_bytes = 0;
  /// It takes so many times as long while kernels run beside it; latency and rate are then of those that ran alone.
  /// Empty: the recording does not tell, and it is taken to be as fast as it was.
  std::optional<double> beside_factor_ratio;
};

struct JobWhatIf {
  std::int64_t ranks = 0;
  std::int64_t missing = 0;       ///< ranks without a capture
  std::int64_t steps = 0;         ///< that are simulated and compared
  double step_ns = 0;             ///< recorded: median over steps of the ranks' median
  double replayed_ns = 0;         ///< the same, simulated unchanged
  double replay_error_ratio = 0;  ///< |replayed - recorded| / recorded
  double exposed_wait_ns = 0;     ///< simulated unchanged
  double exposed_transfer_ns = 0;
  std::int64_t calls = 0;  ///< collectives of all ranks in these steps
  std::int64_t calls_without_ready = 0;
  std::int64_t calls_hidden =
      0;  ///< of these, with kernels beside them to their end: taken as not waited for there
  KernelContention contention;
  std::vector<LinkFit> fits;
  std::vector<JobWhatIfRow> rows;  ///< as asked
};

/// More than this, and the simulation is not of the recorded job.
inline constexpr double kMaxReplayErrorRatio = 0.01;
/// An answer whose ends are further apart, as a share of the step, is refused.
inline constexpr double kMaxRangeRatio = 0.05;

/// Failures: no_data (one rank alone; no step that all ranks have; no collective), corrupt.
[[nodiscard]] Result<JobWhatIf> what_if_job(const store::Job& job, const std::vector<JobChange>& changes);

}  // namespace ridgeline::analyzer
