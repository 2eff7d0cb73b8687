// T0: what ran on the device, from CUPTI's activity records.
//
// Lifecycle: 1. enable() before the first context exists. 2. CUPTI asks for buffers on threads of the program
// and returns them, full or idle, on a thread of the program, its own or a flushing one: they are queued there.
// 3. drain() takes their records, on the agent's thread; flush() now and then, flush_final() at the end, when the
// program's work on the device is done: they drain, too. Nothing is disabled: the process ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cupti/cupti_api.h"
#include "cupti/device_launches.h"
#include "cupti/graph_launches.h"
#include "cupti/kernel_table.h"
#include "ridgeline/counting/place_times.h"
#include "ridgeline/spool/writer.h"
#include "tiers/concurrency.h"
#include "tiers/exclusions.h"
#include "totals.h"

namespace ridgeline::agent {

/// Remembers which launches the agent saw, by correlation id, and of which kernel. Lock-free; the last kSlots
/// ids are told apart.
class SeenLaunches {
 public:
  static constexpr std::uint32_t kSlots = 1u << 20;
  SeenLaunches() = default;
  SeenLaunches(const SeenLaunches&) = delete;
  SeenLaunches& operator=(const SeenLaunches&) = delete;
  static constexpr std::uint32_t kGraphLaunch = 0xffffffff;
  /// kernel_id 0: not known; kGraphLaunch: none of its own.
  void mark(std::uint32_t correlation_id, std::uint32_t kernel_id) noexcept {
    slots_[correlation_id % kSlots].store(std::uint64_t{correlation_id} << 32 | kernel_id,
                                          std::memory_order_relaxed);
  }
  /// False only if this kernel was certainly not launched by a call that the agent saw: a slot that a later
  /// launch took, and a launch of an unknown kernel, count as seen. kernel_id 0: whichever kernel.
  bool seen(std::uint32_t correlation_id, std::uint32_t kernel_id) const noexcept {
    const std::uint64_t slot = slots_[correlation_id % kSlots].load(std::memory_order_relaxed);
    const auto marked = static_cast<std::uint32_t>(slot >> 32);
    const auto kernel = static_cast<std::uint32_t>(slot);
    if (marked > correlation_id) return true;
    return marked == correlation_id && correlation_id != 0 &&
           (kernel == 0 || kernel_id == 0 || kernel == kernel_id);
  }

