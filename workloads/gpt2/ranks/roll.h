// roll.h: what is known of a job's ranks, and when that means that the job has failed: who, and why. No clock, no
// sockets: times are given, in seconds of any clock that only rises.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/ranks/message.h"

namespace ridgeline::gpt2 {

/// Exit code of a job of which a rank died, stopped or fell behind.
inline constexpr int kRankLostExitCode = 6;

struct RollLimits {
  double silent_s = 5;    // without a beat: its process is stopped, or its machine
  double late_s = 8;      // a step behind another rank without a sign of going on
  double stalled_s = 60;  // no rank has begun a step; at least twenty times the longest step so far
  double join_s = 120;    // until all ranks train
  double settle_s = 0.4;  // how long a better cause may follow the first sign
};

struct Verdict {
  int rank = 0;
  int exit_code = 0;
  std::string cause;  // one line that names the rank
};

class Roll {
 public:
  Roll(int size, const RollLimits& limits, double now_s);

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }

  /// What a rank says of itself. step: the one that it has begun.
  void beat(int rank, RankPhase phase, std::int64_t step, double now_s);
  void failed(int rank, int exit_code, const std::string& cause, double now_s);
  /// It has seen that another is gone, which is a cause only if none of another kind appears.
  void lost_others(int rank, const std::string& cause, double now_s);
  void left(int rank);
  /// Its process, or the connection to it, is no more. `how` goes on after its name: "was killed by signal 9".
  /// Means nothing of a rank that had left or failed.
  void ended(int rank, const std::string& how, double now_s);

  /// Why the job has failed; nothing while all is well, or while a better cause may follow.
  [[nodiscard]] std::optional<Verdict> verdict(double now_s) const;
  [[nodiscard]] bool all_left() const;

 private:
  /// The better cause is the smaller.
  enum class Sign { ended, failed, silent, late, lost };

  struct Rank {
    RankPhase phase = RankPhase::starting;
    std::int64_t step = -1;
    double beat_s = 0;
    double moved_s = 0;  // when phase or step changed
    bool left = false;
    bool gone = false;
  };
  struct Event {
    Sign sign;
    double at_s;
    Verdict verdict;
  };

  const Rank& at(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)); }
  Rank& at(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }
  std::string name(int rank) const;
  std::string where(int rank) const;
  std::optional<Event> silent(double now_s) const;
  std::optional<Event> late(double now_s) const;
  std::optional<Event> stalled(double now_s) const;
  std::optional<Event> not_joined(double now_s) const;

  RollLimits limits_;
  double began_s_;
  double longest_step_s_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Event> events_;
};

}  // namespace ridgeline::gpt2
