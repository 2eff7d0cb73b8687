#include "cupti/timeline.h"

#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "messages.h"
#include "ridgeline/base/spin_guard.h"
#include "tiers/delay_kernel.h"
#include "tiers/eviction.h"

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kSpareBuffers = 8;
// Seen on an H200 with CUPTI 13.0, 7 ms before the launch whose correlation id it had.
constexpr const char* kHelperKernel = "WaitNs";
// Whoever drains is through with a buffer in less than a millisecond. It may be the interrupted caller itself.
constexpr std::chrono::milliseconds kDrainPatience{50};

// CUPTI's buffer callbacks carry no user data.
std::atomic<Timeline*> g_timeline{nullptr};

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = nullptr;
  *size = 0;
  *max_records = 0;
  if (Timeline* t = g_timeline.load(std::memory_order_acquire))
    t->buffer_requested(buffer, size, max_records);
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                  std::size_t valid) {
  if (Timeline* t = g_timeline.load(std::memory_order_acquire)) t->buffer_completed(buffer, valid);
}

}  // namespace

void CounterIntervals::open(std::int64_t now_ns) noexcept {
  const std::uint32_t n = count_.load(std::memory_order_relaxed);
  if (n == kMax) return;
  intervals_[n].start_ns.store(now_ns, std::memory_order_relaxed);
  intervals_[n].end_ns.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
  count_.store(n + 1, std::memory_order_release);
}

void CounterIntervals::close(std::int64_t now_ns) noexcept {
  const std::uint32_t n = count_.load(std::memory_order_relaxed);
  // Closed once; again changes nothing.
  std::int64_t open = std::numeric_limits<std::int64_t>::max();
  if (n > 0) intervals_[n - 1].end_ns.compare_exchange_strong(open, now_ns, std::memory_order_relaxed);
}

bool CounterIntervals::contains(std::int64_t time_ns) const noexcept {
  for (std::uint32_t i = count_.load(std::memory_order_acquire); i > 0; --i)
    if (intervals_[i - 1].start_ns.load(std::memory_order_relaxed) <= time_ns &&
        time_ns <= intervals_[i - 1].end_ns.load(std::memory_order_relaxed))
      return true;
  return false;
}

Timeline::Timeline(const CuptiApi& api, spool::Writer& writer, Totals& totals, KernelTable& kernels,
                   std::uint64_t buffer_bytes, std::uint32_t buffer_count)
    : api_(api),
      writer_(writer),
      totals_(totals),
      kernels_(kernels),
      buffer_bytes_(buffer_bytes),
      buffer_count_(buffer_count),
      completed_(buffer_count),
      names_(kKnownNames) {
  free_.reserve(buffer_count);
  all_.reserve(buffer_count);
  maintain();
}

Timeline::~Timeline() {
  Timeline* self = this;
  g_timeline.compare_exchange_strong(self, nullptr);
  for (std::uint8_t* b : all_) std::free(b);
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_OVERHEAD};

void Timeline::switch_off() noexcept {
  off_.store(true, std::memory_order_release);
  for (const CUpti_ActivityKind kind : kKinds) api_.activity_disable(kind);
}
void Timeline::switch_on() noexcept {
  if (ended()) return;
  CUptiResult failed = CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : kKinds) {
    CUptiResult result = api_.activity_enable(kind);
    if (result != CUPTI_SUCCESS) result = api_.activity_enable(kind);
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) failed = result;
  }
  if (failed != CUPTI_SUCCESS) {
    put_message(writer_, api_.now_ns(), Severity::error, spool::Topic::timeline_refused,
                "the timeline ends here: CUPTI does not record kernels again: " + api_.error_text(failed));
    end();
    return;
  }
  off_.store(false, std::memory_order_release);
  if (ended()) switch_off();  // meanwhile
}
CUptiResult Timeline::trace_kernels(bool on) noexcept {
  constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (!on) return api_.activity_disable(kKernels);
  if (ended() || off_.load(std::memory_order_acquire)) return CUPTI_SUCCESS;  // switch_on() brings them back
  const CUptiResult result = api_.activity_enable(kKernels);
  if (ended()) switch_off();  // meanwhile
  return result;
}

// Takes no lock: it is called inside the driver, and whoever switches may wait for the driver.
bool Timeline::end() noexcept {
  const bool first = !ended_.exchange(true);
  if (first) switch_off();
  return first;
}

