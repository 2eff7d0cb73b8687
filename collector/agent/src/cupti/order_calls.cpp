#include "cupti/order_calls.h"

#include <array>
#include <cstddef>

namespace ridgeline::agent {
namespace {

struct KnownCall {
  CUpti_CallbackId id;
  OrderCall call;
};
constexpr KnownCall kEventCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord, OrderCall::event_record},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz, OrderCall::event_record},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags, OrderCall::event_record},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz, OrderCall::event_record},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, OrderCall::event_wait},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz, OrderCall::event_wait},
};
constexpr KnownCall kMakingCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, OrderCall::creates_stream},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, OrderCall::creates_stream},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, OrderCall::instantiates_graph},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, OrderCall::instantiates_graph},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, OrderCall::instantiates_graph},
#if CUDA_VERSION >= 12000
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, OrderCall::instantiates_graph},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, OrderCall::instantiates_graph},
#endif
};

struct KnownMemoryCall {
  CUpti_CallbackId id;
  MemoryCall call;
};
// Arrays and memory of the host are not among them.
constexpr KnownMemoryCall kMemoryCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, MemoryCall::allocate},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, MemoryCall::allocate},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, MemoryCall::allocate_managed},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, MemoryCall::allocate_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz, MemoryCall::allocate_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, MemoryCall::allocate_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz, MemoryCall::allocate_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemCreate, MemoryCall::allocate_physical},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, MemoryCall::free},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, MemoryCall::free_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz, MemoryCall::free_async},
    {CUPTI_DRIVER_TRACE_CBID_cuMemRelease, MemoryCall::free_physical},
};

template <typename Known, std::size_t N>
constexpr std::array<CUpti_CallbackId, N> ids_of(const Known (&calls)[N]) {
  std::array<CUpti_CallbackId, N> ids{};
  for (std::size_t i = 0; i < N; ++i) ids[i] = calls[i].id;
  return ids;
}
constexpr auto kEventIds = ids_of(kEventCalls);

constexpr auto kLastingIds = [] {
  std::array<CUpti_CallbackId, std::size(kMakingCalls) + std::size(kMemoryCalls)> ids{};
  std::size_t at = 0;
  for (const KnownCall& known : kMakingCalls) ids[at++] = known.id;
  for (const KnownMemoryCall& known : kMemoryCalls) ids[at++] = known.id;
  return ids;
}();

// By callback id: asked at every callback, so a look-up and no search.
constexpr auto kOrderOfId = [] {
  std::array<OrderCall, CUPTI_DRIVER_TRACE_CBID_SIZE> calls{};
  for (const KnownCall& known : kEventCalls) calls[known.id] = known.call;
  for (const KnownCall& known : kMakingCalls) calls[known.id] = known.call;
  return calls;
}();
constexpr auto kMemoryOfId = [] {
  std::array<std::uint8_t, CUPTI_DRIVER_TRACE_CBID_SIZE> calls{};
  for (const KnownMemoryCall& known : kMemoryCalls) calls[known.id] = static_cast<std::uint8_t>(known.call);
  return calls;
}();

constexpr bool per_thread(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz;
}
CUstream named(CUpti_CallbackId id, CUstream stream) noexcept {
  if (stream != nullptr) return stream;
  return per_thread(id) ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static_assert(offsetof(cuEventRecord_params, hEvent) == offsetof(cuEventRecordWithFlags_params, hEvent) &&
              offsetof(cuEventRecord_params, hStream) == offsetof(cuEventRecordWithFlags_params, hStream));
static_assert(offsetof(cuGraphInstantiate_params, hGraph) ==
                  offsetof(cuGraphInstantiateWithFlags_params, hGraph) &&
              offsetof(cuGraphInstantiate_v2_params, hGraph) == offsetof(cuGraphInstantiate_params, hGraph));

}  // namespace

std::span<const CUpti_CallbackId> event_callbacks() noexcept {
  return kEventIds;
}
std::span<const CUpti_CallbackId> lasting_callbacks() noexcept {
  return kLastingIds;
}

OrderCall order_call(CUpti_CallbackId id) noexcept {
  return id < kOrderOfId.size() ? kOrderOfId[id] : OrderCall::none;
}
std::optional<MemoryCall> memory_call(CUpti_CallbackId id) noexcept {
  if (id >= kMemoryOfId.size() || kMemoryOfId[id] == 0) return std::nullopt;
  return static_cast<MemoryCall>(kMemoryOfId[id]);
}

