#include "session/memory_recorder.h"

namespace ridgeline::agent {

void MemoryRecorder::on_call(MemoryCall call, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  if (data.callbackSite == CUPTI_API_ENTER) return;
  if (records_.load(std::memory_order_relaxed) >= kMaxRecords) return left_out_.add(LeftOut::memory_calls);
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr || thread->inside) return;
  if (data.functionReturnValue != nullptr &&
      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS)
    return;
  const MemoryChange change = memory_change(id, data.functionParams);
  if (change.address == 0) return;
  // Into a capture: it happens when the graph runs, from memory that the graph has set aside.
  if (change.stream != nullptr && session_.captures.any() && session_.driver.captures(change.stream)) return;
  std::uint32_t device_id = change.device_id.value_or(session_.device_launches.device_of(data.contextUid));
  if (device_id == DeviceLaunches::kUnknown &&
      session_.api->get_device_id(data.context, &device_id) != CUPTI_SUCCESS)
    return left_out_.add(LeftOut::memory_calls);
  records_.fetch_add(1, std::memory_order_relaxed);
  spool::MemoryCallRecord record{};
  record.thread_id = thread->thread_id;
  record.correlation_id = data.correlationId;
  record.time_ns = session_.api->now_ns();
  record.address = change.address;
  record.bytes = change.bytes;
  record.call = call;
  record.device_id = device_id;
  record.step_index = session_.steps.active();
  session_.writer.put(record);
}

}  // namespace ridgeline::agent
