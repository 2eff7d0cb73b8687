// What the agent's own thread does for a recording: session.h, lifecycle 4.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "ridgeline/base/signal_mask.h"
#include "ridgeline/spool/environment.h"
#include "session/session.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Between the request to end and the end by force of a program that hangs in a replay step.
constexpr std::int64_t kHangGraceNs = 3000 * kMillisecond;
// Until it is asked again what can be counted, of a GPU whose counters are in use.
constexpr std::int64_t kAskPauseNs = 500 * kMillisecond;
// With streams that wait for the host, until the devices are described without CUPTI's profiler.
constexpr std::int64_t kLookForOthersNs = 250 * kMillisecond;
constexpr std::int64_t kDescribePatienceNs = 10'000 * kMillisecond;

std::int64_t monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void Session::start_thread() noexcept {
  const AllSignalsBlocked whole;  // the program's are not for these threads
  try {
    // Reading samples takes seconds, which flushes and clocks cannot wait for.
    const auto start = [this](void (Session::*body)() noexcept) {
      own_threads_.fetch_add(1);
      try {
        return std::thread([this, body] {
          (this->*body)();
          own_threads_.fetch_sub(1, std::memory_order_release);
        });
      } catch (...) {
        own_threads_.fetch_sub(1);
        throw;
      }
    };
    if (session_.sampling) sampling_thread_ = start(&Session::run_sampling);
    thread_ = start(&Session::run);
    pthread_setname_np(thread_.native_handle(), "ridgeline-agent");
  } catch (...) {
    session_.message(
        Severity::warning, spool::Topic::general,
        "the agent cannot start its thread: records reach the spool late, clocks are not sampled");
  }
}

void Session::run_sampling() noexcept {
  if (ThreadState* thread = this_thread(session_.generation)) thread->inside = true;
  pthread_setname_np(pthread_self(), "ridgeline-pm");
  std::unique_lock<std::mutex> lock(thread_mutex_);
  while (!stop_) {
    lock.unlock();
    session_.sampling->tick(session_.now_ns());
    conductor_.end_unused_turn();
    lock.lock();
    if (!stop_) wake_.wait_for(lock, std::chrono::milliseconds(session_.sampling->busy() ? 2 : 20));
  }
}

void Session::run() noexcept {
  if (ThreadState* thread = this_thread(session_.generation))
    thread->inside = true;  // what this thread causes is no launch
  std::uint32_t period_ms = session_.settings.flush_period_ms;
  if (session_.settings.clock_period_ms > 0)
    period_ms = std::min(period_ms, session_.settings.clock_period_ms);
  period_ms = std::clamp(period_ms, 5u, 50u);
  const bool steady = LaunchClock::is_steady();
  std::unique_lock<std::mutex> lock(thread_mutex_);
  while (!stop_) {
    lock.unlock();
    if (steady && cupti_started_) keep_launch_clock();
    tick(session_.now_ns());
    lock.lock();
    if (!stop_) wake_.wait_for(lock, std::chrono::milliseconds(period_ms));
  }
}

void Session::keep_launch_clock() noexcept {
  session_.launch_clock.calibrate([this] { return session_.api->now_ns(); });
}

