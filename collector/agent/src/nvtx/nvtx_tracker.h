// Follows NVTX ranges: a stack a thread, a tree of paths, a record for each range that ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "ridgeline/spool/writer.h"
#include "thread_state.h"
#include "totals.h"

namespace ridgeline::agent {

/// What a range or mark carries besides its name.
struct NvtxAttributes {
  std::uint32_t color_argb = 0;
  bool has_color = false;
  std::uint32_t category = 0;
  spool::NvtxPayloadType payload_type = spool::NvtxPayloadType::none;
  std::uint64_t payload = 0;
  /// Binary payloads, NVTX's payload extension; null if none.
  struct Blob {
    std::uint64_t schema_id;
    std::uint64_t size_bytes;
    const void* bytes;
  };
  const Blob* blobs = nullptr;
  std::uint32_t blob_count = 0;
};

/// Thread-safe. Names of domains are string ids; a domain is known by any pointer, null for the default one.
class NvtxTracker {
 public:
  static constexpr std::uint32_t kMaxPaths = 1u << 16;
  static constexpr std::uint32_t kMaxOpenRanges = 1u << 16;  // of the start/end kind
  static constexpr std::uint32_t kMaxPayloadBytes = 4096;    // a longer blob is left out

  NvtxTracker(spool::Writer& writer, Totals& totals);
  ~NvtxTracker();
  NvtxTracker(const NvtxTracker&) = delete;
  NvtxTracker& operator=(const NvtxTracker&) = delete;

  /// Opens a range; its frame, or null if the stack is full (the range is then counted, not recorded).
  NvtxFrame* push(ThreadState& thread, const void* domain, spool::StringId domain_name, spool::StringId name,
                  const NvtxAttributes& attributes, std::int64_t now_ns, std::uint32_t step_index) noexcept;
  /// Closes the innermost range of the domain and writes it, with the binary payloads that its end brings. True with
  /// the frame if there was one.
  bool pop(ThreadState& thread, const void* domain, const NvtxAttributes& attributes, std::int64_t now_ns,
           NvtxFrame* closed) noexcept;

  std::uint64_t start(spool::StringId domain_name, spool::StringId name, const NvtxAttributes& attributes,
                      std::int64_t now_ns, std::uint32_t thread_id, std::uint32_t step_index) noexcept;
  void end(std::uint64_t range_id, std::int64_t now_ns) noexcept;
  void mark(spool::StringId domain_name, spool::StringId name, const NvtxAttributes& attributes,
            std::int64_t now_ns, std::uint32_t thread_id, std::uint32_t step_index) noexcept;

  /// Muted, ranges are followed but not written. Any thread.
  void mute(bool muted) noexcept { muted_.store(muted, std::memory_order_relaxed); }
  [[nodiscard]] bool muted() const noexcept { return muted_.load(std::memory_order_relaxed); }
  /// Path and range that a launch of this thread belongs to; 0 and 0 outside every range.
  static std::uint32_t path_of(const ThreadState& thread) noexcept {
    return thread.depth > 0 ? thread.frames[thread.depth - 1].path_id : 0;
  }
  static std::uint64_t range_of(const ThreadState& thread) noexcept {
    return thread.depth > 0 ? thread.frames[thread.depth - 1].range_id : 0;
  }

  /// There were more different paths than kMaxPaths: launches of the others count to the ranges round them.
  bool paths_full() const noexcept { return paths_full_.load(std::memory_order_relaxed); }

  /// Writes the ranges a thread still has open, marked as unclosed. For the end of the process.
  void write_open(const ThreadState& thread, std::int64_t now_ns) noexcept;

 private:
  struct PathSlot {
    std::uint32_t parent, domain, name, id;
  };
  struct OpenRange {
    NvtxFrame frame;
    std::uint32_t thread_id;
  };
  std::uint32_t path_id(std::uint32_t parent, spool::StringId domain, spool::StringId name) noexcept;
  void fill(NvtxFrame* frame, const NvtxAttributes& attributes) noexcept;
  void write_blobs(std::uint64_t range_id, const NvtxAttributes& attributes) noexcept;
  void write(const NvtxFrame& frame, std::uint64_t parent, std::uint32_t thread_id, std::uint32_t depth,
             spool::NvtxKind kind, std::int64_t end_ns, std::uint16_t flags) noexcept;

  spool::Writer& writer_;
  Totals& totals_;
  std::atomic<bool> muted_{false};
  std::atomic<std::uint64_t> next_range_{1};
  std::atomic_flag path_lock_ = ATOMIC_FLAG_INIT;
  PathSlot* paths_;  // open addressing, 2 * kMaxPaths
  std::uint32_t path_count_ = 0;
  std::atomic<bool> paths_full_{false};
  std::atomic_flag open_lock_ = ATOMIC_FLAG_INIT;
  std::unordered_map<std::uint64_t, OpenRange> open_;
};

}  // namespace ridgeline::agent
