#include "cupti/host_waits.h"

#include <algorithm>
#include <thread>

namespace ridgeline::agent {
namespace {

constexpr std::chrono::microseconds kLookAgain{50};

}  // namespace

void HostWaits::start(const CuptiApi& api, const DriverApi& driver) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  api_ = &api;
  driver_ = &driver;
}

bool HostWaits::is_waiting_node(CUgraphNodeType type) noexcept {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
#if CUDA_VERSION >= 11070
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
#endif
      return true;
    default:
      return false;
  }
}

void HostWaits::will_wait(std::uint32_t thread_id) noexcept try {
  std::unique_lock<std::mutex> lock(mutex_);
  if (api_ == nullptr) return;
  seen_.store(true, std::memory_order_relaxed);
  announced_.push_back({thread_id, api_->now_ns()});
  changed_.wait_for(lock, kLongestCall, [&] { return holds_ == 0; });
} catch (...) {  // out of memory: what follows it is known by its event all the same
}

bool HostWaits::renew(std::uint32_t thread_id) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (api_ == nullptr) return true;
  any_announced();  // what is too old is forgotten
  for (Announced& call : announced_) {
    if (call.thread_id != thread_id) continue;
    call.since_ns = api_->now_ns();
    return true;
  }
  return false;
}

void HostWaits::waits(std::uint32_t thread_id, CUcontext context, CUstream stream, bool waits) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  if (api_ == nullptr) return;
  // Watched before the announcement is taken back: in between no hold is given.
  if (waits) {
    if (recording_ == 0) any_waiting();  // what is over makes room
    if (!watch(lock, context, {stream, stream == CU_STREAM_PER_THREAD ? thread_id : 0}))
      unwatched_until_ns_ = api_->now_ns() + kUnwatchedNs;
  }
  const auto mine = std::find_if(announced_.begin(), announced_.end(),
                                 [&](const Announced& call) { return call.thread_id == thread_id; });
  if (mine != announced_.end()) announced_.erase(mine);
}

// A later wait in the same stream stands for those before it.
// Without the lock while the driver is asked to record: where the stream's queue is full of work that waits for the
// host, it does not come back before the host has done its part, for which another thread may come by here.
bool HostWaits::watch(std::unique_lock<std::mutex>& lock, CUcontext context,
                      const CaptureWatch::Key& stream) noexcept try {
  const RelaxedCapture relaxed(*driver_);
  if (!driver_->complete()) return false;
  waiting_.reserve(kMaxStreams);
  spare_.reserve(2 * kMaxStreams);
  const auto known = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return waiting.context == context && waiting.stream == stream;
  });
  Waiting watched{context, stream, nullptr};
  if (known != waiting_.end()) {
    watched = *known;
    waiting_.erase(known);
  } else if (waiting_.size() + recording_ < kMaxStreams) {
    watched.event = event_of(context);
  }
  if (watched.event == nullptr) return false;
  ++recording_;
  const std::uint32_t destroyed = contexts_destroyed_;
  lock.unlock();
  const bool recorded = driver_->event_record(watched.event, stream.stream) == CUDA_SUCCESS;
  lock.lock();
  --recording_;
  if (contexts_destroyed_ != destroyed) return false;  // perhaps this one, and the event with it
  (recorded ? waiting_ : spare_).push_back(watched);
  return recorded;
} catch (...) {
  return false;
}

CUevent HostWaits::event_of(CUcontext context) noexcept {
  const auto spare = std::find_if(spare_.begin(), spare_.end(),
                                  [&](const Waiting& unused) { return unused.context == context; });
  CUevent event = nullptr;
  if (spare != spare_.end()) {
    event = spare->event;
    spare_.erase(spare);
  } else if (driver_->event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    event = nullptr;
  }
  return event;
}

// The agent's own threads have no context; where the driver wants one to be asked, it gets the event's.
bool HostWaits::is_over(const Waiting& waiting) const noexcept {
  CUresult result = driver_->event_query(waiting.event);
  if (result == CUDA_ERROR_INVALID_CONTEXT && driver_->ctx_push_current != nullptr &&
      driver_->ctx_pop_current != nullptr && driver_->ctx_push_current(waiting.context) == CUDA_SUCCESS) {
    result = driver_->event_query(waiting.event);
    CUcontext mine = nullptr;
    driver_->ctx_pop_current(&mine);
  }
  return result != CUDA_ERROR_NOT_READY && result != CUDA_ERROR_INVALID_CONTEXT;
}

bool HostWaits::any_waiting() noexcept {
  if (recording_ > 0) return true;
  if (waiting_.empty() && unwatched_until_ns_ == 0) return false;
  if (!waiting_.empty()) {
    const RelaxedCapture relaxed(*driver_);
    while (!waiting_.empty() && is_over(waiting_.back())) {
      if (spare_.size() < spare_.capacity()) spare_.push_back(waiting_.back());
      waiting_.pop_back();
    }
  }
  if (unwatched_until_ns_ != 0 && api_->now_ns() >= unwatched_until_ns_) unwatched_until_ns_ = 0;
  return !waiting_.empty() || unwatched_until_ns_ != 0;
}

bool HostWaits::any_announced() noexcept {
  if (announced_.empty()) return false;
  std::erase_if(announced_, [now_ns = api_->now_ns()](const Announced& call) {
    return now_ns - call.since_ns > kLongestAnnouncementNs;
  });
  return !announced_.empty();
}

bool HostWaits::coming() noexcept {
  if (!seen()) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  return any_announced();
}

bool HostWaits::pending() noexcept {
  if (!seen()) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  return any_waiting();
}

bool HostWaits::hold(std::chrono::microseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::unique_lock<std::mutex> lock(mutex_);
  while (any_announced() || any_waiting()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    lock.unlock();
    std::this_thread::sleep_for(kLookAgain);
    lock.lock();
  }
  ++holds_;
  return true;
}

void HostWaits::release() noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    --holds_;
  }
  changed_.notify_all();
}

void HostWaits::context_destroyed(CUcontext context) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++contexts_destroyed_;
  const auto of_it = [&](const Waiting& waiting) { return waiting.context == context; };
  std::erase_if(waiting_, of_it);
  std::erase_if(spare_, of_it);
}

// Never one while waiting for the other, since each keeps the program from something.
QuietHold::QuietHold(CaptureWatch& captures, HostWaits& waits, std::chrono::milliseconds patience) noexcept
    : captures_(captures), waits_(waits) {
  using std::chrono::steady_clock;
  const auto since = steady_clock::now();
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(since + patience - steady_clock::now());
    if (!captures_.hold(std::max(left, std::chrono::milliseconds{0}))) return;
    if (waits_.hold()) {
      held_ = true;
      return;
    }
    captures_.release();
    if (steady_clock::now() - since >= std::min(patience, kPatienceWithWaits)) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  stream_waits_ = true;
}

void QuietHold::release() noexcept {
  if (!held_) return;
  held_ = false;
  waits_.release();
  captures_.release();
}

}  // namespace ridgeline::agent
