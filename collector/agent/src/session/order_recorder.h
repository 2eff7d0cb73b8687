// What orders work on the devices beside the order of a stream: events and the streams that wait for them, host
// functions, and the streams themselves. From the driver's callbacks, at the calls' return; a call that is not made
// costs nothing.
//
// What a call does inside a stream capture becomes part of a graph (graph_recorder.h) and is not recorded here.
// cuEventQuery and cuStreamQuery are not recorded: allocators ask them at every turn.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupti/order_calls.h"
#include "session/left_out.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class OrderRecorder {
 public:
  OrderRecorder(SessionState& parts, LeftOutCounts& left_out) : session_(parts), left_out_(left_out) {}

  /// As for launches: LaunchRecorder::record().
  void record(bool on) noexcept { recording_.store(on, std::memory_order_release); }
  /// CUPTI calls back for events, and says the ids of streams. Before the first window.
  void available(bool yes) noexcept { available_ = yes; }
  bool available() const noexcept { return available_; }

  /// Any thread, in the driver's callbacks.
  void on_event(OrderCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  void on_stream_made(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// A stream that waits for the host or for memory from now on.
  void on_hold(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// A thread waited for an event or a stream, and WaitRecorder made a record of it.
  void on_awaited(SynchronisationCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
  /// A launch: the first of a thread into a default stream of a context says which stream that is.
  void on_launch(ThreadState& thread, CUstream stream, const CUpti_CallbackData& data) noexcept {
    if (stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) return;
    std::uint64_t& named = stream == CU_STREAM_LEGACY ? thread.default_streams : thread.own_streams;
    if (data.contextUid >= 64 || (named >> data.contextUid & 1) != 0) return;
    named |= std::uint64_t{1} << data.contextUid;
    note_default_stream(stream, data);
  }

 private:
  void note_default_stream(CUstream stream, const CUpti_CallbackData& data) noexcept;
  bool find_stream(CUstream handle, const CUpti_CallbackData& data,
                   StreamTable::Stream* stream) const noexcept;
  void write(const ThreadState& thread, StreamCall call, CUstream stream, CUevent event,
             const CUpti_CallbackData& data) noexcept;

  SessionState& session_;
  LeftOutCounts& left_out_;
  std::atomic<bool> recording_{false};
  bool available_ = false;
};

}  // namespace ridgeline::agent
