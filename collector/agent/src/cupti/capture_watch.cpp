#include "cupti/capture_watch.h"

#include <algorithm>
#include <array>

namespace ridgeline::agent {
namespace {

struct KnownCapture {
  CUpti_CallbackId id;
  CaptureCall call;
};

constexpr KnownCapture kCaptureCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, CaptureCall::begins},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, CaptureCall::begins},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, CaptureCall::begins},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, CaptureCall::begins},
#if CUDA_VERSION >= 12030
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CaptureCall::begins},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, CaptureCall::begins},
#endif
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, CaptureCall::ends},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, CaptureCall::ends},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, CaptureCall::destroys_stream},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2, CaptureCall::destroys_stream},
};

constexpr auto kCaptureIds = [] {
  std::array<CUpti_CallbackId, std::size(kCaptureCalls)> ids{};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = kCaptureCalls[i].id;
  return ids;
}();

constexpr CUpti_CallbackId kStreamWaits[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback,
    CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync,
    CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync_ptsz,
#if CUDA_VERSION >= 11070
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2_ptsz,
#endif
};

// By callback id: asked at every callback, so a look-up and no search. 0: neither.
constexpr std::uint8_t kWaits = 0xFF;
constexpr auto kMeaning = [] {
  std::array<std::uint8_t, CUPTI_DRIVER_TRACE_CBID_SIZE> meaning{};
  for (const KnownCapture& known : kCaptureCalls)
    meaning[known.id] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(known.call) + 1);
  for (const CUpti_CallbackId id : kStreamWaits) meaning[id] = kWaits;
  return meaning;
}();

std::uint8_t meaning_of(CUpti_CallbackId id) noexcept {
  return id < kMeaning.size() ? kMeaning[id] : std::uint8_t{0};
}

bool per_thread(CUpti_CallbackId id) noexcept {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync_ptsz:
#if CUDA_VERSION >= 11070
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp_v2_ptsz:
#endif
#if CUDA_VERSION >= 12030
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
#endif
      return true;
    default:
      return false;
  }
}

// All of these calls carry their stream first, but for the semaphores'.
CUstream stream_in(CUpti_CallbackId id, const void* params) noexcept {
  CUstream stream = nullptr;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync ||
      id == CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync_ptsz) {
    if (params != nullptr) stream = static_cast<const cuWaitExternalSemaphoresAsync_params*>(params)->stream;
  } else if (params != nullptr) {
    stream = static_cast<const cuStreamEndCapture_params*>(params)->hStream;
  }
  if (stream != nullptr) return stream;
  return per_thread(id) ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static_assert(offsetof(cuStreamBeginCapture_v2_params, hStream) == 0 &&
              offsetof(cuStreamEndCapture_params, hStream) == 0 &&
              offsetof(cuStreamDestroy_v2_params, hStream) == 0 &&
              offsetof(cuLaunchHostFunc_params, hStream) == 0 &&
              offsetof(cuStreamWaitValue32_params, stream) == 0 &&
              offsetof(cuStreamBatchMemOp_params, stream) == 0);

}  // namespace

void CaptureWatch::begin_capture(Key key) noexcept try {
  std::unique_lock<std::mutex> lock(mutex_);
  streams_.push_back(key);
  captures_.store(static_cast<std::uint32_t>(streams_.size()), std::memory_order_relaxed);
  changed_.wait_for(lock, kLongestCall, [&] { return holds_ == 0; });
  changed_.wait_for(lock, kLongestWait, [&] { return launches_ == 0; });
} catch (...) {  // out of memory: the capture takes its chance
}

void CaptureWatch::end_capture(Key key) noexcept {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = std::find(streams_.begin(), streams_.end(), key);
    if (found == streams_.end()) return;
    streams_.erase(found);
    captures_.store(static_cast<std::uint32_t>(streams_.size()), std::memory_order_relaxed);
  }
  changed_.notify_all();
}

bool CaptureWatch::hold(std::chrono::milliseconds patience) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto none = [&] { return streams_.empty(); };
  if (!none() && (patience.count() == 0 || !changed_.wait_for(lock, patience, none))) return false;
  ++holds_;
  return true;
}

void CaptureWatch::release() noexcept {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    --holds_;
  }
  changed_.notify_all();
}

bool CaptureWatch::hold_launch() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (!streams_.empty()) return false;
  ++launches_;
  return true;
}

void CaptureWatch::release_launch() noexcept {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    --launches_;
  }
  changed_.notify_all();
}

std::span<const CUpti_CallbackId> capture_callbacks() noexcept {
  return kCaptureIds;
}

std::optional<CaptureCall> capture_call(CUpti_CallbackId id) noexcept {
  const std::uint8_t meaning = meaning_of(id);
  if (meaning == 0 || meaning == kWaits) return std::nullopt;
  return static_cast<CaptureCall>(meaning - 1);
}

CaptureWatch::Key captured_stream(CUpti_CallbackId id, const void* params, std::uint32_t thread_id) noexcept {
  const CUstream stream = stream_in(id, params);
  return {stream, stream == CU_STREAM_PER_THREAD ? thread_id : 0};
}

std::span<const CUpti_CallbackId> stream_wait_callbacks() noexcept {
  return kStreamWaits;
}

bool is_stream_wait(CUpti_CallbackId id) noexcept {
  return meaning_of(id) == kWaits;
}

CUstream waiting_stream(CUpti_CallbackId id, const void* params) noexcept {
  return stream_in(id, params);
}

}  // namespace ridgeline::agent
