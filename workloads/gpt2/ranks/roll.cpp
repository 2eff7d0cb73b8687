#include "gpt2/ranks/roll.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace ridgeline::gpt2 {

Roll::Roll(int size, const RollLimits& limits, double now_s)
    : limits_(limits), began_s_(now_s), ranks_(static_cast<std::size_t>(size)) {
  for (Rank& rank : ranks_) rank.beat_s = rank.moved_s = now_s;
}

std::string Roll::name(int rank) const {
  return fmt::format("rank {} of {}", rank, size());
}

std::string Roll::where(int rank) const {
  const Rank& r = at(rank);
  switch (r.phase) {
    case RankPhase::starting:
      return "before it had joined the others";
    case RankPhase::joining:
      return "while it joined the others";
    case RankPhase::leaving:
      return "at the end of the run";
    case RankPhase::aside:
      return fmt::format("in a checkpoint, validation or sample after step {}", r.step + 1);
    case RankPhase::preparing:
    case RankPhase::training:
      break;
  }
  return r.step < 0 ? std::string("before its first step") : fmt::format("in step {}", r.step + 1);
}

void Roll::beat(int rank, RankPhase phase, std::int64_t step, double now_s) {
  Rank& r = at(rank);
  r.beat_s = now_s;
  if (phase == r.phase && step == r.step) return;
  if (r.phase == RankPhase::training && phase == RankPhase::training) {
    longest_step_s_ = std::max(longest_step_s_, now_s - r.moved_s);
  }
  r.phase = phase;
  r.step = step;
  r.moved_s = now_s;
}

void Roll::failed(int rank, int exit_code, const std::string& cause, double now_s) {
  at(rank).gone = true;
  events_.push_back({Sign::failed, now_s, {rank, exit_code, fmt::format("{}: {}", name(rank), cause)}});
}

void Roll::lost_others(int rank, const std::string& cause, double now_s) {
  events_.push_back({Sign::lost, now_s, {rank, kRankLostExitCode, fmt::format("{}: {}", name(rank), cause)}});
}

void Roll::left(int rank) {
  at(rank).left = true;
}

void Roll::ended(int rank, const std::string& how, double now_s) {
  Rank& r = at(rank);
  if (r.left || r.gone) return;
  r.gone = true;
  events_.push_back(
      {Sign::ended, now_s, {rank, kRankLostExitCode, fmt::format("{} {} {}", name(rank), how, where(rank))}});
}

std::optional<Roll::Event> Roll::silent(double now_s) const {
  for (int rank = 0; rank < size(); ++rank) {
    const Rank& r = at(rank);
    if (r.left || r.gone || now_s - r.beat_s < limits_.silent_s) continue;
    return Event{Sign::silent,
                 now_s,
                 {rank, kRankLostExitCode,
                  fmt::format("{} has not answered for {:.0f} s, last {}: its process or its machine has "
                              "stopped",
                              name(rank), now_s - r.beat_s, where(rank))}};
  }
  return std::nullopt;
}

// A rank begins a step when the one before the last has ended on the GPU, which needs all ranks: so one that lags
// behind lags by itself.
std::optional<Roll::Event> Roll::late(double now_s) const {
  const auto first = std::max_element(ranks_.begin(), ranks_.end(),
                                      [](const Rank& a, const Rank& b) { return a.step < b.step; });
  for (int rank = 0; rank < size(); ++rank) {
    const Rank& r = at(rank);
    const bool waits = r.phase == RankPhase::training && first->phase == RankPhase::training;
    if (!waits || r.left || r.step >= first->step || now_s - r.moved_s < limits_.late_s ||
        now_s - first->moved_s < limits_.late_s / 2) {
      continue;
    }
    return Event{Sign::late,
                 now_s,
                 {rank, kRankLostExitCode,
                  fmt::format("{} is late: {} for {:.0f} s while rank {} waits in step {}", name(rank),
                              where(rank), now_s - r.moved_s, first - ranks_.begin(), first->step + 1)}};
  }
  return std::nullopt;
}

std::optional<Roll::Event> Roll::stalled(double now_s) const {
  const double limit_s = std::max(limits_.stalled_s, 20 * longest_step_s_);
  const auto moves = [&](const Rank& r) {
    return r.left || r.phase != RankPhase::training || now_s - r.moved_s < limit_s;
  };
  if (std::any_of(ranks_.begin(), ranks_.end(), moves)) return std::nullopt;
  const auto last = std::min_element(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.step, a.moved_s) < std::tie(b.step, b.moved_s);
  });
  const auto rank = static_cast<int>(last - ranks_.begin());
  return Event{Sign::late,
               now_s,
               {rank, kRankLostExitCode,
                fmt::format("no rank has begun a step for {:.0f} s: {} is the last, {}",
                            now_s - last->moved_s, name(rank), where(rank))}};
}

std::optional<Roll::Event> Roll::not_joined(double now_s) const {
  if (now_s - began_s_ < limits_.join_s) return std::nullopt;
  for (const RankPhase phase : {RankPhase::starting, RankPhase::joining}) {
    for (int rank = 0; rank < size(); ++rank) {
      const Rank& r = at(rank);
      if (r.phase != phase || r.left || r.gone) continue;
      return Event{
          Sign::late,
          now_s,
          {rank, kRankLostExitCode,
           fmt::format("{} had not joined the others after {:.0f} s", name(rank), now_s - began_s_)}};
    }
  }
  return std::nullopt;
}

std::optional<Verdict> Roll::verdict(double now_s) const {
  if (events_.empty()) {
    for (const auto& found : {silent(now_s), late(now_s), stalled(now_s), not_joined(now_s)}) {
      if (found) return found->verdict;
    }
    return std::nullopt;
  }
  const auto earlier = [](const Event& a, const Event& b) { return a.at_s < b.at_s; };
  if (now_s < std::min_element(events_.begin(), events_.end(), earlier)->at_s + limits_.settle_s) {
    return std::nullopt;
  }
  const auto better = [](const Event& a, const Event& b) {
    return std::tie(a.sign, a.at_s, a.verdict.rank) < std::tie(b.sign, b.at_s, b.verdict.rank);
  };
  const Event& cause = *std::min_element(events_.begin(), events_.end(), better);
  if (cause.sign == Sign::lost) {  // whose connection broke because another one hangs
    if (const auto quiet = silent(now_s)) return quiet->verdict;
  }
  return cause.verdict;
}

bool Roll::all_left() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.left; });
}

}  // namespace ridgeline::gpt2
