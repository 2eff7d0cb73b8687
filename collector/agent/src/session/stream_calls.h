// The program's calls that decide when the agent may touch counters: captures, and streams that wait for the host.
#pragma once

#include "session/alone_steps.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class StreamCalls {
 public:
  StreamCalls(SessionState& parts, AloneSteps& alone) noexcept : session_(parts), alone_(alone) {}

  /// Any thread, in the driver's callbacks; these are enabled whether or not a window is open.
  void on_capture(CaptureCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void on_stream_wait(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// A launch of a graph, once there may be nodes in it that wait for the host (HostWaits::in_graphs()).
  void on_graph_launch(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// The same launch, when all that is done before it has been, which may have taken seconds: it is announced still.
  void on_graph_launch_begins(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

 private:
  void wait(CUstream stream, const CUpti_CallbackData& data) noexcept;

  SessionState& session_;
  AloneSteps& alone_;
};

}  // namespace ridgeline::agent
