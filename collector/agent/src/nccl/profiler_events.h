// What becomes of an event of NCCL's (profiler_interface.h), by version: a record of a collective, or nothing.
#pragma once

#include <cstdint>

#include "nccl/profiler_interface.h"
#include "session/session.h"

namespace ridgeline::agent::nccl {

/// NCCL keeps pointers for a plugin, and hands them back: these stand for numbers and point nowhere, so that none can
/// outlive what it points at, as handles of calls in a CUDA graph would.
inline void* as_handle(std::uint64_t number) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}
inline std::uint64_t as_number(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// The event has begun. `communicator`: its hash, by init(); of version 3 the event has it. The event's handle; null:
/// it needs none.
void* on_event(Session& session, const EventV3& event) noexcept;
void* on_event(Session& session, std::uint64_t communicator, const EventV4& event) noexcept;
void* on_event(Session& session, std::uint64_t communicator, const EventV5& event) noexcept;

}  // namespace ridgeline::agent::nccl
