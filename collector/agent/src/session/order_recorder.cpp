#include "session/order_recorder.h"

namespace ridgeline::agent {
namespace {

bool succeeded(const CUpti_CallbackData& data) noexcept {
  return data.functionReturnValue == nullptr ||
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

}  // namespace

// A default stream is of the current context; of any other CUPTI needs no context, but does not say whose it is.
bool OrderRecorder::find_stream(CUstream handle, const CUpti_CallbackData& data,
                                StreamTable::Stream* stream) const noexcept {
  if (session_.api->get_stream_id == nullptr) return false;
  stream->context_id = data.contextUid;
  if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return session_.api->get_stream_id(data.context, nullptr, handle == CU_STREAM_PER_THREAD ? 1 : 0,
                                       &stream->stream_id) == CUPTI_SUCCESS;
  if (const auto known = session_.streams.find(handle)) return *stream = *known, true;
  return session_.api->get_stream_id(data.context, handle, 0, &stream->stream_id) == CUPTI_SUCCESS;
}

void OrderRecorder::write(const ThreadState& thread, StreamCall call, CUstream stream, CUevent event,
                          const CUpti_CallbackData& data) noexcept {
  StreamTable::Stream where;
  if (stream != nullptr && !find_stream(stream, data, &where)) return left_out_.add(LeftOut::stream_calls);
  spool::StreamCallRecord record{};
  record.thread_id = thread.thread_id;
  record.correlation_id = data.correlationId;
  record.time_ns = session_.api->now_ns();
  record.event = reinterpret_cast<std::uintptr_t>(event);
  record.context_id = where.context_id;
  record.stream_id = where.stream_id;
  record.call = call;
  record.step_index = session_.steps.active();
  session_.writer.put(record);
}

void OrderRecorder::on_event(OrderCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  if (data.callbackSite == CUPTI_API_ENTER || !recording_.load(std::memory_order_acquire)) return;
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside || !succeeded(data)) return;
  const EventCall made = event_call_of(id, data.functionParams);
  if (made.event == nullptr) return;
  if (session_.captures.any() && session_.driver.captures(made.stream)) return;
  write(*thread, call == OrderCall::event_record ? StreamCall::event_record : StreamCall::event_wait,
        made.stream, made.event, data);
}

void OrderRecorder::on_hold(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  if (data.callbackSite == CUPTI_API_ENTER || !recording_.load(std::memory_order_acquire)) return;
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside || !succeeded(data)) return;
  const CUstream stream = waiting_stream(id, data.functionParams);
  if (session_.captures.any() && session_.driver.captures(stream)) return;
  write(*thread, holding_call(id), stream, nullptr, data);
}

void OrderRecorder::on_awaited(SynchronisationCall call, CUpti_CallbackId id,
                               const CUpti_CallbackData& data) noexcept {
  const bool for_event = call == SynchronisationCall::event;
  if (!for_event && call != SynchronisationCall::stream) return;
  if (!recording_.load(std::memory_order_acquire) || !succeeded(data)) return;
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr) return;
  if (for_event) {
    const CUevent event = awaited_event(data.functionParams);
    if (event != nullptr) write(*thread, StreamCall::event_awaited, nullptr, event, data);
  } else if (const CUstream stream = awaited_stream(id, data.functionParams)) {
    write(*thread, StreamCall::stream_awaited, stream, nullptr, data);
  }
}

void OrderRecorder::on_stream_made(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  if (data.callbackSite == CUPTI_API_ENTER || session_.api->get_stream_id == nullptr || !succeeded(data))
    return;
  const MadeStream made = made_stream(id, data.functionParams);
  if (made.stream == nullptr) return;
  spool::StreamRecord record{};
  if (session_.api->get_stream_id(data.context, made.stream, 0, &record.stream_id) != CUPTI_SUCCESS) return;
  record.context_id = data.contextUid;
  record.kind = made.non_blocking ? StreamKind::non_blocking : StreamKind::blocking;
  record.priority = made.priority;
  session_.streams.add(made.stream, {record.context_id, record.stream_id});
  session_.writer.put(record);
}

void OrderRecorder::note_default_stream(CUstream stream, const CUpti_CallbackData& data) noexcept {
  StreamTable::Stream where;
  if (!find_stream(stream, data, &where)) return;
  spool::StreamRecord record{};
  record.context_id = where.context_id;
  record.stream_id = where.stream_id;
  record.kind = stream == CU_STREAM_LEGACY ? StreamKind::legacy : StreamKind::per_thread;
  session_.writer.put(record);
}

}  // namespace ridgeline::agent
