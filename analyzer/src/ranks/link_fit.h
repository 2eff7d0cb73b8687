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
class LinkFits {
 public:
  LinkFits(const JobView& view, const std::vector<StepChain>& chains);

  [[nodiscard]] std::optional<double> time_ns(const ReplayedCall& call, double bytes) const;
  /// What of the call's time does not shrink with faster links.
  [[nodiscard]] double latency_ns(const ReplayedCall& call) const;
  [[nodiscard]] std::vector<LinkFit> all() const;

 private:
  using Key = std::pair<store::Id, CollectiveFunction>;
  [[nodiscard]] const LinkFit* find(const ReplayedCall& call) const;
  std::map<Key, LinkFit> fits_;
};

}  // namespace ridgeline::analyzer::ranks
