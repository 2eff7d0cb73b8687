// When counters must wait, and when they must be off: excluded kernels, streams that wait for the host, stream
// captures. And how a step is given up.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "messages.h"
#include "tiers/replay.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// How long a launch waits for the excluded kernels before it, to be measured itself: the first one, and those
// after it while that did not help.
constexpr std::int64_t kPatienceNs = 20 * kMillisecond, kImpatienceNs = kMillisecond;
// For collectives: their peers count kernel by kernel too, and begin later by what setting up takes them. A
// process that did not wait would run ahead of the others for the rest of the step and be measured no more.
// A step may have a hundred collectives, so that all waits of a recording together are bounded too.
constexpr std::int64_t kPatienceWithPeersNs = 5000 * kMillisecond;
constexpr std::int64_t kPatienceWithPeersInAllNs = 15000 * kMillisecond;
constexpr std::chrono::microseconds kPollPause{50};
constexpr std::size_t kMaxEvents = 64;
// For captures on other threads, where something has to be done now or never.
constexpr std::chrono::milliseconds kCapturePatience{20};
// Before a call that makes a stream wait for the host, for the measured launches of other threads.
constexpr std::chrono::seconds kLongestLaunch{2};
// A session that is kept for a step to come.
constexpr std::int64_t kKeptNs = 2000 * kMillisecond;
constexpr std::uint32_t kMaxFailures = 3;

}  // namespace

// True if no excluded kernel is under way, and no thread is about to make a stream wait for the host.
bool Replay::settled(std::uint32_t thread_id) noexcept {
  if (host_waits_.coming()) return false;
  const bool for_host = host_waits_.pending();
  if (events_pending_ == 0 && !for_host) return true;
  RelaxedCapture relaxed(driver_);
  const bool for_peers = collectives_pending_ && !peer_wait_exhausted_ && !for_host;
  std::int64_t limit_ns = peer_wait_exhausted_ ? kImpatienceNs : kPatienceNs;
  if (for_peers)
    limit_ns =
        std::clamp(kPatienceWithPeersInAllNs - waited_for_peers_ns_, kPatienceNs, kPatienceWithPeersNs);
  const std::int64_t start_ns = api_.now_ns();
  std::int64_t waited_ns = 0;
  bool over = false;
  while (true) {
    while (events_pending_ > 0 && driver_.event_query(events_[events_pending_ - 1]) != CUDA_ERROR_NOT_READY)
      --events_pending_;
    waited_ns = api_.now_ns() - start_ns;
    over = events_pending_ == 0 && !(for_host && host_waits_.pending());
    if (over || waited_ns > limit_ns || gate_.closed()) break;
    if (waited_ns > kPatienceNs) {
      watch_.restart(thread_id, start_ns + waited_ns);  // this is no kernel that hangs
      std::this_thread::sleep_for(kPollPause);
    }
  }
  // Shorter waits are what a collective takes.
  if (for_peers && waited_ns > kPatienceNs) waited_for_peers_ns_ += waited_ns;
  peer_wait_exhausted_ = !over;
  return over;
}

// Whether it is announced does not say so: that is forgotten after a while, and a launch may wait for longer until
// counters are ready.
bool Replay::makes_stream_wait(const LaunchCall& call) const noexcept {
  return call.graph && host_waits_.in_graphs();
}

bool Replay::host_waits_over(std::uint32_t thread_id) noexcept {
  return !(host_waits_.coming() || host_waits_.pending()) || settled(thread_id);
}

bool Replay::watch(CUstream stream) noexcept try {
  RelaxedCapture relaxed(driver_);
  if (!driver_.complete() || events_pending_ >= kMaxEvents) return false;
  if (events_context_ != context_) forget_events();
  events_context_ = context_;
  if (events_pending_ == events_.size()) {
    events_.reserve(kMaxEvents);
    CUevent event = nullptr;
    if (driver_.event_create(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) events_.push_back(event);
  }
  if (events_pending_ >= events_.size() ||
      driver_.event_record(events_[events_pending_], stream) != CUDA_SUCCESS)
    return false;
  ++events_pending_;
  return true;
} catch (...) {
  return false;
}

// The step is over or given up, and counters still run: what is due is done before the program does something beside
// which they must not. The caller has seen to it that CUPTI may be called.
void Replay::settle_what_is_due() noexcept {
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::to_finish) {
    finish();
    steps_.release();
  } else if (state == State::to_close) {
    close();
    state_.store(State::idle, std::memory_order_release);
  }
}

void Replay::on_capture_begin() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  // With another capture under way nothing of CUPTI's may be called; it has had the counters stopped.
  if (!session_.running() || !captures_.only_one()) return;
  // A kept session may run on while a stream waits for the host: it measures marked ranges alone, and none is open.
  if (host_waits_.pending()) return;
  if (state_.load(std::memory_order_relaxed) != State::collecting) return settle_what_is_due();
  if (session_.rotates()) {
    give_up_step("the program captures a stream in this step, for which its counters have to pause");
    pauses_ = true;  // the steps to come
    return;
  }
  CounterSession::Failure failure;
  if (!session_.pause(&failure)) fail_step(failure);
}

