// narrow_access.cpp: kernels that move more than their data: lanes of a warp that read from different sectors, or more
// bytes than the program says are needed. Sets that would fit into L2 are l2_fit's.
#include "advice/gains.h"
#include "advice/rules/declared.h"

namespace ridgeline::analyzer {

namespace {

// A warp's load of 16 bytes a lane is 16 sectors of 32 bytes, of 8 bytes 8, of 4 bytes 4: more than 16 is too much
// whatever is loaded.
constexpr double kMaxSectors = 16, kUsualSectors = 8, kMinSectors = 4;
constexpr double kExcessSectors = 1.15;
constexpr double kBusyL2 = 0.5;  // L2: below, it does not hold the kernel up
constexpr std::string_view kSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr std::string_view kRequests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";

// Of each launch with both counters; false: none has them.
bool by_sectors(const RuleInput& in, const RankingRow& row, RuleAnswer& answer) {
  Proposal proposal{.subject = row.kernel};
  TimeMean each;
  bool known = false;
  for (const std::uint32_t position : row.launches) {
    const store::Id id = in.input.model.launches.row(in.input.utilisation.launches.row(position).launch).id;
    const auto sectors = in.input.model.metric(id, kSectors, Tier::t2);
    if (!sectors) continue;
    const auto requests = in.input.model.metric(id, kRequests, Tier::t2);
    if (!requests || *requests <= 0) continue;
    known = true;
    const LaunchView launch = in.launches.at(position);
    const double actual = *sectors / *requests;
    if (actual < kExcessSectors * kMaxSectors || launch.metric("l2_utilisation_ratio").value_or(0) < kBusyL2)
      continue;
    const auto time_ns = static_cast<double>(launch.duration_ns);
    each.add(actual, time_ns);
    proposal.add_launch(position,
                        {time_ns * (1 - kMaxSectors / actual), time_ns * (1 - kUsualSectors / actual),
                         time_ns * (1 - kMinSectors / actual)});
  }
  if (!proposal.parts.empty()) {
    proposal.say("time_ns", each.time_ns());
    proposal.say("sectors_a_request", each.value());
    answer.proposals.push_back(std::move(proposal));
  }
  return known;
}

}  // namespace

RuleAnswer judge_narrow_access(const RuleInput& in) {
  RuleAnswer answer;
  const RankingRow *unknown = nullptr, *uncounted = nullptr;
  const auto longer = [](const RankingRow& row, const RankingRow* than) {
    return than == nullptr || row.time_ns > than->time_ns;
  };
  for (const RankingRow& row : in.input.ranking.rows) {
    if (row.kernel_class == KernelClass::communication || row.bound == KernelBound::too_short) continue;
    if (by_sectors(in, row, answer)) continue;
    if (const auto excess = excess_of(in, row)) {
      if (!excess->fits_l2 && excess->ratio >= kMinExcess && excess->bound_by_memory)
        answer.proposals.push_back(excess_proposal(in, row, *excess));
      continue;
    }
    // A GEMM's loads are the library's.
    if (row.kernel_class == KernelClass::gemm || row.kernel_class == KernelClass::attention) continue;
    const bool may_be = row.bound == KernelBound::latency || row.bound_roof == Roof::kL2;
    if (may_be && longer(row, unknown)) unknown = &row;
    if (row.bound == KernelBound::unmeasured && longer(row, uncounted)) uncounted = &row;
  }
  if (unknown != nullptr)
    answer.cannot_say(AdviceNeed::sectors, unknown->kernel, static_cast<double>(unknown->time_ns));
  else if (uncounted != nullptr)
    answer.cannot_say(AdviceNeed::counters, uncounted->kernel, static_cast<double>(uncounted->time_ns));
  return answer;
}

}  // namespace ridgeline::analyzer
