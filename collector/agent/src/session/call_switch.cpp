#include "session/call_switch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "cupti/launch_params.h"
#include "cupti/order_calls.h"
#include "cupti/wait_calls.h"
#include "ridgeline/base/cancellation.h"

namespace ridgeline::agent {
namespace {

constexpr std::chrono::microseconds kBetweenLooks{100};
// For a thread that CUPTI is about to call back, and for what it wrote to be seen.
constexpr std::chrono::microseconds kSettle{50};
constexpr std::chrono::microseconds kLookAtSwitch{20};
constexpr std::chrono::milliseconds kLongestWait{20};
// A try that fails has kept threads waiting: the next one comes later each time.
constexpr std::chrono::milliseconds kFirstPause{10}, kLongestPause{1000};

}  // namespace

CallSwitch::CallSwitch(SessionState& parts) noexcept : session_(parts) {
  for (const auto& ids : {wait_callbacks(), event_callbacks()})
    for (const CUpti_CallbackId id : ids)
      if (id < kinds_.size() && !memory_call(id)) kinds_[id] = Kind::other;
  for (const CUpti_CallbackId id : kLaunchCallbacks)
    if (id < kinds_.size()) kinds_[id] = Kind::launch;
}

void CallSwitch::enters_beside_switch(const std::atomic<bool>& off, CUpti_CallbackId id) noexcept {
  const NoCancellation whole;
  const auto until = Clock::now() + kLongestWait;
  while (switching_.load(std::memory_order_acquire) && Clock::now() < until)
    std::this_thread::sleep_for(kLookAtSwitch);
  if (is_graph_launch(id) && session_.host_waits.in_graphs()) return;  // they stay on
  if (off.load(std::memory_order_acquire)) came_late();
}

// CUPTI was about to call back when the callbacks went off: they are on again before this thread goes on, and off at
// the exit of its call.
void CallSwitch::came_late() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!others_off_.load(std::memory_order_relaxed)) return;  // another one did it
  not_before_ = {};
  pause_ = kFirstPause;
  wanted_launches_ = launches_off_.load(std::memory_order_relaxed);
  set(true, wanted_launches_);
  wanted_.store(true, std::memory_order_relaxed);
}

void CallSwitch::off_as_last(ThreadState& thread) noexcept {
  if (thread.launches_inside + thread.others_inside == 1) off_if_wanted(&thread);
}

bool CallSwitch::anyone_inside(bool launches_too, const ThreadState* own) const noexcept {
  return any_thread_but(own, [&](const ThreadState& thread) {
    return thread.generation == session_.generation &&
           (thread.others_inside.load(std::memory_order_acquire) != 0 ||
            (launches_too && thread.launches_inside.load(std::memory_order_acquire) != 0));
  });
}

// What says that they are off is there as long as one of them may be: a thread that comes to an entry meanwhile waits
// in came_late() for the mutex, and goes on with all of them on.
void CallSwitch::set(bool on, bool launches_too) noexcept {
  const auto say = [&] {
    others_off_.store(!on, std::memory_order_release);
    if (launches_too) launches_off_.store(!on, std::memory_order_release);
  };
  if (!on) say();
  CUptiResult failed = CUPTI_SUCCESS, other = CUPTI_SUCCESS;  // of launches, of other calls
  for (std::size_t id = 0; id < kinds_.size(); ++id) {
    const auto call = static_cast<CUpti_CallbackId>(id);
    if (kinds_[id] == Kind::none || (kinds_[id] == Kind::launch && !launches_too)) continue;
    if (!on && is_graph_launch(call) && session_.host_waits.in_graphs()) continue;
    const auto switch_it = [&] {
      return session_.api->enable_callback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
    };
    CUptiResult result = switch_it();
    if (!on) {
      went_off_[id] = result == CUPTI_SUCCESS;  // one that this driver lacks does not
    } else if (result != CUPTI_SUCCESS && went_off_[id]) {
      if (result = switch_it(); result != CUPTI_SUCCESS)
        (kinds_[id] == Kind::launch ? failed : other) = result;
    }
  }
  if (on) say();
  if ((failed == CUPTI_SUCCESS && other == CUPTI_SUCCESS) || std::exchange(failure_said_, true)) return;
  if (failed != CUPTI_SUCCESS)
    session_.message(Severity::error, spool::Topic::timeline_refused,
                     "the timeline ends here: CUPTI does not call back at launches of the program again: " +
                         session_.api->error_text(failed));
  else
    session_.message(
        Severity::warning, spool::Topic::general,
        "what the program waits for is not recorded any more: CUPTI does not call back at such calls "
        "again: " +
            session_.api->error_text(other));
}

bool CallSwitch::try_off(bool launches_too, const ThreadState* own) noexcept {
  if (anyone_inside(launches_too, own)) return false;
  switching_.store(true, std::memory_order_relaxed);
  fence_.seldom();
  bool quiet = !anyone_inside(launches_too, own);
  if (quiet) {
    set(false, launches_too);
    std::this_thread::sleep_for(kSettle);
    quiet = !anyone_inside(launches_too, own);
    if (!quiet) set(true, launches_too);
  }
  switching_.store(false, std::memory_order_release);
  return quiet;
}

void CallSwitch::on() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  wanted_.store(false, std::memory_order_relaxed);
  set(true, true);
}

bool CallSwitch::off(bool launches_too, int looks) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (int i = 0; i < looks; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenLooks);
    if (try_off(launches_too, nullptr)) return true;
  }
  return false;
}

void CallSwitch::off_when_possible() noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    not_before_ = {};
    pause_ = kFirstPause;
    wanted_launches_ = true;
    wanted_.store(true, std::memory_order_relaxed);
  }
  look();
}

void CallSwitch::look() noexcept {
  if (wanted_.load(std::memory_order_relaxed)) off_if_wanted(nullptr);
}

// One at a time, and nobody waits for the other: the mutex is held while an entry may be waited at.
void CallSwitch::off_if_wanted(const ThreadState* own) noexcept {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !wanted_.load(std::memory_order_relaxed)) return;
  if (anyone_inside(wanted_launches_, own)) return;  // costs nobody anything
  const auto now = Clock::now();
  if (now < not_before_) return;
  if (try_off(wanted_launches_, own)) return wanted_.store(false, std::memory_order_relaxed);
  not_before_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

}  // namespace ridgeline::agent
