// Device memory that the program takes and returns. Always on, or the amount would not be known when a window opens.
//
// Frameworks keep memory and ask for more a few thousand times a run. A program that allocates round each launch has
// records of its first kMaxRecords calls; further ones are counted, and the amount is not known from there on.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupti/order_calls.h"
#include "session/left_out.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class MemoryRecorder {
 public:
  static constexpr std::uint32_t kMaxRecords = 1u << 18;  // 14 MiB of spool

  MemoryRecorder(SessionState& parts, LeftOutCounts& left_out) : session_(parts), left_out_(left_out) {}
  /// Any thread, in the driver's callbacks.
  void on_call(MemoryCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

 private:
  SessionState& session_;
  LeftOutCounts& left_out_;
  std::atomic<std::uint32_t> records_{0};
};

}  // namespace ridgeline::agent
