/// link_fit.h: how long a collective of any size would take, by those that were recorded.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ranks/job_replay.h"
#include "ridgeline/analyzer/ranks/job_what_if.h"

namespace ridgeline::analyzer::ranks {

/// latency + bytes / rate for each communicator and function, by least squares of the relative errors of the sizes'
/// medians. With one size, or sizes less than four times apart, the latency is assumed.
///
/// Those that ran beside kernels take longer. If some of them ran alone and a size of these is near theirs, latency and
/// rate are of those alone, and what the others took longer is the cost of the kernels beside them, as a share of the
/// time that kernels ran beside them: its median over places and sizes, if nine of ten have a cost.
class LinkFits {
 public:
  /// `contention`: whether those beside kernels are looked at apart.
  LinkFits(const JobView& view, const std::vector<StepChain>& chains, bool contention);

  /// Takes what kernels cost them out of the chains' collectives, of which they were built.
  void take_out_kernels(std::vector<StepChain>& chains) const;
  [[nodiscard]] bool any_slowed() const;

  [[nodiscard]] std::optional<double> time_ns(const ReplayedCall& call, double bytes) const;
  /// What of the call's time does not shrink with faster links.
  [[nodiscard]] double latency_ns(const ReplayedCall& call) const;
  [[nodiscard]] std::vector<LinkFit> all() const;

 private:
  using Key = std::pair<store::Id, CollectiveFunction>;
  struct Fit {
    LinkFit said;
    double lost = 0;  // of its pace, while kernels run beside it
  };
  [[nodiscard]] const Fit* find(const ReplayedCall& call) const;
  std::map<Key, Fit> fits_;
};

}  // namespace ridgeline::analyzer::ranks
