// fp32_gemm.cpp: GEMMs of FP32 on the FMA pipe. TF32 or BF16 does them on the tensor pipe, with other numerics.
#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

// Of the pipe: a GEMM that uses it is at more. 1 to 2 % are counted in kernels of cuDNN that have no operation of it.
constexpr double kNoTensor = 0.05;
constexpr double kMinFma = 0.1, kFmaOverTensor = 4;
// Of the FP32 peak, where nothing is counted.
constexpr double kFp32Usual = 0.75;

// What a GEMM in TF32 reaches in a running step, of the peak of the tensor pipe and of the DRAM's.
struct Reach {
  double tf32, dram;
};
struct Reaches {
  Reach low, mid, high;
};
// A library has another kernel for TF32, with tiles of its own.
constexpr Reaches kLibraryReaches = {{0.35, 0.85}, {0.55, 0.85}, {0.72, 0.85}};
// A program's own kernel keeps its tiles and the order of its blocks, which may be what holds it then: one in Triton
// with tiles of 64 x 64 came to 10 % of the tensor pipe and 47 % of the DRAM (docs/results/decisions.md), tuned ones
// come as far as a library's.
constexpr Reaches kOwnReaches = {{0.10, 0.5}, {0.35, 0.6}, {0.72, 0.85}};

// FLOPs of a launch by what its FMA pipe did; empty: not measured.
std::optional<double> gemm_flops(const RuleInput& in, const LaunchView& launch, bool& measured) {
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
      const auto work = gemm_flops(in, launch, measured);
      if (!tf32 || !work) {
        unknown = true;
        continue;
      }
      const auto dram = advice_peak(in.input, launch.site->device_id, Quantity::dram_bytes_per_s);
      const auto now_ns = static_cast<double>(launch.duration_ns);
      const auto saved = [&](const Reach& reach) {
        const double bytes_ns =
            dram && launch.dram_bytes() ? *launch.dram_bytes() / (reach.dram * *dram) * 1e9 : 0;
        return std::max(now_ns - std::max(*work / (reach.tf32 * *tf32) * 1e9, bytes_ns), 0.0);
      };
      const Reaches& reaches = launch.is(LaunchTraits::kLibrary) ? kLibraryReaches : kOwnReaches;
      time_ns += now_ns;
      flops += *work;
      proposal.add_launch(position, {saved(reaches.low), saved(reaches.mid), saved(reaches.high)});
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