  /// True if this kernel was certainly launched inside a step, where kernels are known by name.
  bool in_step(std::uint32_t correlation_id, std::uint32_t kernel_id) const noexcept {
    return kernel_id != 0 && slots_[correlation_id % kSlots].load(std::memory_order_relaxed) ==
                                 (std::uint64_t{correlation_id} << 32 | kernel_id);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

/// Times during which a counter session was open: only then CUPTI launches kernels of its own.
class CounterIntervals {
 public:
  void open(std::int64_t now_ns) noexcept;
  void close(std::int64_t now_ns) noexcept;
  bool contains(std::int64_t time_ns) const noexcept;
  bool any() const noexcept { return count_.load(std::memory_order_acquire) > 0; }

 private:
  static constexpr std::uint32_t kMax = 1024;
  struct Interval {
    std::atomic<std::int64_t> start_ns{0}, end_ns{0};
  };
  Interval intervals_[kMax];
  std::atomic<std::uint32_t> count_{0};
};

class Timeline {
 public:
  Timeline(const CuptiApi& api, spool::Writer& writer, Totals& totals, KernelTable& kernels,
           std::uint64_t buffer_bytes, std::uint32_t buffer_count);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Registers buffers and enables the activity kinds. What CUPTI refuses becomes a message; false if kernels
  /// themselves were refused. CUPTI keeps one pair of buffer callbacks a process: one Timeline at a time.
  bool enable() noexcept;
  /// The activity kinds off, and on again. Records of what was launched before may still come.
  void switch_off() noexcept;
  /// Nothing once end() was called.
  void switch_on() noexcept;
  /// The records of kernels alone. On: nothing while all are off, or for good.
  CUptiResult trace_kernels(bool on) noexcept;
  /// Off for good. Any thread, also beside one that switches them on this moment. Whether it is the first that says so.
  bool end() noexcept;
  bool ended() const noexcept { return ended_.load(); }
  /// They are off, or about to be: what the program loads now is loaded untraced.
  bool is_off() const noexcept { return off_.load(std::memory_order_acquire); }
  /// From now on only kernels count whose launch was marked as seen, and only copies that began between
  /// these.
  void set_window(std::int64_t open_ns, std::int64_t close_ns) noexcept;
  /// From now on kernels come that no launch was noted of: they are dropped.
  void expect_unnoted() noexcept { unnoted_.store(true, std::memory_order_release); }
  /// From now on delay kernels (tiers/delay_kernel.h) come, which are none of the program's. Before enable().
  void expect_delays() noexcept { delays_ = true; }
  /// In a forked child: CUPTI's buffers are the parent's. Async-signal-safe.
  static void disconnect() noexcept;
  void flush() noexcept;
  void flush_final() noexcept;
  /// Takes the records of buffers that came back. One thread does, another that calls meanwhile waits for it.
  void drain() noexcept;
  /// Readies buffers in advance; called by the agent's thread.
  void maintain() noexcept;

  /// Highest correlation id of the kernel records of a device that came in: launches up to there have ended, apart
  /// from those on other streams.
  std::uint32_t newest_correlation_id(std::uint32_t device_id) const noexcept {
    return device_id < kMaxDevices ? newest_correlation_ids_[device_id].load(std::memory_order_relaxed) : 0;
  }

  /// From now on it is noted when the first kernel begins of those that are launched on a device after this one, the
  /// latest: the number of the mark, or kNoMark if there are too many since clear_marks(). One thread at a time.
  std::uint32_t mark(std::uint32_t device_id, std::uint32_t correlation_id) noexcept;
  void clear_marks(std::uint32_t device_id) noexcept;
  /// 0: no record of it has come.
  std::int64_t first_start_ns(std::uint32_t device_id, std::uint32_t mark) const noexcept;
  static constexpr std::uint32_t kNoMark = UINT32_MAX;

  /// Timeline kernels are shown to `watch` from now on, those left out by name excepted. Before enable().
  /// `without_steps`: those outside of steps too.
  void watch_concurrency(ConcurrencyWatch* watch, const Exclusions* exclusions,
                         ConcurrencyWatch* without_steps) noexcept {
    watch_ = watch;
    without_steps_ = without_steps;
    exclusions_ = exclusions;
  }
  /// Durations of timeline kernels are added up in `times` from now on. Before enable().
  void time_launches(counting::ProgramTimes* times) noexcept { times_ = times; }

  SeenLaunches& seen() noexcept { return *seen_; }
  /// Records of graphs' nodes are counted by launch from now on. Before enable().
  void count_graph_launches() { graphs_ = std::make_unique<GraphLaunches>(); }
  /// Null: they are not counted.
  GraphLaunches* graphs() noexcept { return graphs_.get(); }
  CounterIntervals& intervals() noexcept { return intervals_; }

  /// CUPTI's callbacks.
  void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept;
  void buffer_completed(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;

 private:
  /// A buffer that came back, and how much of it holds records.
  struct Completed {
    std::uint8_t* buffer = nullptr;
    std::size_t valid_bytes = 0;
  };
  /// What is known of a kernel by the address of its name, which is the same in all its records. The name is compared:
  /// a module that is loaded later may have another at the address.
  struct KnownName {
    const char* address = nullptr;
    std::string name;
    std::uint32_t kernel_id = 0;
    bool excluded = false;  // by name
    bool helper = false;    // likewise: CUPTI launches it where counting begins
  };
  static constexpr std::size_t kKnownNames = 1024;
  /// Counts of records are brought to the totals so many at a time: the program's threads count their launches beside.
  static constexpr std::uint64_t kCountedAtOnce = 64;

  bool take_completed(Completed* next) noexcept;
  void take_all(const Completed& completed) noexcept;
  /// Records that found no buffer since it was asked last.
  void count_dropped() noexcept;
  KnownName& look_up(const char* name) noexcept;
  void count(Totals::Field field, std::uint64_t* so_far) noexcept {
    if (++*so_far < kCountedAtOnce) return;
    totals_.add(field, *so_far);
    *so_far = 0;
  }
  void take_delay(const CUpti_ActivityKernel9& k) noexcept;
  void note_start(std::uint32_t device_id, std::uint32_t correlation_id, std::int64_t start_ns) noexcept;
  bool is_helper(const KnownName& name, std::uint32_t correlation_id, std::int64_t start_ns) noexcept;
  void take_kernel(const CUpti_ActivityKernel9& k) noexcept;
  void take(const CUpti_Activity* record) noexcept;
  bool in_window(std::uint64_t start_ns) const noexcept;
  std::uint8_t* allocate() noexcept;

  const CuptiApi& api_;
  spool::Writer& writer_;
  Totals& totals_;
  KernelTable& kernels_;
  const std::uint64_t buffer_bytes_;
  const std::uint32_t buffer_count_;
  std::atomic_flag pool_lock_ = ATOMIC_FLAG_INIT;
  std::vector<std::uint8_t*> free_;  // capacity buffer_count_ from the start: no allocation under the lock
  std::vector<std::uint8_t*> all_;
  std::vector<Completed> completed_;  // a ring of buffer_count_: no allocation under the lock
  std::size_t first_completed_ = 0, completed_count_ = 0;
  std::atomic_flag draining_ = ATOMIC_FLAG_INIT;
  std::vector<KnownName> names_;                               // with draining_, as what follows
  KnownName other_name_;                                       // that found no memory
  bool has_own_of_that_name_ = false;                          // the program, of a helper's
  std::uint64_t kernels_taken_ = 0, graph_kernels_taken_ = 0;  // not in the totals yet
  bool delays_ = false;
  std::atomic<bool> windowed_{false}, unnoted_{false};
  std::atomic<bool> off_{false}, ended_{false};
  std::atomic<std::int64_t> window_open_ns_{0}, window_close_ns_{0};
  std::array<std::atomic<std::uint32_t>, kMaxDevices> newest_correlation_ids_{};
  struct Marks {
    static constexpr std::uint32_t kMax = 4;
    std::atomic<std::uint32_t> count{0};
    std::array<std::atomic<std::uint32_t>, kMax> after{};    // correlation ids
    std::array<std::atomic<std::int64_t>, kMax> start_ns{};  // of the first kernel after each
  };
  std::array<Marks, kMaxDevices> marks_{};
  const std::unique_ptr<SeenLaunches> seen_ = std::make_unique<SeenLaunches>();
  std::unique_ptr<GraphLaunches> graphs_;
  CounterIntervals intervals_;
  ConcurrencyWatch *watch_ = nullptr, *without_steps_ = nullptr;
  const Exclusions* exclusions_ = nullptr;
  counting::ProgramTimes* times_ = nullptr;
};

}  // namespace ridgeline::agent
