// fold_elementwise.cpp: elementwise kernels that follow each other on a stream, where the second reads from DRAM about
// what the first wrote there. That it is the same data is concluded from order and size, so that the gain is an
// estimate.
#include <cmath>
#include <map>

#include "advice/gains.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kFoldAlike = 0.10;  // sizes written
constexpr double kReadsIt = 0.5;     // of what was written: less comes out of L2, and nothing is saved there
constexpr double kFoldDram = 0.40;   // of DRAM, both
constexpr double kWriteStays = 0.5;  // likely: half of what is written has a second reader

struct FoldTraffic {
  double read_bytes = 0, write_bytes = 0;
};

std::optional<FoldTraffic> fold_traffic(const LaunchView& launch) {
  const auto read = launch.metric("dram_read_bytes"), write = launch.metric("dram_write_bytes");
  if (!read || !write) return std::nullopt;
  return FoldTraffic{*read, *write};
}

struct FoldPair {
  Proposal proposal;
  double written_bytes = 0, read_bytes = 0, time_ns = 0;
};

bool slowed_by_dram(const LaunchView& launch) {
  const auto& dram = launch.values().dram_utilisation;
  return dram && dram->value >= kFoldDram;
}

}  // namespace

RuleAnswer judge_fold_elementwise(const RuleInput& in) {
  RuleAnswer answer;
  std::map<std::pair<store::Id, store::Id>, FoldPair> pairs;
  double unknown_ns = 0;
  const auto& order = in.launches.by_stream();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!in.launches.is(order[i - 1], LaunchTraits::kElementwise)) continue;
    if (!in.launches.is(order[i], LaunchTraits::kElementwise)) continue;
    if (!in.launches.same_stream(order[i - 1], order[i])) continue;
    const LaunchView first = in.launches.at(order[i - 1]), second = in.launches.at(order[i]);
    if (first.verdict->status == LaunchStatus::too_short || !is_elementwise(first) || !is_elementwise(second))
      continue;
    const auto a = fold_traffic(first), b = fold_traffic(second);
    if (!a || !b) {
      unknown_ns += static_cast<double>(second.duration_ns);
      continue;
    }
    if (!slowed_by_dram(first) || !slowed_by_dram(second) || a->write_bytes <= 0) continue;
    if (std::fabs(b->write_bytes / a->write_bytes - 1) > kFoldAlike && !first.is(LaunchTraits::kCast) &&
        !second.is(LaunchTraits::kCast))
      continue;
    const double read_again = std::min(b->read_bytes, a->write_bytes);
    if (read_again < kReadsIt * a->write_bytes) continue;
    FoldPair& pair = pairs[{first.site->kernel_id, second.site->kernel_id}];
    if (pair.proposal.subject.empty()) {
      pair.proposal = {.basis = AdviceBasis::estimated,
                       .subject = std::string(first.kernel) + ", " + std::string(second.kernel),
                       .power = PowerEffect::less_work};
    }
    const double write_ns =
        static_cast<double>(first.duration_ns) * a->write_bytes / (a->read_bytes + a->write_bytes);
    const double read_ns =
        static_cast<double>(second.duration_ns) * read_again / (b->read_bytes + b->write_bytes);
    pair.proposal.add_launch(first.position, gain_of(write_ns, 0, kWriteStays));
    pair.proposal.add_launch(second.position, gain_of(read_ns, 0.8, 0.9));
    pair.written_bytes += a->write_bytes;
    pair.read_bytes += read_again;
    pair.time_ns += static_cast<double>(first.duration_ns + second.duration_ns);
  }
  for (auto& [kernels, pair] : pairs) {
    pair.proposal.say("time_ns", pair.time_ns);
    pair.proposal.say("written_bytes", pair.written_bytes);
    pair.proposal.say("read_again_bytes", pair.read_bytes);
    answer.proposals.push_back(std::move(pair.proposal));
  }
  if (unknown_ns > 0) answer.cannot_say(AdviceNeed::counters, {}, unknown_ns);
  return answer;
}

}  // namespace ridgeline::analyzer
