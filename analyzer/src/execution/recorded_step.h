// recorded_step.h: a step as it was recorded: calls of the host, work of the devices, and who issued what. Plain
// values, so that a test writes one down by hand and every source of recordings can fill one in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::analyzer {

/// Times are of one clock, ns.
struct RecordedStep {
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;

  /// Work that a call waited for, of this repetition or of one before.
  struct Awaited {
    Index work = 0;
    std::uint32_t back = 0;
  };

  /// A call of the host: it gave the devices work, or waited for them, or both.
  struct Call {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t thread_id = 0;
    bool waits = false;          ///< it may return only when work that was issued before has ended …
    bool waits_for_all = false;  ///< … and that of every stream
    std::vector<Awaited> awaited =
        {};  ///< of which this was recorded; empty: whatever ended last before it did
  };

  /// A kernel, a copy or a memset.
  struct Work {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t stream = 0;      ///< counted over devices and contexts, from 0
    Index call = kNone;            ///< that issued it; kNone: not recorded
    Index after = kNone;           ///< where `call` is not recorded: the last call known to have come before
    bool graph = false;            ///< a node of a graph, whose launch is `call`
    std::uint32_t after_back = 0;  ///< `after` is of this many repetitions before: 0 or 1
    bool order_known = false;      ///< of a node: what it waits for in its graph is among the dependencies
  };

  /// `to` waited for `from`, or would have: an event that a stream waits for, an edge of a graph. Either may be of the
  /// repetition before: `back`.
  struct Dependency {
    Index from = 0;
    Index to = 0;
    std::uint32_t back = 0;
  };

  std::vector<Call> calls;
  std::vector<Work> works;  ///< at least one of them
  std::vector<Dependency> dependencies;
  /// The recording has all dependencies between streams: none is to be concluded from the times.
  bool dependencies_recorded = false;

  /// From the start of `first` to its start in the next step. A step that does not repeat: its own time.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  Index first = 0;  ///< the work that the step begins with
  /// The next step does the same: the host's part of it begins at host_start_ns, and at host_end_ns anew.
  bool repeats = false;
  std::int64_t host_start_ns = 0;
  std::int64_t host_end_ns = 0;
};

/// How far a simulated length is from the recorded one, as a share of it.
///
/// A step is as long on the host as on the devices, but a single one may not be: its first work and that of the next
/// step are not launched equally promptly. Where the two lengths differ by at most a twentieth, one between them is
/// the step's.
[[nodiscard]] inline double deviation_ratio(const RecordedStep& step, double simulated_ns) {
  constexpr double kSameStep = 0.05;
  const auto device_ns = static_cast<double>(step.end_ns - step.start_ns);
  const auto host_ns = static_cast<double>(step.host_end_ns - step.host_start_ns);
  double low_ns = device_ns, high_ns = device_ns;
  if (step.repeats && std::fabs(host_ns - device_ns) <= kSameStep * device_ns) {
    low_ns = std::min(device_ns, host_ns);
    high_ns = std::max(device_ns, host_ns);
  }
  return std::max({low_ns - simulated_ns, simulated_ns - high_ns, 0.0}) / device_ns;
}

}  // namespace ridgeline::analyzer
