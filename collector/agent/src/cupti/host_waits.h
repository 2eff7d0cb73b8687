// Streams of the program that wait for the host, and when CUPTI may be called beside them.
//
// A host function, a value in memory or a semaphore may hold a stream until a thread of the program has done something:
// launched what follows it, for instance. What waits for the device meanwhile waits for that thread. If it is
// made on that very thread, or holds a lock of the driver's that the thread needs for its next call, both wait for
// ever, and the program with them. CUPTI does not say which of its calls wait so; starting its profiler, asking for
// counters, setting up, starting, stopping and ending any kind of counting or sampling may, and switching records.
//
// So such a call and such a wait exclude each other, as calls and stream captures do (capture_watch.h): the call is
// made under a hold, which is given only while no stream waits, and the program's call that makes a stream wait is
// itself kept until the holds are over.
//
// Whether a stream still waits is told by an event after what it waits for. Of a kernel that spins until the host
// writes something nobody knows.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cupti/capture_watch.h"
#include "cupti/cupti_api.h"
#include "cupti/driver_api.h"

namespace ridgeline::agent {

class HostWaits {
 public:
  /// The program's call waits no longer than this for holds: a call of CUPTI's that does not come back holds no program
  /// for ever.
  static constexpr std::chrono::seconds kLongestCall{30};
  /// A call that makes a stream wait takes microseconds; one whose end was not seen is forgotten.
  static constexpr std::int64_t kLongestAnnouncementNs = 2'000'000'000;
  /// A stream whose wait could not be watched counts as waiting for so long.
  static constexpr std::int64_t kUnwatchedNs = 2'000'000'000;

  HostWaits() = default;
  HostWaits(const HostWaits&) = delete;
  HostWaits& operator=(const HostWaits&) = delete;

  /// In start_cupti(); both outlive this. Before it nothing is watched, and every hold is given.
  void start(const CuptiApi& api, const DriverApi& driver) noexcept;

  /// Before the program's call that makes a stream wait: no hold is given from now on, and those that are there are
  /// waited for.
  void will_wait(std::uint32_t thread_id) noexcept;
  /// Just before that call begins, after whatever else was done for it. False: it had been forgotten meanwhile.
  bool renew(std::uint32_t thread_id) noexcept;
  /// After it. `waits`: it came to something, and the stream is not captured. The stream as waiting_stream() names it;
  /// its context is current.
  void waits(std::uint32_t thread_id, CUcontext context, CUstream stream, bool waits) noexcept;
  /// The context goes away, and its events with it.
  void context_destroyed(CUcontext context) noexcept;

  /// The program has made such a call. One relaxed load.
  bool seen() const noexcept { return seen_.load(std::memory_order_relaxed); }
  /// A thread is inside such a call.
  bool coming() noexcept;
  /// A stream waits, as far as is known.
  bool pending() noexcept;

  /// False if a stream waits, or is about to, for longer than `patience`. Every true owes a release().
  bool hold(std::chrono::microseconds patience = {}) noexcept;
  void release() noexcept;

  /// The program has made a graph with a node that waits for the host: from now on its launches of graphs count.
  void node_waits() noexcept { in_graphs_.store(true, std::memory_order_relaxed); }
  bool in_graphs() const noexcept { return in_graphs_.load(std::memory_order_relaxed); }
  /// Nodes of such a kind.
  static bool is_waiting_node(CUgraphNodeType type) noexcept;

 private:
  struct Announced {
    std::uint32_t thread_id;
    std::int64_t since_ns;
  };
  struct Waiting {
    CUcontext context;
    CaptureWatch::Key stream;
    CUevent event;
  };
  static constexpr std::size_t kMaxStreams = 64;

  /// With mutex_ held.
  bool any_announced() noexcept;
  bool any_waiting() noexcept;
  bool is_over(const Waiting& waiting) const noexcept;
  bool watch(std::unique_lock<std::mutex>& lock, CUcontext context, const CaptureWatch::Key& stream) noexcept;
  CUevent event_of(CUcontext context) noexcept;

  const CuptiApi* api_ = nullptr;
  const DriverApi* driver_ = nullptr;
  std::atomic<bool> seen_{false}, in_graphs_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Announced> announced_;
  std::vector<Waiting> waiting_;  // a stream each
  std::vector<Waiting> spare_;    // events of contexts that are there
  std::int64_t unwatched_until_ns_ = 0;
  std::uint32_t holds_ = 0;
  std::uint32_t recording_ = 0;  // events, by threads that have let go of the lock for it
  std::uint32_t contexts_destroyed_ = 0;
};

/// CUPTI may be called where it waits for the device, for as long as this lives: no stream is captured and none waits
/// for the host.
class QuietHold {
 public:
  /// `patience`: with captures. With streams that wait no more than kPatienceWithWaits: what they wait for may be the
  /// calling thread.
  QuietHold(CaptureWatch& captures, HostWaits& waits, std::chrono::milliseconds patience = {}) noexcept;
  ~QuietHold() { release(); }
  QuietHold(const QuietHold&) = delete;
  QuietHold& operator=(const QuietHold&) = delete;
  explicit operator bool() const noexcept { return held_; }
  /// If it was not given: for a stream that waits for the host, not for a capture.
  bool stream_waits() const noexcept { return stream_waits_; }
  void release() noexcept;

  static constexpr std::chrono::milliseconds kPatienceWithWaits{20};

 private:
  CaptureWatch& captures_;
  HostWaits& waits_;
  bool held_ = false, stream_waits_ = false;
};

}  // namespace ridgeline::agent
