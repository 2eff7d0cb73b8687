// What NCCL says of its collectives through its profiler interface (nccl/profiler_plugin.cpp), written beside the
// launches and ranges that the agent knows of the same thread. No lock of its own, no allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "session/session_state.h"

namespace ridgeline::agent {

/// A collective whose kernel has just been launched, in NCCL's words.
struct LaunchedCollective {
  std::uint64_t communicator = 0;  // its hash; 0: not said
  std::uint64_t call = 0;          // what called() gave for it; 0: not said
  std::string_view function, element_type, algorithm, protocol;
  std::uint64_t count = 0;     // elements of one rank's message
  std::uint32_t channels = 0;  // 0: not said
};

class CollectiveRecorder {
 public:
  explicit CollectiveRecorder(SessionState& parts) : session_(parts) {}

  /// The thread is in a call for a collective of such elements: a number that stands for it; 0: it is not recorded.
  std::uint64_t called(std::string_view element_type) noexcept;
  /// Any thread: on that which launched the kernel, right after it, or later on one of the driver's, again with every
  /// launch of the CUDA graph that it is in.
  void launched(const LaunchedCollective& collective) noexcept;

 private:
  static constexpr std::size_t kRemembered = 4096;

  [[nodiscard]] bool said_before(std::uint64_t call) noexcept;

  SessionState& session_;
  std::atomic<std::uint64_t> said_[kRemembered]{};  // calls, each in the place that its number gives it
};

}  // namespace ridgeline::agent
