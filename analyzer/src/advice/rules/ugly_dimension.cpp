// ugly_dimension.cpp: GEMMs whose rows do not begin at multiples of 16 bytes, so that loads are narrow, and whose pipe
// is idle for it: held against the best GEMM of the same type in the step.
#include <map>

#include "advice/gains.h"
#include "values/value_bytes.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kWideLoadBytes = 16;
constexpr double kOfNeighbours = 0.6;
constexpr double kUsualPipe = 0.65;   // where no other GEMM is of the type
constexpr std::int64_t kPad = 64;     // elements
constexpr double kPadUnknown = 1.02;  // the GEMM after padding, where its size is not known
constexpr double kUglyLow = 0.5, kUglyMid = 0.85;

std::int64_t padded_size(std::int64_t size) {
  return (size + kPad - 1) / kPad * kPad;
}

struct Dimension {
  bool ugly = false;
  double growth = kPadUnknown;  // of the GEMM by padding
  std::optional<GemmShape> gemm;
  std::optional<std::int64_t> alignment;
};

Dimension dimension_of(const RuleInput& in, const LaunchView& launch, Precision precision) {
  Dimension result;
  const double each = value_bytes(precision);
  result.alignment = alignment_in_name(launch.kernel);
  if (each <= 0) return result;
  if (result.alignment && static_cast<double>(*result.alignment) * each < kWideLoadBytes) result.ugly = true;
  if (in.input.declared == nullptr) return result;
  const std::uint32_t position = launch.position;
  const auto work = in.input.declared->of({&position, 1});
  if (!work || !work->gemm || work->gemms != 1) return result;
  result.gemm = work->gemm;
  const auto bytes = static_cast<std::int64_t>(each);
  const GemmShape& p = *work->gemm;
  if ((p.k * bytes) % kWideLoadBytes != 0 || (p.n * bytes) % kWideLoadBytes != 0 ||
      (p.m * bytes) % kWideLoadBytes != 0)
    result.ugly = true;
  const auto volume = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  };
  if (volume(p.m, p.n, p.k) > 0)
    result.growth = volume(padded_size(p.m), padded_size(p.n), padded_size(p.k)) / volume(p.m, p.n, p.k);
  return result;
}

// The best use of the tensor pipe by a GEMM of each type that is a good part of them.
std::map<Precision, double> best_pipes(const RuleInput& in) {
  std::map<Precision, double> best;
  for (const RankingRow& row : in.input.ranking.rows) {
    if (row.kernel_class != KernelClass::gemm || row.launches.empty()) continue;
    const LaunchView launch = in.launches.at(row.launches.front());
    if (!launch.is(LaunchTraits::kGemm)) continue;
    if (const auto pipe = row.roofs.of(Roof::kTensor)) {
      double& known = best[precision_of(launch)];
      known = std::max(known, *pipe);
    }
  }
  return best;
}

// The GEMM's dimensions, and what the ugly ones become.
void say_dimensions(Proposal& proposal, const GemmShape& gemm, std::int64_t bytes_each) {
  const struct {
    const char *name, *padded;
    std::int64_t size;
  } dimensions[] = {{"m", "m_padded", gemm.m}, {"n", "n_padded", gemm.n}, {"k", "k_padded", gemm.k}};
  for (const auto& dimension : dimensions) {
    proposal.say(dimension.name, static_cast<double>(dimension.size));
    if ((dimension.size * bytes_each) % kWideLoadBytes != 0)
      proposal.say(dimension.padded, static_cast<double>(padded_size(dimension.size)));
  }
}

}  // namespace

RuleAnswer judge_ugly_dimension(const RuleInput& in) {
  RuleAnswer answer;
  const std::map<Precision, double> best = best_pipes(in);
  for (const RankingRow& row : in.input.ranking.rows) {
    if (row.kernel_class != KernelClass::gemm) continue;
    Proposal proposal{.basis = AdviceBasis::modelled, .subject = row.kernel};
    TimeMean pipe, alignment;
    double unknown_ns = 0, reference = kUsualPipe;
    std::optional<GemmShape> gemm;
    std::int64_t bytes_each = 0;
    for (const std::uint32_t position : row.launches) {
      const LaunchView launch = in.launches.at(position);
      if (launch.verdict->status == LaunchStatus::too_short || !launch.is(LaunchTraits::kGemm)) continue;
      const Precision precision = precision_of(launch);
      // No tensor pipe works on FP32: its kernels load single elements whatever the dimensions are.
      if (precision == Precision::fp32) continue;
      const Dimension dimension = dimension_of(in, launch, precision);
      if (!dimension.ugly) continue;
      const auto time_ns = static_cast<double>(launch.duration_ns);
      const auto used = launch.roof(Roof::kTensor);
      if (!used) {
        unknown_ns += time_ns;
        continue;
      }
      const auto known = best.find(precision);
      reference = std::max(known == best.end() ? 0 : known->second, kUsualPipe);
      if (*used > kOfNeighbours * reference) continue;
      pipe.add(*used, time_ns);
      if (dimension.alignment) alignment.add(static_cast<double>(*dimension.alignment), time_ns);
      gemm = dimension.gemm;
      bytes_each = static_cast<std::int64_t>(value_bytes(precision));
      proposal.add_launch(
          position,
          gain_of(std::max(time_ns * (1 - *used / reference * dimension.growth), 0.0), kUglyLow, kUglyMid));
    }
    if (unknown_ns > 0) answer.cannot_say(AdviceNeed::counters, row.kernel, unknown_ns);
    if (proposal.parts.empty()) continue;
    proposal.say("time_ns", pipe.time_ns());
    proposal.say("tensor_pipe_ratio", pipe.value());
    proposal.say("reference_pipe_ratio", reference);
    if (alignment.time_ns() > 0) proposal.say("alignment_elements", alignment.value());
    if (gemm) say_dimensions(proposal, *gemm, bytes_each);
    answer.proposals.push_back(std::move(proposal));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