EventCall event_call_of(CUpti_CallbackId id, const void* params) noexcept {
  if (params == nullptr) return {};
  if (order_call(id) == OrderCall::event_record) {
    const auto& p = *static_cast<const cuEventRecord_params*>(params);
    return {named(id, p.hStream), p.hEvent};
  }
  const auto& p = *static_cast<const cuStreamWaitEvent_params*>(params);
  return {named(id, p.hStream), p.hEvent};
}

MadeStream made_stream(CUpti_CallbackId id, const void* params) noexcept {
  if (params == nullptr) return {};
  const auto made = [](CUstream* stream, unsigned flags, int priority) -> MadeStream {
    return {stream != nullptr ? *stream : nullptr, (flags & CU_STREAM_NON_BLOCKING) != 0, priority};
  };
  if (id == CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority) {
    const auto& p = *static_cast<const cuStreamCreateWithPriority_params*>(params);
    return made(p.phStream, p.flags, p.priority);
  }
  const auto& p = *static_cast<const cuStreamCreate_params*>(params);
  return made(p.phStream, p.Flags, 0);
}

CUgraph graph_of(const void* params) noexcept {
  return params != nullptr ? static_cast<const cuGraphInstantiate_params*>(params)->hGraph : nullptr;
}

MemoryChange memory_change(CUpti_CallbackId id, const void* params) noexcept {
  MemoryChange change;
  if (params == nullptr) return change;
  const auto allocated = [&](const CUdeviceptr* address, std::size_t bytes) {
    change.address = address != nullptr ? *address : 0;
    change.bytes = static_cast<std::int64_t>(bytes);
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
      const auto& p = *static_cast<const cuMemAlloc_v2_params*>(params);
      allocated(p.dptr, p.bytesize);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
      const auto& p = *static_cast<const cuMemAllocPitch_v2_params*>(params);
      allocated(p.dptr, (p.pPitch != nullptr ? *p.pPitch : p.WidthInBytes) * p.Height);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: {
      const auto& p = *static_cast<const cuMemAllocManaged_params*>(params);
      allocated(p.dptr, p.bytesize);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz: {
      const auto& p = *static_cast<const cuMemAllocAsync_params*>(params);
      allocated(p.dptr, p.bytesize);
      change.stream = named(id, p.hStream);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz: {
      const auto& p = *static_cast<const cuMemAllocFromPoolAsync_params*>(params);
      allocated(p.dptr, p.bytesize);
      change.stream = named(id, p.hStream);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
      const auto& p = *static_cast<const cuMemCreate_params*>(params);
      change.address = p.handle != nullptr ? *p.handle : 0;
      change.bytes = static_cast<std::int64_t>(p.size);
      if (p.prop != nullptr && p.prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        change.device_id = static_cast<std::uint32_t>(p.prop->location.id);
      else
        change.address = 0;  // memory of the host
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      change.address = static_cast<const cuMemFree_v2_params*>(params)->dptr;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz: {
      const auto& p = *static_cast<const cuMemFreeAsync_params*>(params);
      change.address = p.dptr;
      change.stream = named(id, p.hStream);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
      change.address = static_cast<const cuMemRelease_params*>(params)->handle;
      break;
    default:
      break;
  }
  return change;
}

StreamCall holding_call(CUpti_CallbackId id) noexcept {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc_ptsz:
      return StreamCall::host_function;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback_ptsz:
      return StreamCall::host_callback;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_ptsz:
#if CUDA_VERSION >= 11070
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2_ptsz:
#endif
      return StreamCall::memory_operations;
    case CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync_ptsz:
      return StreamCall::semaphore_wait;
    default:
      return StreamCall::memory_wait;
  }
}

CUevent awaited_event(const void* params) noexcept {
  return params != nullptr ? static_cast<const cuEventSynchronize_params*>(params)->hEvent : nullptr;
}
CUstream awaited_stream(CUpti_CallbackId id, const void* params) noexcept {
  return params != nullptr ? named(id, static_cast<const cuStreamSynchronize_params*>(params)->hStream)
                           : nullptr;
}

}  // namespace ridgeline::agent
