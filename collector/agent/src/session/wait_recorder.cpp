#include "session/wait_recorder.h"

namespace ridgeline::agent {

void WaitRecorder::on_wait(SynchronisationCall call, CUpti_CallbackId id,
                           const CUpti_CallbackData& data) noexcept {
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (!recording_.load(std::memory_order_acquire)) return;
    thread->wait_correlation_id = data.correlationId;
    thread->wait_step_index = session_.steps.active();
    thread->wait_enter_ns = session_.api->now_ns();
    return;
  }
  // The exit of another call: this one's entry fell before the window.
  if (thread->wait_enter_ns == 0 || thread->wait_correlation_id != data.correlationId) return;
  const std::int64_t enter_ns = thread->wait_enter_ns;
  thread->wait_enter_ns = 0;
  const std::int64_t now = session_.api->now_ns();
  if (now - enter_ns < spool::kShortestWaitNs) return;
  session_.thread_names.note(*thread);
  spool::SynchronisationRecord record{};
  record.thread_id = thread->thread_id;
  record.correlation_id = data.correlationId;
  record.enter_ns = enter_ns;
  record.exit_ns = now;
  record.call = call;
  record.context_id = data.contextUid;
  record.step_index = thread->wait_step_index;
  session_.writer.put(record);
  order_.on_awaited(call, id, data);
}

}  // namespace ridgeline::agent
