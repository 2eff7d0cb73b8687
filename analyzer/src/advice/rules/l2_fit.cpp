// l2_fit.cpp: kernels that read from DRAM again what would have stayed in L2. The set is what a range declares.
#include "advice/gains.h"
#include "advice/rules/declared.h"

namespace ridgeline::analyzer {

RuleAnswer judge_l2_fit(const RuleInput& in) {
  RuleAnswer answer;
  bool declared = false;
  double memory_ns = 0, uncounted_ns = 0;
  for (const RankingRow& row : in.input.ranking.rows) {
    const auto excess = excess_of(in, row);
    if (row.bound == KernelBound::unmeasured && row.kernel_class != KernelClass::communication)
      uncounted_ns += static_cast<double>(row.time_ns);
    if (row.bound == KernelBound::memory && !excess) memory_ns += static_cast<double>(row.time_ns);
    if (!excess) continue;
    declared = true;
    if (excess->fits_l2 && excess->ratio >= kMinExcess && excess->bound_by_memory)
      answer.proposals.push_back(excess_proposal(in, row, *excess));
  }
  if (uncounted_ns > 0)
    answer.cannot_say(AdviceNeed::counters, {}, uncounted_ns);
  else if (!declared && memory_ns > 0)
    answer.cannot_say(AdviceNeed::declared_work, {}, memory_ns);
  return answer;
}

}  // namespace ridgeline::analyzer
