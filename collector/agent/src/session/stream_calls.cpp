#include "session/stream_calls.h"

#include "cupti/launch_params.h"

namespace ridgeline::agent {

void StreamCalls::on_capture(CaptureCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside) return;
  const CaptureWatch::Key key = captured_stream(id, data.functionParams, thread->thread_id);
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  switch (call) {
    case CaptureCall::begins:
      if (enters) {
        // It waits for the hold of a block that begins: only then is it known whether one runs alone.
        session_.captures.begin_capture(key);
        alone_.on_graph_begin(AloneSteps::kAtEntry);
        if (session_.replay)
          if (const AgentCall inside{session_.gate, *thread}) session_.replay->on_capture_begin();
      } else if (data.functionReturnValue == nullptr ||
                 *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS) {
        session_.captures.end_capture(key);
      }
      return;
    case CaptureCall::ends:
      if (!enters) session_.captures.end_capture(key);
      return;
    case CaptureCall::destroys_stream:
      if (enters && session_.captures.any()) session_.captures.end_capture(key);
      return;
  }
}

void StreamCalls::on_stream_wait(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  wait(waiting_stream(id, data.functionParams), data);
}

void StreamCalls::on_graph_launch(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  wait(arguments_of(id, data.functionParams).stream, data);
}

void StreamCalls::on_graph_launch_begins(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  const ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside || session_.host_waits.renew(thread->thread_id)) return;
  on_graph_launch(id, data);
}

void StreamCalls::wait(CUstream stream, const CUpti_CallbackData& data) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside) return;
  const AgentCall inside{session_.gate, *thread};
  if (!inside) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    session_.host_waits.will_wait(thread->thread_id);
    alone_.stream_will_wait();
    if (session_.replay) session_.replay->stream_will_wait();
    return;
  }
  const bool failed = data.functionReturnValue != nullptr &&
                      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS;
  session_.host_waits.waits(thread->thread_id, data.context, stream,
                            !failed && !session_.driver.captures(stream));
}

}  // namespace ridgeline::agent
