/// launch_cost.h: how much sooner a step would end if each of its calls took the host less.
///
/// A host that waits for its device hides what launching takes, up to the point where the device waits for the host. A
/// kernel starts once it was launched, its stream is free and the events that the stream waits for are reached; a call
/// that waits returns once it was called and the device is through. The recording shows which of these came last, and
/// by how much; so it is known for how long that one goes on counting when launches come sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::import {

/// A call of the host, and what the device did of it.
struct HostCall {
  enum class Kind : std::uint8_t {
    launch,  ///< of a kernel, a graph or a copy
    wait,    ///< until the device is through with something: the latest that has ended when the call returns
    wait_for_all,  ///< until it is through with everything
    event_record,  ///< the event stands for what was launched on the stream before
    event_wait,    ///< what is launched on the stream from here on waits for the event
  };
  Kind kind = Kind::launch;
  std::int64_t enter_ns = 0, exit_ns = 0;
  std::uint64_t stream = 0;               // any number that stands for it; of waits none
  std::uint64_t event = 0;                // likewise
  std::int64_t start_ns = 0, end_ns = 0;  // of a launch, on the device; 0: nothing is known of it

  [[nodiscard]] bool waits() const { return kind == Kind::wait || kind == Kind::wait_for_all; }
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
  /// The largest cost of a call that is looked at, in ns: no recorder takes more of one.
  static constexpr double kMaxNs = 50'000;

  /// Blocks without calls or steps are left out.
  explicit LaunchCost(const std::vector<BlockCalls>& blocks);
  /// Launches of a step, in the mean, without copies whose call was not recorded; 0: nothing is known.
  [[nodiscard]] double calls() const { return calls_; }
  /// How much sooner a step would end, in ns, if each launch took the host so much less. It grows with that, ever more
  /// slowly. For a negative argument (each takes more) the slope at 0 goes on.
  [[nodiscard]] double saved_ns(double of_a_call_ns) const;
  /// The inverse: the smallest cost of a launch whose removal saves as much; kMaxNs where none does.
  [[nodiscard]] double of_a_call_ns(double saved_ns) const;

 private:
  /// Something of the device that a call may have waited for, and by how much it was earlier than what it did wait for.
  struct Bound {
    std::size_t node = 0;
    double slack_ns = 0;
  };
  struct Node {
    bool waits = false;
    double own_ns = 0;   // from the end of the call before it to its own: it cannot take less by more
    double host_ns = 0;  // slack of the call itself
    std::size_t bounds_end = 0;
  };
  struct Block {
    double steps = 0;
    bool has_next = false;  // its last call is the next step's
    std::vector<Node> nodes;
    std::vector<Bound> bounds;  // of all nodes in a row
  };
  class BlockBuilder;
  static double saved_ns(const Block& block, double of_a_call_ns, std::vector<double>& sooner);

  std::vector<Block> blocks_;
  double calls_ = 0;
  double slope_ = 0;  // of saved_ns() at 0
};

}  // namespace ridgeline::import