void Timeline::set_window(std::int64_t open_ns, std::int64_t close_ns) noexcept {
  window_open_ns_.store(open_ns, std::memory_order_relaxed);
  window_close_ns_.store(close_ns, std::memory_order_relaxed);
  windowed_.store(true, std::memory_order_release);
}

bool Timeline::in_window(std::uint64_t start_ns) const noexcept {
  if (!windowed_.load(std::memory_order_acquire)) return true;
  const auto start = static_cast<std::int64_t>(start_ns);
  return start >= window_open_ns_.load(std::memory_order_relaxed) &&
         start <= window_close_ns_.load(std::memory_order_relaxed);
}

bool Timeline::enable() noexcept {
  g_timeline.store(this, std::memory_order_release);
  auto refuse = [&](const char* what, CUptiResult result, const char* consequence) {
    put_message(writer_, api_.now_ns(), Severity::error, spool::Topic::timeline_refused,
                std::string("CUPTI refuses ") + what + ": " + api_.error_text(result) + "; " + consequence);
  };
  // Buffers come back to the pool zeroed, so CUPTI need not clear them on the program's threads.
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  api_.activity_set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  CUptiResult result = api_.activity_register_callbacks(on_buffer_requested, on_buffer_completed);
  if (result != CUPTI_SUCCESS) {
    refuse("activity buffers", result, "no kernel is recorded");
    return false;
  }
  result = api_.activity_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) {
    refuse("kernel records", result, "no kernel is recorded");
    return false;
  }
  // Copies and fills are wanted for themselves, and without them kernel timestamps were seen to turn zero
  // after some 25 million graph kernels.
  const struct {
    CUpti_ActivityKind kind;
    const char* name;
  } kinds[] = {{CUPTI_ACTIVITY_KIND_MEMCPY, "memory copy records"},
               {CUPTI_ACTIVITY_KIND_MEMCPY2, "peer copy records"},
               {CUPTI_ACTIVITY_KIND_MEMSET, "memory set records"},
               {CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead records"}};
  for (const auto& k : kinds) {
    result = api_.activity_enable(k.kind);
    if (result != CUPTI_SUCCESS) refuse(k.name, result, "they are missing from the timeline");
  }
  return true;
}

void Timeline::disconnect() noexcept {
  g_timeline.store(nullptr, std::memory_order_relaxed);
}

void Timeline::flush() noexcept {
  api_.activity_flush_all(0);
  drain();
}
void Timeline::flush_final() noexcept {
  api_.activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  drain();
  count_dropped();
}

std::uint32_t Timeline::mark(std::uint32_t device_id, std::uint32_t correlation_id) noexcept {
  if (device_id >= kMaxDevices) return kNoMark;
  Marks& marks = marks_[device_id];
  const std::uint32_t number = marks.count.load(std::memory_order_relaxed);
  if (number == Marks::kMax) return kNoMark;
  marks.after[number].store(correlation_id, std::memory_order_relaxed);
  marks.start_ns[number].store(0, std::memory_order_relaxed);
  marks.count.store(number + 1, std::memory_order_release);
  return number;
}

void Timeline::clear_marks(std::uint32_t device_id) noexcept {
  if (device_id < kMaxDevices) marks_[device_id].count.store(0, std::memory_order_release);
}

std::int64_t Timeline::first_start_ns(std::uint32_t device_id, std::uint32_t mark) const noexcept {
  if (device_id >= kMaxDevices || mark >= Marks::kMax) return 0;
  return marks_[device_id].start_ns[mark].load(std::memory_order_relaxed);
}

std::uint8_t* Timeline::allocate() noexcept {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, buffer_bytes_) != 0) return nullptr;
  std::memset(memory, 0, buffer_bytes_);
  return static_cast<std::uint8_t*>(memory);
}

void Timeline::maintain() noexcept {
  while (true) {
    {
      SpinGuard guard(pool_lock_);
      if (free_.size() >= kSpareBuffers || all_.size() == buffer_count_) return;
    }
    std::uint8_t* fresh = allocate();
    if (fresh == nullptr) return;
    SpinGuard guard(pool_lock_);
    if (all_.size() == buffer_count_) {
      std::free(fresh);
      return;
    }
    all_.push_back(fresh);
    free_.push_back(fresh);
  }
}

