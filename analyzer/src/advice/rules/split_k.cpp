// split_k.cpp: GEMMs whose sum is split over blocks, where adding the parts takes long.
#include <map>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kReduceOfGemm = 0.20;
constexpr double kSplitLow = 0.3, kSplitMid = 0.7;

}  // namespace

RuleAnswer judge_split_k(const RuleInput& in) {
  RuleAnswer answer;
  struct Sum {
    Proposal proposal;
    double reduce_ns = 0, gemm_ns = 0;
  };
  std::map<store::Id, Sum> by_gemm;
  const auto& order = in.launches.by_stream();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!in.launches.is(order[i - 1], LaunchTraits::kGemm)) continue;
    if (!in.launches.is(order[i], LaunchTraits::kSplitSum)) continue;
    if (!in.launches.same_stream(order[i - 1], order[i])) continue;
    const LaunchView gemm = in.launches.at(order[i - 1]), reduce = in.launches.at(order[i]);
    Sum& sum = by_gemm[gemm.site->kernel_id];
    sum.proposal.subject = gemm.kernel;
    sum.reduce_ns += static_cast<double>(reduce.duration_ns);
    sum.gemm_ns += static_cast<double>(gemm.duration_ns);
    sum.proposal.add_launch(reduce.position,
                            gain_of(static_cast<double>(reduce.duration_ns), kSplitLow, kSplitMid));
  }
  double nearest = 0;
  for (auto& [kernel, sum] : by_gemm) {
    const double ratio = sum.reduce_ns / std::max(sum.gemm_ns, 1.0);
    nearest = std::max(nearest, ratio);
    if (ratio < kReduceOfGemm) continue;
    sum.proposal.power = PowerEffect::less_work;
    sum.proposal.basis = AdviceBasis::modelled;
    sum.proposal.say("reduce_ns", sum.reduce_ns);
    sum.proposal.say("gemms_ns", sum.gemm_ns);
    answer.proposals.push_back(std::move(sum.proposal));
  }
  if (nearest > 0) answer.nearest = {{"reduce_to_gemm_ratio", nearest, {}, {}}};
  return answer;
}

}  // namespace ridgeline::analyzer
