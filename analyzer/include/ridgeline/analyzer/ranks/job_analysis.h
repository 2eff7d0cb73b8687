/// job_analysis.h: many ranks in one answer: what collectives cost, who waits for whom and why. Formulas:
/// docs/metrics.md, "Many ranks".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/collective_words.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/job.h"
#include "ridgeline/store/link_bytes.h"

namespace ridgeline::analyzer {

/// Why a rank's calls do not fit those of most.
enum class MismatchKind {
  lost,       ///< it has fewer: no record of them
  extra,      ///< it has more
  reordered,  ///< the same ones in another order
  different,  ///< other ones
};

/// Calls of a rank in a step that are no collective together with those of the others.
struct CallMismatch {
  std::int64_t rank = 0;
  std::int64_t step_index = 0;
  MismatchKind kind = MismatchKind::lost;
  std::int64_t missing = 0;  ///< calls of the others without one of the rank
  std::int64_t extra = 0;    ///< calls of the rank without those of the others
};

/// Why a rank is later than the others. The first five are parts that add up to its lateness with `unexplained`.
enum class LatenessCause {
  more_work,       ///< more launches, or more blocks in them
  more_cycles,     ///< the same work in more cycles
  lower_clock,     ///< the same cycles at a lower clock
  host_gaps,       ///< nothing ran on the device
  copies,          ///< copies with nothing beside them
  slower_kernels,  ///< cycles or clock: the clock was not sampled often enough to say
  unexplained,     ///< no part is most of it
};

/// Parts of a time by cause; each may be negative.
struct LatenessParts {
  double more_work_ns = 0;
  double more_cycles_ns = 0;
  double lower_clock_ns = 0;
  double slower_kernels_ns = 0;  ///< in place of the two before it
  double beside_collectives_ns =
      0;  ///< of the scaling loss: what of those two collectives beside kernels cost, if shown
  double host_gaps_ns = 0;
  double copies_ns = 0;
  double rest_ns = 0;
  [[nodiscard]] double sum_ns() const {
    return more_work_ns + more_cycles_ns + lower_clock_ns + slower_kernels_ns + beside_collectives_ns +
           host_gaps_ns + copies_ns + rest_ns;
  }
};

/// What makes a collective slow.
enum class CollectiveClass {
  transfer,      ///< more than two thirds of the time in it is transfer
  skew,          ///< more than two thirds is waiting for the last rank
  mixed,         ///< neither
  inconclusive,  ///< ranks arrive less apart than clocks can tell
  not_known,     ///< one rank alone, or a function in which ranks need not wait for all
};

/// How a wait was found.
enum class WaitSource {
  clocks,     ///< from the last arrival on aligned clocks
  durations,  ///< from the shortest duration: clocks do not tell, or tell too roughly
};

/// One place in the steps' sequence of collectives, over all steps. Times are of one call of one rank, means over ranks
/// and medians over steps, unless said otherwise.
struct CollectiveCost {
  std::int64_t place = 0;
  std::optional<CollectiveFunction> function;
  std::optional<std::int64_t> bytes;  ///< of the whole array
  std::optional<ElementType> element_type;
  std::optional<std::int64_t> blocks;  ///< of a rank's kernel: NCCL's channels
  std::optional<CollectiveAlgorithm> algorithm;
  std::optional<CollectiveProtocol> protocol;
  std::optional<std::int64_t> copies;  ///< of a rank between devices, where the copy engines do the call
  std::string communicator;
  std::int64_t steps = 0;  ///< in which it was found
  std::int64_t ranks = 0;  ///< of its calls, the fewest
  double duration_ns = 0;
  double hidden_ns = 0;   ///< kernels computed beside it
  double exposed_ns = 0;  ///< none did
  double wait_ns = 0;     ///< until the last rank had entered
  double transfer_ns = 0;
  double exposed_wait_ns = 0;
  double exposed_transfer_ns = 0;
  std::optional<double> wait_error_ns;  ///< how wrong a rank's wait can be, from the clocks' intervals
  WaitSource source = WaitSource::durations;
  std::optional<double> skew_ns;  ///< last arrival less the first; no clock: empty
  std::optional<double> algorithm_bytes_per_s;
  std::optional<double> bus_bytes_per_s;  ///< as nccl-tests define it
  /// Of what NVLink was measured to carry one way. Empty: it was not, or not all ranks are seen on one host.
  std::optional<double> link_ratio;
  CollectiveClass kind = CollectiveClass::not_known;
  std::int64_t last_rank = -1;  ///< which is last most often; -1: cannot be told
  double last_share = 0;        ///< of the steps
  /// What a device moved over its links while such a collective ran (equal communicator, function and bytes), mean over
  /// ranks and sampled steps.
  store::LinkBytes link_bytes;
  std::int64_t link_calls = 0;  ///< that those are of; 0: none was sampled
  /// Bytes sent over NVLink for each that the function has a rank send: its protocol, and whatever else was sent.
  std::optional<double> nvlink_ratio;
};

/// A rank, medians over steps.
struct RankCost {
  std::int64_t rank = 0;
  std::string host;
  double duration_ns = 0;
  double compute_ns = 0;
  double copy_ns = 0;
  double idle_ns = 0;
  double exposed_wait_ns = 0;
  double exposed_transfer_ns = 0;
  double own_ns = 0;       ///< compute, copies and nothing: what others may wait for
  double lateness_ns = 0;  ///< own time less that of the others
  std::optional<double> sm_clock_hz;
  std::optional<double> clock_error_ns;  ///< of its host's; empty: not aligned
  std::int64_t late_steps = 0;           ///< in which it is late enough to be named
  double late_ns = 0;                    ///< its lateness in those, median
  std::optional<LatenessCause> cause;    ///< of those steps; empty: there are none
  LatenessParts parts;                   ///< of those steps, means
  double last_share = 0;                 ///< of collectives in which it is the last to enter
  store::LinkBytes link_bytes;           ///< what its device moved over its links in a sampled step, mean
};

/// A step over all ranks.
struct JobStepCost {
  std::int64_t step_index = 0;
  double duration_ns = 0;  ///< median over ranks
  double exposed_ns = 0;   ///< means over ranks
  double exposed_wait_ns = 0;
  double exposed_transfer_ns = 0;
  std::int64_t slowest_rank = 0;  ///< with the longest own time
  double lateness_ns = 0;         ///< of that one
  bool late = false;              ///< enough to be named
  std::optional<LatenessCause> cause;
  std::vector<double> rank_lateness_ns;  ///< by place of the rank
};

/// Who the others wait for.
enum class Recurrence {
  nobody,      ///< in no step is a rank late enough to be named
  same_rank,   ///< one rank in most of the steps that have one
  rotating,    ///< several
  few_steps,   ///< in few steps only
  cannot_say,  ///< the ranks that are there do not tell
};

/// One row of the account; rows add up to the step.
enum class AccountPart {
  compute,
  copies,
  idle,
  exposed_wait,
  exposed_transfer,
  duration,  ///< the sum
};
struct AccountRow {
  AccountPart part = AccountPart::duration;
  double time_ns = 0;              ///< mean over ranks and steps
  std::optional<double> alone_ns;  ///< of the run of one rank alone
};
/// What a step of the job takes longer than one of a rank alone, by cause: adds up with AccountRow.
struct ScalingLoss {
  double alone_ns = 0;
  double job_ns = 0;
  double efficiency_ratio = 0;  ///< alone over job
  double exposed_wait_ns = 0;
  double exposed_transfer_ns = 0;
  LatenessParts parts;
};

/// A kernel over ranks: time in a step, median over steps.
struct KernelOverRanks {
  std::string kernel;
  double launches = 0;  ///< in a step, median over ranks
  double median_ns = 0;
  double best_ns = 0;
  double worst_ns = 0;
  std::int64_t worst_rank = 0;
  double spread_ratio = 0;  ///< of the middle 80 % of ranks, over the median
  std::int64_t ranks = 0;   ///< that launched it
};

/// Why it is not said what collectives cost the kernels beside them.
enum class InterferenceRefusal {
  none,
  not_kept,     ///< some rank was merged by a program that did not look
  none_beside,  ///< no kernel ran beside a collective
  no_controls,  ///< on some rank no launch of the same kinds ran beside none
  few_steps,    ///< too few for an interval
};

/// How much longer kernels beside collectives take than launches of the same kinds beside none, in a step. It is time:
/// cycles and clock are not told apart. The interval has the true cost with 95 %.
struct InterferenceCost {
  double beside_ns = 0;      ///< kernels ran so long beside collectives, mean over steps
  double controlled_ns = 0;  ///< of that, of launches with controls
  double cost_ns = 0;        ///< of those launches
  double low_ns = 0;
  double high_ns = 0;
  [[nodiscard]] bool shown() const { return low_ns > 0 || high_ns < 0; }
};

struct RankInterference {
  std::int64_t rank = 0;
  InterferenceCost cost;
};

/// Launches of a kernel beside a function's collectives, of all ranks and steps.
struct KernelInterference {
  std::string kernel;
  std::optional<CollectiveFunction> function;
  std::int64_t launches = 0;
  std::int64_t compared = 0;  ///< of these, with controls
  std::int64_t controls = 0;
  double beside_ns = 0;                ///< in a step of a rank, mean, as the next two
  double controlled_ns = 0;            ///< of that, of launches with controls
  std::optional<double> cost_ns;       ///< no launch has controls: empty
  std::optional<double> factor_ratio;  ///< time beside collectives over what the same work takes beside none
};

struct InterferenceOfJob {
  InterferenceRefusal refusal = InterferenceRefusal::none;
  InterferenceCost cost;                    ///< mean over ranks; only without a refusal, as `ranks`
  std::optional<double> factor_ratio;       ///< of all kernels together
  std::vector<RankInterference> ranks;      ///< by rank
  std::vector<KernelInterference> kernels;  ///< most time beside collectives first
};

struct JobAnalysis {
  std::vector<std::int64_t> ranks;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> missing;  ///< ranks without a capture
  std::int64_t hosts = 0;
  std::vector<std::int64_t> steps;  ///< that all ranks have
  std::vector<store::JobClock> clocks;
  /// Hosts of which nothing shows that their steps are those of the others with the same numbers.
  std::vector<std::string> joined_by_numbers;
  std::vector<CollectiveCost> collectives;
  std::vector<CallMismatch> mismatches;
  std::vector<RankCost> rank_costs;
  std::vector<JobStepCost> step_costs;
  std::vector<AccountRow> account;
  std::optional<ScalingLoss> loss;
  std::vector<KernelOverRanks> kernels;  ///< most time first
  InterferenceOfJob interference;
  double late_threshold_ns = 0;  ///< later than this is named
  Recurrence recurrence = Recurrence::nobody;
  std::int64_t straggler = -1;         ///< of Recurrence::same_rank
  std::optional<LatenessCause> cause;  ///< of most late steps
  std::int64_t late_steps = 0;
};

/// Whether no rank can leave before the last has entered.
[[nodiscard]] bool synchronises(std::optional<CollectiveFunction> function);
/// What the bus bandwidth is more than the algorithm's, as nccl-tests have it.
[[nodiscard]] double bus_factor(CollectiveFunction function, std::int64_t ranks);

/// `job` with its clocks aligned. `alone`: ranks_of() of a run of one rank, for the scaling loss. Failures: no_data
/// (one rank alone; no step that all ranks have), usage (`alone` has several ranks), corrupt.
[[nodiscard]] Result<JobAnalysis> analyse_job(const store::Job& job, const store::Job* alone = nullptr);

}  // namespace ridgeline::analyzer