void Timeline::buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
  *max_records = 0;  // as many as fit
  *buffer = nullptr;
  *size = 0;
  bool may_grow = false;
  {
    SpinGuard guard(pool_lock_);
    if (!free_.empty()) {
      *buffer = free_.back();
      free_.pop_back();
    } else {
      may_grow = all_.size() < buffer_count_;
    }
  }
  if (*buffer == nullptr && may_grow) {
    if (std::uint8_t* fresh = allocate(); fresh != nullptr) {
      SpinGuard guard(pool_lock_);
      if (all_.size() < buffer_count_) {
        all_.push_back(fresh);
        *buffer = fresh;
      } else {
        std::free(fresh);
      }
    }
  }
  if (*buffer == nullptr) {
    totals_.add(&Count::buffers_refused);  // CUPTI drops the records and counts them
    return;
  }
  *size = buffer_bytes_;
}

// A launch of the program waits for this, or a lock of CUPTI's that its launches want: what takes time is done by
// drain(). Where no buffer is left for CUPTI records would be lost for it, so then it is done here.
void Timeline::buffer_completed(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  bool exhausted = false;
  {
    SpinGuard guard(pool_lock_);
    exhausted = free_.empty() && all_.size() == buffer_count_;
    if (buffer != nullptr && completed_count_ < completed_.size()) {
      completed_[(first_completed_ + completed_count_) % completed_.size()] = {buffer, valid_bytes};
      ++completed_count_;
    }
  }
  if (exhausted) drain();
}

bool Timeline::take_completed(Completed* next) noexcept {
  SpinGuard guard(pool_lock_);
  if (completed_count_ == 0) return false;
  *next = completed_[first_completed_];
  first_completed_ = (first_completed_ + 1) % completed_.size();
  --completed_count_;
  return true;
}

void Timeline::take_all(const Completed& completed) noexcept {
  CUpti_Activity* record = nullptr;
  if (completed.valid_bytes > 0)
    while (api_.activity_get_next_record(completed.buffer, completed.valid_bytes, &record) == CUPTI_SUCCESS)
      take(record);
  totals_.add(&Count::kernel_records, std::exchange(kernels_taken_, 0));
  totals_.add(&Count::graph_kernel_records, std::exchange(graph_kernels_taken_, 0));
  totals_.add(&Count::buffers_completed);
  std::memset(completed.buffer, 0, buffer_bytes_);
  SpinGuard guard(pool_lock_);
  free_.push_back(completed.buffer);
}

void Timeline::drain() noexcept {
  if (draining_.test_and_set(std::memory_order_acquire)) {
    const auto give_up = std::chrono::steady_clock::now() + kDrainPatience;
    while (draining_.test_and_set(std::memory_order_acquire)) {
      if (std::chrono::steady_clock::now() >= give_up) return;
      sched_yield();
    }
  }
  bool taken = false;
  for (Completed next; take_completed(&next); taken = true) take_all(next);
  draining_.clear(std::memory_order_release);
  if (taken) count_dropped();  // the agent's thread looks again and again
}

void Timeline::count_dropped() noexcept {
  std::size_t dropped = 0;
  if (api_.activity_get_num_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
    totals_.add(&Count::dropped_records, dropped);
}

Timeline::KnownName& Timeline::look_up(const char* name) noexcept {
  KnownName& known = names_[(reinterpret_cast<std::uintptr_t>(name) >> 4) % names_.size()];
  if (known.address == name && known.name == name) return known;
  const auto fill = [&](KnownName& to) -> KnownName& {
    to.kernel_id = kernels_.id_of(name);
    to.excluded = exclusions_ != nullptr && exclusions_->by_name(name);
    to.helper = std::strcmp(name, kHelperKernel) == 0;
    return to;
  };
  known.address = nullptr;
  try {
    known.name = name;
  } catch (...) {
    return fill(other_name_);
  }
  known.address = name;
  return fill(known);
}

void Timeline::take_delay(const CUpti_ActivityKernel9& k) noexcept {
  totals_.add(&Count::own_kernel_records);
  spool::DelayRecord r{};
  if (k.start == 0 || k.end == 0) r.header.flags = spool::kZeroTimestamp;
  r.correlation_id = k.correlationId;
  r.stream_id = k.streamId;
  r.start_ns = static_cast<std::int64_t>(k.start);
  r.end_ns = static_cast<std::int64_t>(k.end);
  writer_.put(r);
}

void Timeline::note_start(std::uint32_t device_id, std::uint32_t correlation_id,
                          std::int64_t start_ns) noexcept {
  Marks& marks = marks_[device_id];
  for (std::uint32_t i = marks.count.load(std::memory_order_acquire); i > 0; --i) {
    const std::uint32_t after = marks.after[i - 1].load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(correlation_id - after) <= 0) continue;
    const std::int64_t first_ns = marks.start_ns[i - 1].load(std::memory_order_relaxed);
    if (first_ns == 0 || start_ns < first_ns)
      marks.start_ns[i - 1].store(start_ns, std::memory_order_relaxed);
  }
}

