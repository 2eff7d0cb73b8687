// A chunk of the spool that is being filled: Writer's, but for prefetch(), which is whoever's lane it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ridgeline/spool/format.h"

namespace ridgeline::spool {

struct Segment {
  std::byte* base = nullptr;
  std::uint32_t next_chunk = 0;                 // guarded by Writer's growth_lock_
  std::atomic<std::uint32_t> sealed_chunks{0};  // all sealed: may be unmapped
  Segment* older = nullptr;
};

struct alignas(64) Lane {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // of those that threads share
  ChunkHeader* chunk = nullptr;
  Segment* segment = nullptr;
  std::uint32_t used_bytes = 0;
  /// Counted where the lane is held, or by its one thread: no two threads wait for one count.
  std::atomic<std::uint64_t> records{0};

  [[nodiscard]] bool has_room(std::uint32_t bytes) const noexcept {
    return chunk != nullptr && used_bytes + bytes <= kChunkBytes - sizeof(ChunkHeader);
  }
  [[nodiscard]] std::byte* end() const noexcept {
    return reinterpret_cast<std::byte*>(chunk) + sizeof(ChunkHeader) + used_bytes;
  }
  /// What was written at end() is there from now on, for whoever reads the file.
  void store(std::uint32_t bytes) noexcept {
    used_bytes += bytes;
    std::atomic_ref<std::uint32_t>(chunk->used_bytes).store(used_bytes, std::memory_order_release);
    records.store(records.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// A record of up to a cache line is about to be written, so that nobody waits for memory then.
  void prefetch() const noexcept {
    if (chunk == nullptr) return;
    __builtin_prefetch(end(), 1);
    __builtin_prefetch(end() + 63, 1);
  }
};

}  // namespace ridgeline::spool
