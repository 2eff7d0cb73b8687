// The driver's calls that order streams among each other, make streams, instantiate graphs, and take or return memory:
// which they are, and what they carry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cupti/cupti_api.h"
#include "ridgeline/base/stream_words.h"

namespace ridgeline::agent {

enum class OrderCall : std::uint8_t { none, event_record, event_wait, creates_stream, instantiates_graph };

/// Events' calls: on while a window is open. An older CUPTI may not know the last ones.
std::span<const CUpti_CallbackId> event_callbacks() noexcept;
/// Always on, since what they make outlives a window: streams, graphs, memory.
std::span<const CUpti_CallbackId> lasting_callbacks() noexcept;

OrderCall order_call(CUpti_CallbackId id) noexcept;
/// Nothing for calls that are not of memory.
std::optional<MemoryCall> memory_call(CUpti_CallbackId id) noexcept;

/// An event's call, and the stream that it is for: a default stream by its special handle.
struct EventCall {
  CUstream stream = nullptr;
  CUevent event = nullptr;
};
EventCall event_call_of(CUpti_CallbackId id, const void* params) noexcept;

/// The stream that a call made, after its return.
struct MadeStream {
  CUstream stream = nullptr;
  bool non_blocking = false;
  std::int32_t priority = 0;
};
MadeStream made_stream(CUpti_CallbackId id, const void* params) noexcept;

/// The graph that was handed over to be instantiated.
CUgraph graph_of(const void* params) noexcept;

/// What a call for memory did, after its return.
struct MemoryChange {
  std::uint64_t address = 0;               ///< or handle
  std::int64_t bytes = 0;                  ///< of an allocation
  CUstream stream = nullptr;               ///< in whose order it happens; null: in none
  std::optional<std::uint32_t> device_id;  ///< if the call names one; else its context does
};
MemoryChange memory_change(CUpti_CallbackId id, const void* params) noexcept;

/// What a call that makes a stream wait for the host is, of those that capture_watch.h lists.
StreamCall holding_call(CUpti_CallbackId id) noexcept;
/// The event that a thread waits for in cuEventSynchronize, the stream in cuStreamSynchronize.
CUevent awaited_event(const void* params) noexcept;
CUstream awaited_stream(CUpti_CallbackId id, const void* params) noexcept;

}  // namespace ridgeline::agent
