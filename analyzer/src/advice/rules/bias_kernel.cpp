// bias_kernel.cpp: a kernel after a GEMM that adds a row to each row of its result. Libraries do it in the epilogue.
#include <map>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kBiasLow = 0.7, kBiasMid = 0.9;
// A sum of two tensors reads twice what it writes, a tensor plus a row about as much.
constexpr double kBiasMostRead = 1.3;
constexpr double kBiasDram = 0.4;  // of the peak: below, bytes are those of caches

bool adds_bias(const LaunchView& launch) {
  if (launch.is(LaunchTraits::kBias)) return true;
  if (!launch.is(LaunchTraits::kAdd)) return false;
  const auto read = launch.metric("dram_read_bytes"), write = launch.metric("dram_write_bytes");
  const auto& dram = launch.values().dram_utilisation;
  return read && write && *write > 0 && *read > 0 && *read / *write < kBiasMostRead && dram &&
         dram->value > kBiasDram;
}

}  // namespace

RuleAnswer judge_bias_kernel(const RuleInput& in) {
  RuleAnswer answer;
  std::map<store::Id, Proposal> by_kernel;
  std::map<store::Id, std::pair<double, double>> times;  // of the kernel, of the GEMMs before it
  const auto& order = in.launches.by_stream();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!in.launches.is(order[i - 1], LaunchTraits::kGemm)) continue;
    if (!in.launches.same_stream(order[i - 1], order[i])) continue;
    const LaunchView gemm = in.launches.at(order[i - 1]), bias = in.launches.at(order[i]);
    if (!adds_bias(bias)) continue;
    if (precision_of(gemm) == Precision::fp64) continue;  // no epilogue of the libraries adds one
    Proposal& proposal = by_kernel[bias.site->kernel_id];
    proposal.subject = bias.kernel;
    proposal.power = PowerEffect::less_work;
    proposal.add_launch(bias.position, gain_of(static_cast<double>(bias.duration_ns), kBiasLow, kBiasMid));
    times[bias.site->kernel_id].first += static_cast<double>(bias.duration_ns);
    times[bias.site->kernel_id].second += static_cast<double>(gemm.duration_ns);
  }
  for (auto& [kernel, proposal] : by_kernel) {
    proposal.say("time_ns", times[kernel].first);
    proposal.say("gemms_ns", times[kernel].second);
    answer.proposals.push_back(std::move(proposal));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