// CUPTI's helper kernels carry the correlation id of the launch they accompany, or of the program's next, but another
// name. Of a launch outside of steps no name is known. The one that runs before counting is on, or 7 ms before such a
// launch, is told by its own name then, unless the program was seen to launch a kernel that is called so.
bool Timeline::is_helper(const KnownName& name, std::uint32_t correlation_id,
                         std::int64_t start_ns) noexcept {
  if (name.helper && intervals_.any()) {
    const bool launched = seen_->in_step(correlation_id, name.kernel_id);
    has_own_of_that_name_ = has_own_of_that_name_ || launched;
    if (!launched && !has_own_of_that_name_) return true;
  }
  return !seen_->seen(correlation_id, name.kernel_id) && (name.helper || intervals_.contains(start_ns));
}

void Timeline::take_kernel(const CUpti_ActivityKernel9& k) noexcept {
  if (delays_ && k.name != nullptr && std::strcmp(k.name, DelayKernel::kName) == 0) {
    take_delay(k);
    return;
  }
  const auto start_ns = static_cast<std::int64_t>(k.start);
  const bool zero = k.start == 0 || k.end == 0;
  const KnownName& name = look_up(k.name != nullptr ? k.name : "");
  const std::uint32_t kernel_id = name.kernel_id;
  if (k.graphNodeId == 0 && is_helper(name, k.correlationId, start_ns)) {
    totals_.add(&Count::own_kernel_records);
    return;
  }
  if ((windowed_.load(std::memory_order_acquire) || unnoted_.load(std::memory_order_relaxed)) &&
      !seen_->seen(k.correlationId, 0))
    return;
  if (k.deviceId < kMaxDevices) {
    auto& newest_here = newest_correlation_ids_[k.deviceId];
    std::uint32_t newest = newest_here.load(std::memory_order_relaxed);
    // Ids wrap round; the difference tells which is newer.
    while ((newest == 0 || static_cast<std::int32_t>(k.correlationId - newest) > 0) &&
           !newest_here.compare_exchange_weak(newest, k.correlationId, std::memory_order_relaxed)) {
    }
    if (!zero) note_start(k.deviceId, k.correlationId, start_ns);
  }
  const bool node = k.graphNodeId != 0;
  if (node && graphs_) graphs_->node_ran(k.correlationId);
  if (node)
    count(&Count::graph_kernel_records, &graph_kernels_taken_);
  else
    count(&Count::kernel_records, &kernels_taken_);
  if (zero) totals_.add(&Count::zero_timestamp_records);
  spool::KernelRecord r{};
  r.header.flags =
      static_cast<std::uint16_t>((zero ? spool::kZeroTimestamp : 0) | (node ? spool::kGraphNode : 0));
  r.correlation_id = k.correlationId;
  r.kernel_id = kernel_id;
  r.start_ns = start_ns;
  r.end_ns = static_cast<std::int64_t>(k.end);
  r.device_id = k.deviceId;
  r.context_id = k.contextId;
  r.stream_id = k.streamId;
  r.graph_id = k.graphId;
  r.graph_node_id = k.graphNodeId;
  r.grid_x = static_cast<std::uint32_t>(k.gridX);
  r.grid_y = static_cast<std::uint32_t>(k.gridY);
  r.grid_z = static_cast<std::uint32_t>(k.gridZ);
  r.block_x = static_cast<std::uint32_t>(k.blockX);
  r.block_y = static_cast<std::uint32_t>(k.blockY);
  r.block_z = static_cast<std::uint32_t>(k.blockZ);
  r.cluster_x = k.clusterX;
  r.cluster_y = k.clusterY;
  r.cluster_z = k.clusterZ;
  r.registers_per_thread = k.registersPerThread;
  r.static_smem_bytes = static_cast<std::uint32_t>(k.staticSharedMemory);
  r.dynamic_smem_bytes = static_cast<std::uint32_t>(k.dynamicSharedMemory);
  r.local_memory_per_thread_bytes = k.localMemoryPerThread;
  r.channel_id = k.channelID;
  if (watch_ != nullptr && watch_->watching() && !node && !zero && !intervals_.contains(start_ns) &&
      seen_->in_step(k.correlationId, kernel_id) && !name.excluded)
    watch_->add(r);
  if (without_steps_ != nullptr && without_steps_->watching() && !node && !zero &&
      !intervals_.contains(start_ns))
    without_steps_->add(r);
  if (times_ != nullptr && !node && !zero && !intervals_.contains(start_ns)) {
    const counting::Kind kind = counting::kind_of(r.kernel_id, r.grid_x, r.grid_y, r.grid_z);
    times_->by_grid.add(kind, r.end_ns - r.start_ns);
    times_->by_size.add(counting::size_kind_of(r.kernel_id, r.grid_x, r.grid_y, r.grid_z),
                        r.end_ns - r.start_ns);
    times_->places.took(r.correlation_id, kind, r.end_ns - r.start_ns);
  }
  writer_.put(r);
}

