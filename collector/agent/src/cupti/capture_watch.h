// Stream captures of the program, and when CUPTI may be called beside them.
//
// A capture is broken by whatever waits for the device or the context meanwhile, on any thread and in every
// capture mode: the program's cuStreamEndCapture then fails, and a library inside the capture with it.
// Asking for counters, starting, stopping, enabling and disabling them wait so (H200, CUPTI 13.0: a GEMM of
// cuBLASLt inside a capture failed beside such a call, as XLA and PyTorch capture them, and the program ended).
// So the two exclude each other: a call of the agent that may wait is made under a hold, which no capture
// begins beside, and is put off while a capture is under way.
//
// begin_capture() and end_capture() come from the driver's callbacks, holds from the agent on any thread. The
// mutex is held for a moment only; a capture that is about to begin waits for the holds that are there: as
// long as they take for those of the agent's calls, kLongestWait at most for those round a launch, which may
// itself wait for what the capturing thread does next.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

class CaptureWatch {
 public:
  static constexpr std::chrono::milliseconds kLongestWait{2000};
  /// A call of CUPTI's that does not come back holds no program for ever.
  static constexpr std::chrono::seconds kLongestCall{30};

  /// A stream; of the thread's own default stream there is one per thread.
  struct Key {
    CUstream stream = nullptr;
    std::uint32_t thread_id = 0;  // 0 but for CU_STREAM_PER_THREAD
    bool operator==(const Key&) const = default;
  };

  /// Before the program's call that begins a capture: no hold is given from now on, and those that are there
  /// are waited for.
  void begin_capture(Key key) noexcept;
  /// After the call that ended it, whatever came of it; also if it did not begin or its stream is destroyed.
  void end_capture(Key key) noexcept;
  /// True while a capture is under way. One relaxed load.
  bool any() const noexcept { return captures_.load(std::memory_order_relaxed) > 0; }
  /// True while one is, and no other.
  bool only_one() const noexcept { return captures_.load(std::memory_order_relaxed) == 1; }

  /// False if captures are under way for longer than `patience`. Every true owes a release().
  bool hold(std::chrono::milliseconds patience = {}) noexcept;
  void release() noexcept;
  /// The same round a launch of the program.
  bool hold_launch() noexcept;
  void release_launch() noexcept;

 private:
  std::atomic<std::uint32_t> captures_{0};  // first: SessionState has it on a line of the cache with others
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Key> streams_;  // that capture
  std::uint32_t holds_ = 0, launches_ = 0;
};

/// A hold for as long as this lives.
class CaptureHold {
 public:
  explicit CaptureHold(CaptureWatch& watch, std::chrono::milliseconds patience = {}) noexcept
      : watch_(watch), held_(watch.hold(patience)) {}
  ~CaptureHold() {
    if (held_) watch_.release();
  }
  CaptureHold(const CaptureHold&) = delete;
  CaptureHold& operator=(const CaptureHold&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  CaptureWatch& watch_;
  const bool held_;
};

/// What a driver call does to a capture.
enum class CaptureCall : std::uint8_t { begins, ends, destroys_stream };
std::span<const CUpti_CallbackId> capture_callbacks() noexcept;
std::optional<CaptureCall> capture_call(CUpti_CallbackId id) noexcept;
/// The stream of such a call. `params` as CUPTI hands them over.
CaptureWatch::Key captured_stream(CUpti_CallbackId id, const void* params, std::uint32_t thread_id) noexcept;

/// Calls after which a stream may wait for the host: host functions, values in memory, semaphores.
std::span<const CUpti_CallbackId> stream_wait_callbacks() noexcept;
bool is_stream_wait(CUpti_CallbackId id) noexcept;
/// The stream of such a call, the default streams by their special handles.
CUstream waiting_stream(CUpti_CallbackId id, const void* params) noexcept;

}  // namespace ridgeline::agent
