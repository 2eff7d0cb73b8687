/// job_replay.h: the steps of all ranks as what each does by itself and what it waits for, and their simulation.
///
/// A rank's own time is its clock with the waits for collectives taken out. On it a collective has a place
/// from which it may begin (what it carries is ready) and, if the next kernel waits for it, a place at which
/// the rank stops. The rest follows: a collective begins when it is ready and the one before it on its
/// communicator has ended, is transferred once the last rank is in it, and ends on all ranks together. No two
/// clocks are compared: ranks that wait for each other fall into step by themselves.
///
/// Kernels and collectives slow each other down. Own time is what it would be beside no collective: while one is in
/// flight a rank's own time goes on at less than its pace. A collective's time is what it takes beside no kernel: while
/// some rank of it is not stopped it is transferred at less than its pace.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ranks/collective_costs.h"
#include "ranks/job_view.h"
#include "ranks/matching.h"

namespace ridgeline::analyzer::ranks {

struct ReplayedCall {
  struct OfRank {
    bool there = false;
    bool ready_known = false;
    /// Kernels ran beside it for this share of the time in which the rank was not stopped for it; below 0: it was from
    /// the beginning.
    float beside_ratio = -1;
    double ready = 0;             ///< own time
    double after_ready_ns = 0;    ///< from there to its start, if the communicator is free
    double after_queue_ns = 0;    ///< from the end of the one before it, if it is ready
    double alone_ns = 0;          ///< its duration, where ranks need not wait for each other
    std::optional<double> stops;  ///< own time at which the rank waits for its end
    /// Own time of its end, if kernels ran beside it to there and none shows that it is not waited for: the earliest
    /// place at which the rank would wait if it took longer.
    std::optional<double> may_stop;
  };
  std::size_t group = 0;  ///< communicator: one runs after the other
  store::Id communicator_id = 0;
  std::optional<CollectiveFunction> function;
  std::optional<std::int64_t> bytes;
  bool all_wait = false;
  double transfer_ns = 0;
  double lost = 0;          ///< share of its pace while a rank is not stopped
  double beside_ns = 0;     ///< of transfer_ns as it was recorded, kernels ran beside it
  double beside_ratio = 1;  ///< of the rank whose duration transfer_ns is
  double unwaited_ns = 0;   ///< it is in flight for so long after its end, which nothing waits for
  bool recut = false;       ///< a bucket that was not recorded
  std::vector<OfRank> ranks;
};

struct ReplayedStep {
  std::size_t place = 0;            ///< in JobView::steps()
  std::vector<ReplayedCall> calls;  ///< in the order in which they begin
  std::vector<double> begin, end;   ///< own time, by rank
};

/// Steps that follow each other. Own times of a rank go on from step to step.
struct StepChain {
  std::vector<ReplayedStep> steps;
  std::size_t groups = 0;
  std::vector<double> lost;  ///< by rank: share of its pace while kernels run beside a collective
};

struct SimulatedStep {
  std::size_t place = 0;
  double duration_ns = 0;      ///< median over ranks
  double exposed_wait_ns = 0;  ///< means over ranks
  double exposed_transfer_ns = 0;
  double max_wait_ns = 0;  ///< of the rank that has most
  double max_transfer_ns = 0;
};

/// `lost`: StepChain::lost. Collectives have their recorded times.
[[nodiscard]] std::vector<StepChain> recorded_chains(const JobView& view, const Matching& matching,
                                                     const CollectiveCosts& costs,
                                                     const std::vector<double>& lost);

/// One a step. The first of a chain begins on all ranks together, whatever it was.
[[nodiscard]] std::vector<SimulatedStep> simulated(const StepChain& chain);
/// The same of steps that are made when their turn comes: of a thousand ranks a chain is large, and a step of
/// it is not. `step_at(i)` is asked for one after the other, from 0 to the chain's last; what it returns must
/// live until the next.
[[nodiscard]] std::vector<SimulatedStep> simulated(
    const StepChain& chain, const std::function<const ReplayedStep&(std::size_t)>& step_at);

/// The own times with which every rank's own part of a step is the median of the ranks.
class EvenTimes {
 public:
  /// Refers to the chain as it was recorded.
  explicit EvenTimes(const StepChain& chain);
  /// `step` is the chain's i-th.
  void apply(std::size_t i, ReplayedStep& step) const;

 private:
  [[nodiscard]] double moved(std::size_t rank, double own) const;

  const StepChain& chain_;
  std::vector<double> lengths_;  // of each step, on every rank
  std::vector<double> begins_;
};

}  // namespace ridgeline::analyzer::ranks
