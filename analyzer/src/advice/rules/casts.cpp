// casts.cpp: conversions in front of GEMMs, and conversions that undo each other.
#include <set>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kCastsOfGemms = 0.10;
constexpr std::size_t kCastAhead = 3;  // launches between a cast and the GEMM it feeds
constexpr double kCastLow = 0.4, kCastMid = 0.8;

}  // namespace

RuleAnswer judge_casts(const RuleInput& in) {
  RuleAnswer answer;
  Proposal proposal{.basis = AdviceBasis::modelled, .power = PowerEffect::less_work};
  std::set<std::uint32_t> fed, pairs;
  double casts_ns = 0, gemms_ns = 0, pairs_ns = 0;
  const auto& order = in.launches.by_stream();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!in.launches.is(order[i], LaunchTraits::kCast)) continue;
    const LaunchView cast = in.launches.at(order[i]);
    const auto time_ns = static_cast<double>(cast.duration_ns);
    for (std::size_t next = i + 1; next < order.size() && next <= i + kCastAhead; ++next) {
      if (!in.launches.same_stream(order[i], order[next])) break;
      const LaunchView behind = in.launches.at(order[next]);
      if (next == i + 1 && behind.is(LaunchTraits::kCast) && behind.site->kernel_id != cast.site->kernel_id &&
          behind.site->grid == cast.site->grid) {
        pairs.insert({order[i], order[next]});
      }
      if (!behind.is(LaunchTraits::kGemm)) continue;
      casts_ns += time_ns;
      if (fed.insert(order[next]).second) gemms_ns += static_cast<double>(behind.duration_ns);
      if (proposal.subject.empty()) proposal.subject = cast.kernel;
      proposal.add_launch(order[i], gain_of(time_ns, kCastLow, kCastMid));
      break;
    }
  }
  if (casts_ns > kCastsOfGemms * gemms_ns) {
    proposal.say("casts_ns", casts_ns);
    proposal.say("gemms_ns", gemms_ns);
    answer.proposals.push_back(std::move(proposal));
  } else if (casts_ns > 0) {
    answer.nearest = {{"casts_to_gemms_ratio", casts_ns / std::max(gemms_ns, 1.0), {}, {}}};
  }
  Proposal undone{.basis = AdviceBasis::estimated, .power = PowerEffect::less_work};
  for (const std::uint32_t position : pairs) {
    const LaunchView cast = in.launches.at(position);
    pairs_ns += static_cast<double>(cast.duration_ns);
    if (undone.subject.empty()) undone.subject = cast.kernel;
    undone.add_launch(position, gain_of(static_cast<double>(cast.duration_ns), kCastLow, kCastMid));
  }
  if (!undone.parts.empty()) {
    undone.say("pairs_ns", pairs_ns);
    answer.proposals.push_back(std::move(undone));
  }
  return answer;
}

}  // namespace ridgeline::analyzer