void Replay::stream_will_wait() noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  // What closes a range waits for the device, under the lock that this thread takes after its call.
  const auto until = std::chrono::steady_clock::now() + kLongestLaunch;
  while (session_.running() && !under_way_.empty() && std::chrono::steady_clock::now() < until) {
    lock.unlock();
    std::this_thread::sleep_for(kPollPause);
    lock.lock();
  }
  if (!session_.running() || host_waits_.pending()) return;
  const bool collecting = state_.load(std::memory_order_relaxed) == State::collecting;
  if (collecting) waits_ = true;
  if (session_.marks_kernels() && collecting) return;
  const CaptureHold hold(captures_);
  if (!hold) return;  // the capture has it pause
  if (!collecting) return settle_what_is_due();
  if (session_.rotates()) {
    give_up_step(
        "a stream of the program waits for the host in this step, for which its counters have to pause");
    pauses_ = true;  // the steps to come
    return;
  }
  CounterSession::Failure failure;
  if (!session_.pause(&failure)) fail_step(failure);
}

// Something went wrong between two launches: the step is given up, the program goes on.
void Replay::fail_step(const CounterSession::Failure& failure) noexcept {
  try {
    give_up_step(std::string(failure.what) + " failed: " + api_.error_text(failure.result));
  } catch (...) {
    give_up_step(failure.what);
  }
  note_failure(failure.result);
}

void Replay::give_up_step(std::string_view why) noexcept {
  try {
    message(Severity::warning, spool::Topic::replay, name_of_step(step_.index) + ": " + std::string(why));
  } catch (...) {  // out of memory: the step's record says it
  }
  report(spool::CounterStatus::failed, why);
  if (host_waits_.pending()) return state_.store(State::to_close, std::memory_order_release);
  close();
  state_.store(State::idle, std::memory_order_release);
}

// A failure of CUPTI's is the step's; several one after the other are the end of counting, not of the program.
void Replay::note_failure(CUptiResult result) noexcept {
  if (result == CUPTI_ERROR_HARDWARE_BUSY || result == CUPTI_SUCCESS || ++failures_of_cupti_ < kMaxFailures)
    return;
  give_up_counting("counters failed in three steps in a row");
}

void Replay::give_up_counting(std::string_view why) noexcept {
  if (readiness_ == Readiness::ruled_out) return;
  readiness_ = Readiness::ruled_out;
  try {
    ruled_out_reason_ = std::string(why) + ": no more are taken in this recording";
    message(Severity::warning, spool::Topic::replay, ruled_out_reason_);
  } catch (...) {  // without its reason
  }
}

bool Replay::close_given_up(std::uint32_t thread_id) noexcept {
  const CaptureHold hold(captures_);
  if (!hold || !host_waits_over(thread_id)) return false;
  close();
  state_.store(State::idle, std::memory_order_release);
  return true;
}

void Replay::finish_pending() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::to_finish) return;
  const CaptureHold hold(captures_, kCapturePatience);
  if (hold && host_waits_over(0)) {
    finish();
  } else {
    report(spool::CounterStatus::failed, kNotNow);
    state_.store(State::to_close, std::memory_order_release);
  }
  steps_.release();
}

void Replay::close_kept() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::to_close) {
    close_given_up(0);
    return;
  }
  if (state == State::idle) close_left_over(0);
}

void Replay::close_left_over(std::uint32_t thread_id) noexcept {
  if (session_.enabled()) {
    const CaptureHold hold(captures_);
    if (!hold || !host_waits_over(thread_id)) return;
    close();
  }
  left_over_.store(false, std::memory_order_relaxed);
}

void Replay::tend(std::int64_t now_ns) noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || measuring()) return;
  left_over_.store(session_.enabled() && now_ns - finished_ns_ >= kKeptNs, std::memory_order_relaxed);
}

std::string Replay::overdue(std::int64_t now_ns, std::int64_t limit_ns) noexcept try {
  LaunchWatch::Launch launch;
  if (!watch_.overdue(now_ns, limit_ns, &launch)) return {};
  // The launch is still inside the driver, so that its name is still there.
  const std::string kernel = launch.name != nullptr ? launch.name : "a CUDA graph";
  if (launch.kernel_id != 0) exclusions_.used(launch.kernel_id, Exclusions::Reason::time_out);
  spool::CounterStepRecord record{};
  record.step_index = launch.step;
  record.status = spool::CounterStatus::failed;
  record.reason = writer_.intern_reserved("a kernel did not end when run alone");
  writer_.put_reserved(record);
  return name_of_step(record.step_index) + " hangs: " + kernel +
         " was run alone to be measured and did not end in " + std::to_string(limit_ns / 1'000'000'000) +
         "." + std::to_string(limit_ns / 100'000'000 % 10) + " s: it waits for another kernel, and " +
         "nothing can free it; the program is ended. Record it with --replay-exclude " + kernel +
         " to leave it out";
} catch (...) {
  return {};
}

}  // namespace ridgeline::agent
