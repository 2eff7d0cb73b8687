#include "nvtx/nvtx_tracker.h"

#include <cstring>

#include "ridgeline/base/spin_guard.h"

namespace ridgeline::agent {

NvtxTracker::NvtxTracker(spool::Writer& writer, Totals& totals)
    : writer_(writer), totals_(totals), paths_(new PathSlot[2 * kMaxPaths]()) {}

NvtxTracker::~NvtxTracker() {
  delete[] paths_;
}

std::uint32_t NvtxTracker::path_id(std::uint32_t parent, spool::StringId domain,
                                   spool::StringId name) noexcept {
  std::uint32_t id = 0;
  {
    SpinGuard guard(path_lock_);
    std::uint64_t hash = (std::uint64_t{parent} << 32 | name) * 0x9e3779b97f4a7c15ull + domain;
    hash ^= hash >> 29;
    std::uint32_t at = static_cast<std::uint32_t>(hash) % (2 * kMaxPaths);
    for (; paths_[at].id != 0; at = (at + 1) % (2 * kMaxPaths))
      if (paths_[at].parent == parent && paths_[at].domain == domain && paths_[at].name == name)
        return paths_[at].id;
    if (path_count_ == kMaxPaths) {
      paths_full_.store(true, std::memory_order_relaxed);
      return parent;  // the range's launches count to its parent
    }
    id = ++path_count_;
    paths_[at] = {parent, domain, name, id};
  }
  spool::NvtxPathRecord record{};
  record.path_id = id;
  record.parent_id = parent;
  record.name = name;
  record.domain = domain;
  writer_.put(record);
  return id;
}

void NvtxTracker::fill(NvtxFrame* frame, const NvtxAttributes& attributes) noexcept {
  frame->color_argb = attributes.color_argb;
  frame->has_color = attributes.has_color;
  frame->category = attributes.category;
  frame->payload_type = static_cast<std::uint8_t>(attributes.payload_type);
  frame->payload = attributes.payload;
}

void NvtxTracker::write_blobs(std::uint64_t range_id, const NvtxAttributes& attributes) noexcept {
  if (muted_.load(std::memory_order_relaxed)) return;
  for (std::uint32_t i = 0; i < attributes.blob_count; ++i) {
    const NvtxAttributes::Blob& blob = attributes.blobs[i];
    if (blob.bytes == nullptr || blob.size_bytes == 0 || blob.size_bytes > kMaxPayloadBytes) continue;
    spool::NvtxPayloadRecord record{};
    record.range_id = range_id;
    record.schema_id = blob.schema_id;
    record.position = i;
    record.length_bytes = static_cast<std::uint32_t>(blob.size_bytes);
    writer_.put(record, blob.bytes, record.length_bytes);
  }
}

NvtxFrame* NvtxTracker::push(ThreadState& thread, const void* domain, spool::StringId domain_name,
                             spool::StringId name, const NvtxAttributes& attributes, std::int64_t now_ns,
                             std::uint32_t step_index) noexcept {
  if (thread.depth == kMaxNvtxDepth) {
    ++thread.overflow_depth;
    totals_.add(&Count::nvtx_unbalanced);
    return nullptr;
  }
  const std::uint32_t parent = path_of(thread);
  NvtxFrame& frame = thread.frames[thread.depth];
  frame.range_id = next_range_.fetch_add(1, std::memory_order_relaxed);
  frame.start_ns = now_ns;
  frame.domain = domain;
  frame.path_id = path_id(parent, domain_name, name);
  frame.step_index = step_index;
  frame.is_step = false;
  fill(&frame, attributes);
  if (attributes.blob_count > 0) write_blobs(frame.range_id, attributes);
  ++thread.depth;
  return &frame;
}

bool NvtxTracker::pop(ThreadState& thread, const void* domain, const NvtxAttributes& attributes,
                      std::int64_t now_ns, NvtxFrame* closed) noexcept {
  if (thread.overflow_depth > 0) {
    --thread.overflow_depth;
    return false;
  }
  // Stacks of different domains interleave: the innermost range of *this* domain ends.
  std::uint32_t at = thread.depth;
  while (at > 0 && thread.frames[at - 1].domain != domain) --at;
  if (at == 0) {
    totals_.add(&Count::nvtx_unbalanced);
    return false;
  }
  *closed = thread.frames[at - 1];
  const std::uint64_t parent = at > 1 ? thread.frames[at - 2].range_id : 0;
  std::memmove(&thread.frames[at - 1], &thread.frames[at], (thread.depth - at) * sizeof(NvtxFrame));
  --thread.depth;
  if (attributes.blob_count > 0) write_blobs(closed->range_id, attributes);
  write(*closed, parent, thread.thread_id, at - 1, spool::NvtxKind::push_pop, now_ns, 0);
  return true;
}

std::uint64_t NvtxTracker::start(spool::StringId domain_name, spool::StringId name,
                                 const NvtxAttributes& attributes, std::int64_t now_ns,
                                 std::uint32_t thread_id, std::uint32_t step_index) noexcept {
  OpenRange range{};
  range.frame.range_id = next_range_.fetch_add(1, std::memory_order_relaxed);
  range.frame.start_ns = now_ns;
  range.frame.path_id = path_id(0, domain_name, name);
  range.frame.step_index = step_index;
  range.thread_id = thread_id;
  fill(&range.frame, attributes);
  if (attributes.blob_count > 0) write_blobs(range.frame.range_id, attributes);
  try {
    SpinGuard guard(open_lock_);
    if (open_.size() < kMaxOpenRanges)
      open_.emplace(range.frame.range_id, range);
    else
      totals_.add(&Count::nvtx_unbalanced);
  } catch (...) {
    totals_.add(&Count::callback_errors);
  }
  return range.frame.range_id;
}

void NvtxTracker::end(std::uint64_t range_id, std::int64_t now_ns) noexcept {
  OpenRange range;
  {
    SpinGuard guard(open_lock_);
    const auto it = open_.find(range_id);
    if (it == open_.end()) {
      totals_.add(&Count::nvtx_unbalanced);
      return;
    }
    range = it->second;
    open_.erase(it);
  }
  write(range.frame, 0, range.thread_id, 0, spool::NvtxKind::start_end, now_ns, 0);
}

void NvtxTracker::mark(spool::StringId domain_name, spool::StringId name, const NvtxAttributes& attributes,
                       std::int64_t now_ns, std::uint32_t thread_id, std::uint32_t step_index) noexcept {
  NvtxFrame frame{};
  frame.range_id = next_range_.fetch_add(1, std::memory_order_relaxed);
  frame.start_ns = now_ns;
  frame.path_id = path_id(0, domain_name, name);
  frame.step_index = step_index;
  fill(&frame, attributes);
  if (attributes.blob_count > 0) write_blobs(frame.range_id, attributes);
  write(frame, 0, thread_id, 0, spool::NvtxKind::mark, now_ns, 0);
}

void NvtxTracker::write_open(const ThreadState& thread, std::int64_t now_ns) noexcept {
  const std::uint32_t depth = thread.depth < kMaxNvtxDepth ? thread.depth : kMaxNvtxDepth;
  for (std::uint32_t i = depth; i > 0; --i)
    write(thread.frames[i - 1], i > 1 ? thread.frames[i - 2].range_id : 0, thread.thread_id, i - 1,
          spool::NvtxKind::push_pop, now_ns, spool::kRangeUnclosed);
}

void NvtxTracker::write(const NvtxFrame& frame, std::uint64_t parent, std::uint32_t thread_id,
                        std::uint32_t depth, spool::NvtxKind kind, std::int64_t end_ns,
                        std::uint16_t flags) noexcept {
  if (muted_.load(std::memory_order_relaxed)) return;
  spool::NvtxRangeRecord record{};
  record.header.flags = static_cast<std::uint16_t>(flags | (frame.has_color ? spool::kRangeHasColor : 0));
  record.range_id = frame.range_id;
  record.parent_range_id = parent;
  record.start_ns = frame.start_ns;
  record.end_ns = end_ns;
  record.thread_id = thread_id;
  record.path_id = frame.path_id;
  record.depth = depth;
  record.step_index = frame.step_index;
  record.color_argb = frame.color_argb;
  record.category = frame.category;
  record.kind = kind;
  record.payload_type = static_cast<spool::NvtxPayloadType>(frame.payload_type);
  record.payload = frame.payload;
  writer_.put(record);
}

}  // namespace ridgeline::agent
