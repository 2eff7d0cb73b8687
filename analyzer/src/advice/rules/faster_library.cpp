// faster_library.cpp: GEMMs of the same size, type and epilogue that take different times in one step: the faster
// kernel was measured in place, at the clock of the step.
#include <map>
#include <tuple>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kSlower = 1.15;
constexpr double kFasterLow = 0.5, kFasterMid = 0.9;
constexpr double kShareUnknown = 0.01;  // of the step: GEMMs of less are not worth a word

// What of the name says that a kernel does more than the GEMM, or has its operands another way round.
std::string epilogue_of(const LaunchView& launch) {
  std::string marks;
  for (const char* mark : {"bias", "gelu", "relu", "aux", "splitk"}) {
    if (names_one_of(launch.kernel, {mark})) marks += std::string(mark) + " ";
  }
  const std::string_view name = launch.kernel;
  const std::size_t at = name.rfind('_');
  // nvjet writes the layout last: "_TNT".
  return name.starts_with("nvjet_") && at != std::string_view::npos ? marks + std::string(name.substr(at))
                                                                    : marks;
}

struct SameGemm {
  std::int64_t m = 0, n = 0, k = 0;
  Precision precision = Precision::any;
  std::string epilogue;
  friend auto operator<=>(const SameGemm&, const SameGemm&) = default;
};

struct GemmKernels {
  std::map<store::Id, std::pair<double, std::vector<std::uint32_t>>> times;  // Σ ns, launches
};

double mean_time_ns(const std::pair<double, std::vector<std::uint32_t>>& times) {
  return times.first / static_cast<double>(std::max<std::size_t>(times.second.size(), 1));
}

void compare_kernels(const RuleInput& in, const GemmKernels& kernels, RuleAnswer& answer) {
  const auto fastest = std::min_element(
      kernels.times.begin(), kernels.times.end(),
      [](const auto& a, const auto& b) { return mean_time_ns(a.second) < mean_time_ns(b.second); });
  for (const auto& [kernel, times] : kernels.times) {
    const double slow_ns = mean_time_ns(times), fast_ns = mean_time_ns(fastest->second);
    if (fast_ns <= 0 || slow_ns < kSlower * fast_ns) continue;
    Proposal proposal{.subject = std::string(in.launches.at(times.second.front()).kernel)};
    for (const std::uint32_t position : times.second) {
      const auto time_ns = static_cast<double>(in.launches.at(position).duration_ns);
      proposal.add_launch(position, gain_of(std::max(time_ns - fast_ns, 0.0), kFasterLow, kFasterMid));
    }
    proposal.say("each_ns", slow_ns);
    proposal.say("fastest_ns", fast_ns);
    answer.proposals.push_back(std::move(proposal));
  }
}

}  // namespace

RuleAnswer judge_faster_library(const RuleInput& in) {
  RuleAnswer answer;
  std::map<SameGemm, GemmKernels> gemms;
  double alone_ns = 0;
  for (const RankingRow& row : in.input.ranking.rows) {
    if (row.kernel_class != KernelClass::gemm) continue;
    for (const std::uint32_t position : row.launches) {
      const LaunchView launch = in.launches.at(position);
      if (launch.verdict->status == LaunchStatus::too_short || !launch.is(LaunchTraits::kGemm)) continue;
      // What a program's own kernel does beside the GEMM nobody can say.
      if (!launch.is(LaunchTraits::kLibrary)) continue;
      const auto time_ns = static_cast<double>(launch.duration_ns);
      const auto work = in.input.declared == nullptr ? std::nullopt : in.input.declared->of({&position, 1});
      // A range of several launches does not say which of them is the GEMM.
      if (!work || !work->gemm || work->gemms != 1 || work->launches != work->ranges) {
        alone_ns += time_ns;
        continue;
      }
      const GemmShape& p = *work->gemm;
      auto& times =
          gemms[{p.m, p.n, p.k, precision_of(launch), epilogue_of(launch)}].times[launch.site->kernel_id];
      times.first += time_ns;
      times.second.push_back(position);
    }
  }
  for (const auto& [same, kernels] : gemms) {
    if (kernels.times.size() > 1) {
      compare_kernels(in, kernels, answer);
      continue;
    }
    alone_ns += kernels.times.begin()->second.first;
  }
  if (alone_ns > kShareUnknown * static_cast<double>(in.input.accounting.step_ns))
    answer.cannot_say(AdviceNeed::ceilings, {}, alone_ns);
  return answer;
}

}  // namespace ridgeline::analyzer
