// sweep.h: who ran on a device at the same time as whom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/execution/exposure.h"
#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

/// Goes through what ran on one device in a stretch of time, once: adds up for how long which kinds of work ran
/// together, finds when nothing ran, and shares each instant out among the launches that ran in it.
///
/// Lifecycle: 1. add() what ran, in order of its start  2. finish()  3. time_ns().
class ExecutionSweep {
 public:
  /// What ran, as bits; kForeign is beside one of the others.
  static constexpr unsigned kComputation = 1, kCommunication = 2, kCopy = 4, kMemset = 8, kForeign = 16;
  static constexpr unsigned kKernel = kComputation | kCommunication;
  static constexpr LaunchIndex kNoLaunch = SIZE_MAX;

  /// Calls idle(stretch) for each stretch of the window in which nothing ran, in order of time. Adds to `exposure` each
  /// launch's part of the time. Both may be empty.
  ExecutionSweep(const TimeWindow& window, std::function<void(const TimeWindow&)> idle,
                 Exposure* exposure = nullptr)
      : window_(window), idle_(std::move(idle)), exposure_(exposure), now_ns_(window.start_ns) {}

  /// A part of the window that is not empty.
  void add(const TimeWindow& part, unsigned kinds, LaunchIndex launch = kNoLaunch);
  void finish();

  /// Time in which what ran satisfies `wanted`.
  template <typename Wanted>
  [[nodiscard]] std::int64_t time_ns(const Wanted& wanted) const {
    std::int64_t sum = 0;
    for (unsigned kinds = 1; kinds < time_ns_.size(); ++kinds) {
      if (wanted(kinds)) sum += time_ns_[kinds];
    }
    return sum;
  }

 private:
  static constexpr unsigned kKinds = 5;
  struct Running {
    std::int64_t end_ns = 0;
    unsigned kinds = 0;
    LaunchIndex launch = kNoLaunch;
  };

  void run_until(std::int64_t until_ns);
  void share_out();

  TimeWindow window_;
  std::function<void(const TimeWindow&)> idle_;
  Exposure* exposure_;
  std::int64_t now_ns_;
  std::int64_t shared_until_ns_ = 0;                              // since then the same launches run
  std::vector<Running> running_;                                  // in order of their begins
  std::array<std::int64_t, std::size_t{1} << kKinds> time_ns_{};  // by what ran
};

}  // namespace ridgeline::analyzer
