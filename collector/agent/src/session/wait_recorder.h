// The calls on which the program's threads wait for the device, from the driver's callbacks: what names a gap in the
// device's work. No lock and no allocation; a record only where there was a wait.
#pragma once

#include "session/order_recorder.h"
#include "session/session_state.h"
#include "thread_state.h"

namespace ridgeline::agent {

class WaitRecorder {
 public:
  WaitRecorder(SessionState& parts, OrderRecorder& order) : session_(parts), order_(order) {}

  /// As for launches: LaunchRecorder::record().
  void record(bool on) noexcept { recording_.store(on, std::memory_order_release); }
  /// CUPTI calls back for them. Before the first window.
  void available(bool yes) noexcept { available_ = yes; }
  bool available() const noexcept { return available_; }
  /// Entry and exit of a driver call that may wait.
  void on_wait(SynchronisationCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

 private:
  SessionState& session_;
  OrderRecorder& order_;
  std::atomic<bool> recording_{false};
  bool available_ = false;
};

}  // namespace ridgeline::agent