void Timeline::take(const CUpti_Activity* record) noexcept {
  auto zero_flag = [&](std::uint64_t start, std::uint64_t end) -> std::uint16_t {
    if (start != 0 && end != 0) return 0;
    totals_.add(&Count::zero_timestamp_records);
    return spool::kZeroTimestamp;
  };
  // What the records of copies and fills have in common.
  const auto fill_in = [&](const auto& m, auto& r) {
    r.header.flags =
        static_cast<std::uint16_t>(zero_flag(m.start, m.end) | (m.graphNodeId != 0 ? spool::kGraphNode : 0));
    r.correlation_id = m.correlationId;
    r.start_ns = static_cast<std::int64_t>(m.start);
    r.end_ns = static_cast<std::int64_t>(m.end);
    r.bytes = static_cast<std::int64_t>(m.bytes);
    r.device_id = m.deviceId;
    r.context_id = m.contextId;
    r.stream_id = m.streamId;
    r.graph_id = m.graphId;
    r.graph_node_id = m.graphNodeId;
  };
  // The same of copies within a device and between devices.
  const auto copy_of = [&](const auto& m) {
    spool::MemcpyRecord r{};
    fill_in(m, r);
    r.kind = static_cast<spool::MemcpyKind>(m.copyKind);
    r.source = static_cast<spool::MemoryKind>(m.srcKind);
    r.destination = static_cast<spool::MemoryKind>(m.dstKind);
    r.asynchronous = (m.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
    return r;
  };
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      // Kernel9 is the common part of CUPTI 12's and 13's records; 13 only appends.
      take_kernel(*reinterpret_cast<const CUpti_ActivityKernel9*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& m = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      if (!in_window(m.start)) break;
      if (m.bytes == Eviction::kChunkBytes && m.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD &&
          intervals_.contains(static_cast<std::int64_t>(m.start))) {
        totals_.add(&Count::own_kernel_records);  // eviction of the caches
        break;
      }
      totals_.add(&Count::memcpy_records);
      spool::MemcpyRecord r = copy_of(m);
      r.source_device_id = r.destination_device_id = m.deviceId;
      writer_.put(r);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& m = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      if (!in_window(m.start)) break;
      totals_.add(&Count::memcpy_records);
      spool::MemcpyRecord r = copy_of(m);
      r.source_device_id = m.srcDeviceId;
      r.destination_device_id = m.dstDeviceId;
      writer_.put(r);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      if (!in_window(m.start)) break;
      totals_.add(&Count::memset_records);
      spool::MemsetRecord r{};
      fill_in(m, r);
      r.value = m.value;
      r.memory = static_cast<spool::MemoryKind>(m.memoryKind);
      r.asynchronous = (m.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0;
      writer_.put(r);
      break;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& o = *reinterpret_cast<const CUpti_ActivityOverhead2*>(record);
      spool::OverheadRecord r{};
      r.kind = static_cast<std::uint32_t>(o.overheadKind);
      if (o.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) r.thread_id = o.objectId.pt.threadId;
      r.start_ns = static_cast<std::int64_t>(o.start);
      r.end_ns = static_cast<std::int64_t>(o.end);
      writer_.put(r);
      break;
    }
    default:
      totals_.add(&Count::unknown_records);
  }
}

}  // namespace ridgeline::agent
