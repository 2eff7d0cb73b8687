/// launch_cost.h: how much sooner a step would end if each of its calls took the host less.
///
/// A host that waits for its device hides what launching takes, up to the point where the device waits for the host.
/// Both are kept: a kernel starts once it was launched and its stream is free, and a call that waits returns once it
/// was called and the device is through. Of those two the later one counted in the recording, and by how much is known;
/// so it is known for how long it goes on counting when launches come sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::import {

/// A call that launches a kernel, a graph or a copy, with what the device did of it; or one that waits for the device.
struct HostCall {
  std::int64_t enter_ns = 0, exit_ns = 0;
  bool waits = false, waits_for_all = false;  // for whatever was launched before; else for something of it
  std::uint64_t stream = 0;                   // of one that launches: any number that stands for it
  std::int64_t start_ns = 0, end_ns = 0;      // on the device; 0: nothing is known of it
};

/// Steps in a row that were recorded, from a device without work.
struct BlockCalls {
  std::uint32_t first_step = 0, steps = 0;
  std::vector<HostCall> calls;  // by enter_ns
  /// The first that launches in the step behind: where its work starts the device is through with the block.
  std::optional<HostCall> next;
};

class LaunchCost {
 public:
  /// Of a call, at most; nothing that records launches takes more.
  static constexpr double kMaxNs = 50'000;

  /// Blocks without calls or steps are left out.
  explicit LaunchCost(const std::vector<BlockCalls>& blocks);
  /// That launch and take time, of a step in the mean; 0: nothing is known.
  [[nodiscard]] double calls() const { return calls_; }
  /// How much sooner a step would end if each call took so much less, in ns. Grows with it, ever more slowly; below 0
  /// (each takes more) by the slope at 0.
  [[nodiscard]] double saved_ns(double of_a_call_ns) const;
  /// The smallest value that saves as much; kMaxNs where none does. Below 0 as saved_ns().
  [[nodiscard]] double of_a_call_ns(double saved_ns) const;

 private:
  /// One of a launch's two conditions, or of a wait's: another call's, and by how much the other one was later.
  struct Bound {
    std::size_t call = 0;
    double slack_ns = 0;
  };
  struct Node {
    bool waits = false;
    double own_ns = 0;   // from the end of the call before it to its own: it cannot take less by more
    double host_ns = 0;  // slack of the host's condition
    std::optional<Bound> device;
  };
  struct Block {
    double steps = 0;
    bool has_next = false;  // its last call is the next step's
    std::vector<Node> nodes;
  };
  class BlockBuilder;
  static Block block_of(const BlockCalls& calls, double latency_ns);
  static double saved_ns(const Block& block, double of_a_call_ns, std::vector<double>& sooner);

  std::vector<Block> blocks_;
  double calls_ = 0;
  double slope_ = 0;  // of saved_ns() at 0
};

}  // namespace ridgeline::import
