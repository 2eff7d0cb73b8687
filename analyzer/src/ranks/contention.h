/// contention.h: how much slower a rank's own work goes on while a collective runs beside it, as the replay of a job
/// has it. How much slower collectives are beside kernels is in link_fit.h.
#pragma once

#include <vector>

#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_what_if.h"

namespace ridgeline::analyzer::ranks {

struct Contention {
  KernelContention said;
  /// By rank: of its pace it loses this share, 0..kMaxLost, while its kernels run beside a collective.
  std::vector<double> lost;
};

/// Of a pace; more is not believed.
inline constexpr double kMaxLost = 0.8;

/// By the launches of the same kinds that ran beside none (interference_cost.h). Time beside collectives without such
/// launches is taken to be as slow as that with them. A cost that is not apart from nothing is none.
[[nodiscard]] Contention contention_of(const JobView& view);
/// Kernels and collectives as fast as they were recorded.
[[nodiscard]] Contention no_contention(const JobView& view);

}  // namespace ridgeline::analyzer::ranks