void Session::tick(std::int64_t now) noexcept {
  session_.writer.maintain();
  if (!cupti_started_ || session_.gate.closed()) return;
  session_.timeline->maintain();
  window_.tend(now);
  alone_.tick(now);
  // In steps that run alone nobody works for the recording; a period that is under way is not judged by them.
  if (alone_.active()) return;
  session_.timeline->drain();
  period_.look_for_period(now);
  try {
    describe_devices(now);
    if (session_.replay && !replay_prepared_ && session_.settings.replay_allowed) prepare_replay();
    if (session_.replay) session_.replay->evaluate();
    if (session_.replay) session_.replay->tend(now);
    conductor_.end_unused_turn();
    stretches_.tick(now);
    watch_for_hang(now);
    if (session_.sampling && !sampling_prepared_ && !session_.gate.closed()) prepare_sampling();
    if (session_.sampling && !session_.gate.closed()) session_.sampling->prepare_again();
    if ((!session_.replay || replay_prepared_ || !session_.settings.replay_allowed) &&
        (!session_.sampling || sampling_prepared_))
      prepare_further_devices();
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
  if (session_.sampling && !sampling_thread_.joinable()) session_.sampling->tick(now);
  if (!window_.collecting() || session_.gate.closed()) return;  // no window: not a trace of the agent
  if (now - last_flush_ns_ >= session_.settings.flush_period_ms * kMillisecond) {
    last_flush_ns_ = now;
    // CUPTI's range profiler and a flush on another thread are not known to get along.
    if (!session_.replay || !session_.replay->collecting()) session_.timeline->flush();
    session_.refresh_totals(now);
    left_out_.write(session_.writer);
    report_losses();
  }
  if (session_.settings.clock_period_ms > 0 &&
      now - last_clock_ns_ >= session_.settings.clock_period_ms * kMillisecond) {
    last_clock_ns_ = now;
    devices_.sample_clocks(now);
  }
  if (session_.wants_counters() && now - last_look_ns_ >= kLookForOthersNs) {
    last_look_ns_ = now;
    devices_.look_for_others();
  }
  if (now - last_pair_ns_ >= 1000 * kMillisecond) {
    last_pair_ns_ = now;
    spool::ClockPairRecord pair{};
    pair.cupti_ns = session_.now_ns();
    pair.realtime_ns = realtime_ns();
    pair.monotonic_ns = monotonic_ns();
    session_.writer.put(pair);
  }
}

// It starts CUPTI's profiler, which waits for contexts, and so for a stream that waits for the host. Where there always
// is such a stream, devices are described without it.
void Session::describe_devices(std::int64_t now) {
  if (!devices_.due()) return;
  if (describing_since_ns_ == 0) describing_since_ns_ = now;
  const QuietHold hold(session_.captures, session_.host_waits);
  if (!hold && !(hold.stream_waits() && now - describing_since_ns_ >= kDescribePatienceNs)) return;
  devices_.describe(static_cast<bool>(hold));
  describing_since_ns_ = 0;
}

bool Session::described_device(std::uint32_t* device_id) const noexcept {
  CUcontext context = session_.first_context.load(std::memory_order_acquire);
  return context != nullptr && session_.api->get_device_id(context, device_id) == CUPTI_SUCCESS &&
         !devices_.chip(*device_id).empty();
}

void Session::prepare_replay() noexcept {
  if (!devices_.profiler_refusal().empty()) {
    replay_prepared_ = true;
    return session_.replay->rule_out(spool::Topic::counters_refused,
                                     "timeline only: CUPTI's profiler cannot start: " +
                                         devices_.profiler_refusal() + "; `ridgeline doctor` tells more");
  }
  std::unique_lock<std::timed_mutex> lock(
      session_.context_mutex);  // the program does not destroy it meanwhile
  std::uint32_t device_id = 0;
  if (!described_device(&device_id)) return;
  if (session_.replay->waits_for_counters() && session_.now_ns() < ask_again_ns_) return;
  const bool available = session_.replay->ask_availability(
      session_.first_context.load(std::memory_order_acquire), device_id, devices_.chip(device_id));
  lock.unlock();
  replay_prepared_ = !session_.replay->waits_for_counters();
  ask_again_ns_ = session_.now_ns() + kAskPauseNs;
  if (available) session_.replay->prepare();
}

// Devices that the program came to use after its first one; the first one's preparations come first, since the
// first sample and replay steps wait for them.
void Session::prepare_further_devices() noexcept {
  const std::uint64_t fresh = session_.device_launches.used() & ~prepared_devices_;
  if (fresh == 0) return;
  for (std::uint32_t device = 0; device < kMaxDevices; ++device) {
    if ((fresh >> device & 1) == 0 || devices_.chip(device).empty() || session_.gate.closed()) continue;
    prepared_devices_ |= std::uint64_t{1} << device;
    if (session_.replay && session_.settings.replay_allowed)
      session_.replay->add_device(device, devices_.chip(device));
    if (session_.sampling && session_.settings.sampling_allowed)
      session_.sampling->prepare(device, devices_.chip(device));
  }
}

void Session::prepare_sampling() noexcept {
  std::uint32_t device_id = 0;
  {
    const std::lock_guard<std::timed_mutex> lock(session_.context_mutex);
    if (!described_device(&device_id)) return;
  }
  sampling_prepared_ = true;
  prepared_devices_ |= std::uint64_t{1} << device_id;
  session_.sampling->prepare(device_id, devices_.chip(device_id));
}

void Session::watch_for_hang(std::int64_t now) noexcept {
  if (!session_.replay) return;
  if (hang_since_ns_ != 0) {
    if (now - hang_since_ns_ >= kHangGraceNs && !hang_killed_) {
      hang_killed_ = true;
      end_process_(SIGKILL);
    }
    return;
  }
  const std::string hang = session_.replay->overdue(now, session_.settings.replay_time_out_ms * kMillisecond);
  if (hang.empty()) return;
  hang_since_ns_ = now;
  session_.message(Severity::error, spool::Topic::replay_time_out, hang);
  session_.refresh_totals(now);
  end_process_(SIGTERM);
}

void Session::report_losses() noexcept {
  if (session_.nvtx.paths_full() && !paths_reported_) {
    paths_reported_ = true;
    session_.message(Severity::warning, spool::Topic::nvtx_paths,
                     "more than " + std::to_string(NvtxTracker::kMaxPaths) +
                         " different nestings of NVTX ranges: launches in the later ones count to the ranges "
                         "round them; give "
                         "ranges names without numbers, or number only the step's (--step-range)");
  }
  const std::uint64_t lost = session_.writer.statistics().records_lost;
  if (lost == 0 || losses_reported_) return;
  losses_reported_ = true;
  session_.message(Severity::error, spool::Topic::spool_full,
                   "records are being lost: " + session_.writer.path() +
                       " cannot grow; free some space, raise ulimit -f or " +
                       spool::environment::kSpoolLimitBytes);
}
}  // namespace ridgeline::agent
