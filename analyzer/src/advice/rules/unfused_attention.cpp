// unfused_attention.cpp: a GEMM, a softmax and a GEMM, with a matrix of T × T elements written and read between
// them. One kernel keeps it on the chip.
#include <array>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::size_t kAttentionReach = 4;  // launches between the softmax and the GEMMs
// Of the tensor pipe's peak, that fused attention reaches; head sizes of 64 to 128.
constexpr double kFusedLow = 0.35, kFusedMid = 0.45, kFusedHigh = 0.60;
// Of the GEMMs, where their operations are not counted: they write and read the matrix.
constexpr double kGemmsMid = 0.3, kGemmsHigh = 0.6;
// Of what lies between: it is not needed at all.
constexpr double kBetweenLow = 0.7, kBetweenMid = 0.9;

bool may_lie_between(const LaunchView& launch) {
  return launch.kernel_class == KernelClass::elementwise || launch.kernel_class == KernelClass::copy ||
         launch.kernel_class == KernelClass::other || launch.is(LaunchTraits::kSoftmax);
}

AdviceGain gemm_gain(const RuleInput& in, const LaunchView& gemm, bool& counted) {
  const auto time_ns = static_cast<double>(gemm.duration_ns);
  const auto& ops = gemm.values().tensor_ops;
  const auto& quantity = gemm.values().tensor_quantity;
  const auto peak = quantity ? advice_peak(in.input, gemm.site->device_id, *quantity) : std::nullopt;
  if (!ops || !peak || ops->value <= 0) {
    counted = false;
    return {0, kGemmsMid * time_ns, kGemmsHigh * time_ns};
  }
  const auto saved = [&](double efficiency) {
    return std::max(time_ns - ops->value / (efficiency * *peak) * 1e9, 0.0);
  };
  return {saved(kFusedLow), saved(kFusedMid), saved(kFusedHigh)};
}

// Of by_stream(): the GEMM before and the one after; 0 and 0: there are none.
std::pair<std::size_t, std::size_t> gemms_around(const RuleInput& in, std::size_t softmax) {
  const auto& order = in.launches.by_stream();
  const auto search = [&](int direction) -> std::size_t {
    std::size_t i = softmax;
    for (std::size_t n = 0; n < kAttentionReach; ++n) {
      if ((direction < 0 && i == 0) || (direction > 0 && i + 1 == order.size())) return softmax;
      const std::size_t next = direction < 0 ? i - 1 : i + 1;
      if (!in.launches.same_stream(order[i], order[next])) return softmax;
      const LaunchView launch = in.launches.at(order[next]);
      if (launch.is(LaunchTraits::kGemm)) return next;
      if (!may_lie_between(launch)) return softmax;
      i = next;
    }
    return softmax;
  };
  return {search(-1), search(1)};
}

}  // namespace

RuleAnswer judge_unfused_attention(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.basis = AdviceBasis::modelled, .power = PowerEffect::less_work};
  double softmax_ns = 0, between_ns = 0, gemms_ns = 0;
  bool counted = true;
  const auto& order = in.launches.by_stream();
  std::size_t last_gemm = 0;  // of by_stream(): a GEMM between two softmaxes counts once
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LaunchTraits& softmax = in.launches.traits(order[i]);
    if (!softmax.is(LaunchTraits::kSoftmax)) continue;
    const auto [before, behind] = gemms_around(in, i);
    if (before == i || behind == i) continue;
    if (proposal.subject.empty()) proposal.subject = softmax.kernel;
    for (std::size_t k = before; k <= behind; ++k) {
      const LaunchView launch = in.launches.at(order[k]);
      const auto time_ns = static_cast<double>(launch.duration_ns);
      if (k == before || k == behind) {
        if (k == last_gemm && last_gemm != 0) continue;
        last_gemm = k;
        proposal.add_launch(order[k], gemm_gain(in, launch, counted));
        gemms_ns += time_ns;
      } else {
        proposal.add_launch(order[k], gain_of(time_ns, kBetweenLow, kBetweenMid));
        (k == i ? softmax_ns : between_ns) += time_ns;
      }
    }
  }
  if (proposal.parts.empty()) return answer;
  if (!counted) proposal.basis = AdviceBasis::estimated;
  proposal.say("softmax_ns", softmax_ns);
  if (between_ns > 0) proposal.say("between_ns", between_ns);
  proposal.say("gemms_ns", gemms_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
