// fp32_gemm.cpp: GEMMs of FP32 on the FMA pipe. TF32 or BF16 does them on the tensor pipe, with other numerics.
#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

// Of the pipe: a GEMM that uses it is at more. 1 to 2 % are counted in kernels of cuDNN that have no operation of it.
constexpr double kNoTensor = 0.05;
constexpr double kMinFma = 0.1, kFmaOverTensor = 4;
// Of the TF32 peak, that GEMMs reach in a running step.
constexpr double kTf32Low = 0.35, kTf32Mid = 0.55, kTf32High = 0.72;
// Of the FP32 peak, where nothing is counted.
constexpr double kFp32Usual = 0.75;
constexpr double kDramReached = 0.85;

// FLOPs of a launch by what its FMA pipe did; empty: not measured.
std::optional<double> flops_of(const RuleInput& in, const LaunchView& launch, bool& measured) {
  const auto peak = advice_peak(in.input, launch.site->device_id, Quantity::fp32_flops_per_s);
  if (!peak) return std::nullopt;
  const auto fma = launch.roof(Roof::kFma);
  measured = measured && fma.has_value();
  return fma.value_or(kFp32Usual) * *peak * static_cast<double>(launch.duration_ns) * 1e-9;
}

bool is_fp32_gemm(const LaunchView& launch) {
  if (!launch.is(LaunchTraits::kGemm)) return false;
  if (const auto tensor = launch.roof(Roof::kTensor)) {
    const auto fp64 = launch.roof(Roof::kFp64);
    const double fma = launch.roof(Roof::kFma).value_or(0);
    return *tensor < kNoTensor && fma > std::max(kMinFma, kFmaOverTensor * *tensor) && fp64.value_or(0) < 0.1;
  }
  return launch.is(LaunchTraits::kFp32Name);
}

}  // namespace

RuleAnswer judge_fp32_gemm(const RuleInput& in) {
  RuleAnswer answer;
  for (const RankingRow& row : in.input.ranking.rows) {
    if (row.kernel_class != KernelClass::gemm) continue;
    Proposal proposal{.basis = AdviceBasis::modelled, .subject = row.kernel, .power = PowerEffect::less_work};
    double time_ns = 0, flops = 0;
    bool measured = true, unknown = false;
    for (const std::uint32_t position : row.launches) {
      const LaunchView launch = in.launches.at(position);
      if (launch.verdict->status == LaunchStatus::too_short || !is_fp32_gemm(launch)) continue;
      const auto tf32 = advice_peak(in.input, launch.site->device_id, Quantity::tf32_flops_per_s);
      const auto work = flops_of(in, launch, measured);
      if (!tf32 || !work) {
        unknown = true;
        continue;
      }
      const auto dram = advice_peak(in.input, launch.site->device_id, Quantity::dram_bytes_per_s);
      const auto now_ns = static_cast<double>(launch.duration_ns);
      const double bytes_ns =
          dram && launch.dram_bytes() ? *launch.dram_bytes() / (kDramReached * *dram) * 1e9 : 0;
      const auto saved = [&](double efficiency) {
        return std::max(now_ns - std::max(*work / (efficiency * *tf32) * 1e9, bytes_ns), 0.0);
      };
      time_ns += now_ns;
      flops += *work;
      proposal.add_launch(position, {saved(kTf32Low), saved(kTf32Mid), saved(kTf32High)});
    }
    if (unknown) answer.cannot_say(AdviceNeed::device_facts, row.kernel, static_cast<double>(row.time_ns));
    if (proposal.parts.empty()) continue;
    if (!measured) proposal.basis = AdviceBasis::estimated;
    proposal.say("time_ns", time_ns);
    proposal.say("flops", flops);
    answer.proposals.push_back(std::move(proposal));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
