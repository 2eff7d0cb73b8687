// One session of CUPTI's range profiler on a context, used for one step after the other.
//
// What it costs decides its shape (H200, CUPTI 13.0): the first start of a session takes 160 ms and 0.7 ms
// for each range of room, a later one 28 ms; a stop 0.1 ms per range; the room for a range is 100 KB of host
// memory for a set of ten metrics. So a session has room for some hundred ranges, and a step of more launches
// is cut into segments. A session cannot change its configuration:
// cuptiRangeProfilerSetConfig with another one succeeds, but the counters stay those of the first. It can be
// kept over steps of the same one, and better: one configuration of several passes moves on by a pass at
// every stop, so that with one start and stop a step each step collects the next set (a rotation). A rotation
// knows no segments and no pauses.
//
// Three ways to measure. Kernels one at a time by themselves (automatic ranges): every kernel between start and stop is
// measured, so that one which must not be needs a pause, 35 ms. Kernels one at a time in ranges of ours, for steps
// with many of those: what is outside a range runs as ever, but a range is 3 to 10 us longer than its kernel. One range
// round a whole graph launch, whose kernels CUPTI cannot tell apart in user replay (an automatic range across a
// graph launch ends in CUPTI_ERROR_UNKNOWN; kernel replay of it did not run the graph's kernels at all).
//
// Lifecycle: enable(), then for each step begin(), run() and pause() as often as needed, end(),
// take_segments(); disable(). Calls are serialised by the caller, on a thread where the context is current;
// give_back() may come from any.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cupti/cupti_api.h"
#include "tiers/metric_sets.h"

namespace ridgeline::agent {

enum class Ranges : std::uint8_t { automatic, marked, graphs };

class CounterSession {
 public:
  struct Segment {
    std::vector<std::uint8_t> image;  // decoded counter data
    std::uint32_t measured = 0;       // launches that were expected to make a range
  };
  struct Failure {
    const char* what = "";
    CUptiResult result = CUPTI_SUCCESS;
  };
  static constexpr std::uint32_t kMinRanges = 32, kMaxRanges = 160;

  explicit CounterSession(const CuptiApi& api) noexcept : api_(api) {}

  bool enabled() const noexcept { return session_ != nullptr; }
  /// Serves a configuration, which must outlive the session, and one way to measure. `ranges`: how many a
  /// step is expected to need, 0 if not known.
  bool enable(CUcontext context, const CounterConfig& config, Ranges way, std::uint32_t ranges,
              Failure* failure);
  /// A rotation over the sets that `joined` (join_in_passes()) was made of; all must outlive the session.
  static constexpr std::uint32_t kMaxRangesRotating = 1024;
  bool enable_rotation(CUcontext context, const CounterConfig& joined,
                       const std::vector<const CounterConfig*>& sets, std::uint32_t ranges, Failure* failure);
  /// In a rotation: the step collects this set, whose turn it is (serves()).
  void begin(const CounterConfig& config) noexcept { config_ = &config; }
  bool rotates() const noexcept { return enabled() && joined_ != nullptr; }
  /// True if the session is enabled for just this, next.
  bool serves(const CounterConfig& config, Ranges way) const noexcept {
    if (!enabled() || way_ != way) return false;
    return joined_ != nullptr ? (*sets_)[pass_] == &config : config_ == &config;
  }
  bool counts_graphs() const noexcept { return way_ == Ranges::graphs; }
  bool marks_kernels() const noexcept { return way_ == Ranges::marked; }
  bool running() const noexcept { return running_; }
  /// Measures launches from now on; waits until the device is idle unless running already.
  bool run(Failure* failure);
  /// Measures nothing until run().
  bool pause(Failure* failure) noexcept;
  /// A launch is about to be measured.
  void count_launch() noexcept { ++open_.measured; }
  bool push_range(const char* name, Failure* failure) noexcept;
  /// Nothing if none is open any more.
  bool pop_range(Failure* failure) noexcept;
  /// Ends the step: everything stopped and decoded. A range that is open is closed first.
  bool end(Failure* failure);
  /// Ranges for which there was no room, in the step just ended.
  std::uint64_t dropped() const noexcept { return dropped_; }
  std::vector<Segment> take_segments();
  /// Returns an image for reuse.
  void give_back(std::vector<std::uint8_t>&& image);
  /// Also after a failure; what was open is closed and dropped. Tries twice. Returns CUPTI's answer.
  CUptiResult disable() noexcept;
  /// No session follows soon: frees the images kept for reuse.
  void drop_spares() noexcept;

 private:
  bool open(Failure* failure);
  bool close_segment(Failure* failure);
  bool start(Failure* failure) noexcept;
  bool stop(Failure* failure) noexcept;

  const CuptiApi& api_;
  CUpti_RangeProfiler_Object* session_ = nullptr;
  const CounterConfig* config_ = nullptr;
  const CounterConfig* joined_ = nullptr;  // in a rotation
  const std::vector<const CounterConfig*>* sets_ = nullptr;
  std::size_t pass_ = 0;    // of the next start
  std::uint32_t room_ = 0;  // ranges a segment holds
  Ranges way_ = Ranges::automatic;
  bool running_ = false;
  bool range_open_ = false;
  bool has_open_ = false;  // open_ is configured
  Segment open_;
  std::vector<Segment> done_;
  std::uint64_t dropped_ = 0;
  std::mutex spare_mutex_;
  bool keep_spares_ = false;
  std::vector<std::vector<std::uint8_t>> spare_;
};

}  // namespace ridgeline::agent
