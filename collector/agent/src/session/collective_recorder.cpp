#include "session/collective_recorder.h"

#include <array>
#include <limits>
#include <utility>

#include "thread_state.h"

namespace ridgeline::agent {
namespace {

// A call's number: its range, and behind it the string of its elements' type.
constexpr int kStringBits = 18;
constexpr std::uint64_t kMaxStrings = std::uint64_t{1} << kStringBits;
constexpr std::uint64_t kMaxRanges = std::uint64_t{1} << (64 - kStringBits);
static_assert(spool::Writer::kMaxStrings < kMaxStrings);

constexpr std::pair<std::string_view, std::uint64_t> kElementBytes[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

// 0: not known.
std::uint64_t bytes_of(const LaunchedCollective& collective) {
  for (const auto& [name, bytes] : kElementBytes) {
    if (name != collective.element_type) continue;
    return collective.count > std::numeric_limits<std::uint64_t>::max() / bytes ? 0
                                                                                : collective.count * bytes;
  }
  return 0;
}

// NCCL counts these in bytes by the time it launches them, whatever their elements are.
bool moves_bytes(std::string_view function) {
  return function == "AllGather" || function == "Broadcast";
}

}  // namespace

std::uint64_t CollectiveRecorder::called(std::string_view element_type) noexcept {
  if (session_.closed.load(std::memory_order_relaxed) || session_.nvtx.muted()) return 0;
  const ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr) return 0;
  const std::uint64_t range = NvtxTracker::range_of(*thread);
  if (range == 0 || range >= kMaxRanges) return 0;
  return range << kStringBits | session_.writer.intern(element_type);
}

// Two calls of one place take turns in it, and each is then said again: that costs room, and changes nothing.
bool CollectiveRecorder::said_before(std::uint64_t call) noexcept {
  return said_[(call >> kStringBits) % kRemembered].exchange(call, std::memory_order_relaxed) == call;
}

void CollectiveRecorder::launched(const LaunchedCollective& collective) noexcept {
  if (session_.closed.load(std::memory_order_relaxed) || session_.nvtx.muted()) return;
  const ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr) return;
  spool::CollectiveDetailRecord record{};
  const std::uint64_t range = NvtxTracker::range_of(*thread);
  if (range != 0 && range == thread->last_launch_range) record.correlation_id = thread->last_launch_id;
  // Of neither a launch nor a call that is known.
  if (record.correlation_id == 0 && (collective.call == 0 || said_before(collective.call))) return;
  record.communicator = collective.communicator;
  record.call_range_id = collective.call >> kStringBits;
  record.message_bytes = bytes_of(collective);
  record.function = session_.writer.intern(collective.function);
  if (collective.call != 0)
    record.element_type = static_cast<spool::StringId>(collective.call % kMaxStrings);
  else if (!moves_bytes(collective.function))
    record.element_type = session_.writer.intern(collective.element_type);
  record.algorithm = session_.writer.intern(collective.algorithm);
  record.protocol = session_.writer.intern(collective.protocol);
  record.channels = collective.channels;
  session_.writer.put(record);
}

}  // namespace ridgeline::agent
