// Other processes on the GPUs while counters or samples are taken: what these say of device memory, caches and units
// then holds the others' work too, and nothing in the values tells.
//
// Seen in two ways. NVML lists the processes that have a context on a device; inside a container it may list none.
// Processes that are recorded too know of each other by their turns with the counters (counter_turns.h). Neither says
// what the others do at a given moment: a process that is there and idle disturbs nothing, and is reported as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

class OtherProcesses {
 public:
  explicit OtherProcesses(spool::Writer& writer) noexcept : writer_(writer) {}

  /// What was seen just now: processes with these numbers, or, if there are none, a recorded one that has a turn or
  /// waits for one. The agent's own thread, again and again while counters are open.
  void seen(const std::vector<std::uint32_t>& pids, bool takes_turns) noexcept;
  /// Values were taken in this step or stretch; it is kept if others were seen, and the first is said at once, should
  /// the program be killed. Any thread.
  void measured(std::uint32_t step_index, std::int64_t now_ns) noexcept;
  /// At exit: in which steps that was, and who the others are.
  void tell(std::int64_t now_ns) noexcept;

 private:
  struct Range {
    std::uint32_t first, last;
  };
  std::string who() const;

  spool::Writer& writer_;
  std::atomic<bool> there_{false};
  std::mutex mutex_;  // of what follows
  std::vector<std::uint32_t> pids_;
  std::vector<Range> steps_;
  std::uint64_t count_ = 0;
};

}  // namespace ridgeline::agent
