#include "session/alone_steps.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "ridgeline/base/spin_guard.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// A timeline phase is cut in so many parts, with a block that runs alone between two of them: as many as fit, since a
// host's pace drifts, each block is compared with the recorded ones beside it, and where steps vary by a tenth it takes
// fifty of them to tell 3 % of a step.
constexpr std::uint32_t kMinParts = 4, kMaxParts = 64;
// Steps of a block. It begins with a device without work, as those of a program that runs ahead of its device never do:
// the longer it is, the less that is of its pace. More than three where so many parts are left, but no more than take a
// second, if three do not; of steps of a second and more, one.
constexpr std::uint32_t kMinSteps = 3, kMaxSteps = 10, kPartsBeforeLonger = 12;
constexpr std::int64_t kLongNs = 1000 * kMillisecond;
// Of a part: the first step; behind a block that ran alone one passes in which recording comes back.
constexpr std::uint32_t kStepsBeside = 2;
// A program may do something more in every second or eighth step. Of short blocks at even distances those that run
// alone would have such a step always, or never, and so would the recorded ones. So each begins up to three steps later
// than its part, by a number that follows from the part's, where the part has steps to spare: those of blocks that are
// short because a step takes long.
constexpr std::uint32_t kMaxDelay = 3;
// A program that never waits is as many launches ahead as the queue of the device holds, some thousand: of 0.1 ms each,
// more than 100 ms.
constexpr std::int64_t kThroughPatienceNs = 500 * kMillisecond;
constexpr std::int64_t kStepPatienceNs = 100 * kMillisecond;
constexpr int kTimedCalls = 2000;
constexpr int kLooksAtCalls = 50;  // of other threads, 100 us apart
constexpr int kMaxPutOff = 3;      // blocks one after the other
// In a program with graphs nothing was loaded or changed for so many steps.
constexpr std::uint32_t kSettledSteps = 4;

// Numbers in a row become such as have no period: the finaliser of MurmurHash3.
constexpr std::uint32_t mixed(std::uint32_t number) noexcept {
  number *= 0x9E3779B9U;
  number = (number ^ number >> 16) * 0x85EBCA6BU;
  number = (number ^ number >> 13) * 0xC2B2AE35U;
  return number ^ number >> 16;
}

}  // namespace

// In a phase of so many.
std::uint32_t AloneSteps::steps_of_block(std::uint32_t phase_steps) const noexcept {
  if (session_.settings.alone_keeps_records) return kMinSteps;
  const std::uint32_t part = phase_steps / kPartsBeforeLonger;
  return std::clamp(part > kStepsBeside ? part - kStepsBeside : 0, kMinSteps, kMaxSteps);
}

// In a phase of so many, of steps that take so long.
std::uint32_t AloneSteps::steps_of_block(std::uint32_t phase_steps, std::int64_t usual_ns) const noexcept {
  return std::min({session_.settings.alone_steps, steps_of_block(phase_steps), steps_by_time(usual_ns)});
}

// Of steps that take so long.
std::uint32_t AloneSteps::steps_by_time(std::int64_t usual_ns) noexcept {
  if (usual_ns >= kLongNs) return 1;
  const std::int64_t fit = kLongNs / std::max<std::int64_t>(usual_ns, 1);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(fit, kMinSteps, kMaxSteps));
}

// By the position of the step in its phase, which steps beside the schedule do not move.
AloneSteps::Kind AloneSteps::kind_of_block_at(const StepTracker::Step& step,
                                              std::int64_t usual_ns) const noexcept {
  if (step.phase != Phase::timeline || step.phase_steps < kMinParts * (kMinSteps + kStepsBeside))
    return Kind::none;
  const std::uint32_t fit = step.phase_steps / (steps_of_block(step.phase_steps) + kStepsBeside);
  const std::uint32_t parts = session_.settings.alone_keeps_records ? fit : std::min(fit, kMaxParts);
  const auto at = static_cast<std::uint32_t>(step.phase_steps - step.steps_left);
  const std::uint32_t part = step.phase_steps / parts;
  const std::uint32_t number = at / part;
  if (number >= parts) return Kind::none;
  const std::uint32_t taken = steps_of_block(step.phase_steps, usual_ns) + kStepsBeside;
  const std::uint32_t room = part > taken && !session_.settings.alone_keeps_records ? part - taken : 0;
  const std::uint32_t delay = mixed(number) % (std::min(room, kMaxDelay) + 1);
  if (at % part == delay && number > 0) return at == alone_at_ ? Kind::none : Kind::alone;
  return at % part == delay + 1 ? Kind::recorded : Kind::none;
}

// Every launch that was noted has its record, and its device was seen to be through with it. One that another thread is
// inside of was noted at its entry and is counted at its exit: whether there is one is asked before the count.
bool AloneSteps::device_is_through(std::int64_t usual_ns) noexcept {
  const std::int64_t give_up = session_.now_ns() + kThroughPatienceNs + 4 * usual_ns;
  const ThreadState* own = this_thread(session_.generation);
  const auto is_inside = [&](const ThreadState& thread) {
    return thread.generation == session_.generation && thread.launch_noted.load(std::memory_order_acquire);
  };
  while (!session_.gate.closed()) {
    session_.timeline->flush();
    bool through = !any_thread_but(own, is_inside) && session_.totals.get(&Count::kernel_records) +
                                                              session_.totals.get(&Count::dropped_records) >=
                                                          session_.launches_seen();
    for (std::uint32_t device = 0; device < kMaxDevices && through; ++device)
      if ((session_.device_launches.used() >> device & 1) != 0)
        through = static_cast<std::int32_t>(session_.timeline->newest_correlation_id(device) -
                                            session_.device_launches.latest(device)) >= 0;
    through = through && (!session_.graphs_seen.load(std::memory_order_relaxed) ||
                          graphs_state() == GraphLaunches::State::through);
    if (through) return true;
    // Another thread waits until recording is on: perhaps the device waits for what it launches next.
    if (back_asked_.load() || session_.now_ns() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

// Off in this order: what other threads launch meanwhile is not noted, but traced, and so is what was noted before, to
// its end on the device, which may not come. The callbacks go last, when no thread is in a call.
AloneSteps::Off AloneSteps::switch_off() noexcept {
  active_.store(true, std::memory_order_release);
  note_(false);
  session_.nvtx.mute(true);
  Off off = Off::never;
  if (device_is_through(usual_ns_)) {
    if (!session_.settings.alone_keeps_records) session_.timeline->switch_off();
    off = calls_->off(!by_period_ && !careful(), kLooksAtCalls) ? Off::yes : Off::not_now;
  }
  if (off != Off::yes) switch_on();
  return off;
}

void AloneSteps::switch_on() noexcept {
  calls_->on();
  if (!session_.settings.alone_keeps_records) session_.timeline->switch_on();
  note_(true);
  session_.nvtx.mute(false);
  active_.store(false, std::memory_order_release);
  careful_.store(false, std::memory_order_release);
}

void AloneSteps::watch_loads() noexcept {
  if (session_.settings.alone_steps == 0 || !session_.settings.alone_in_graphs ||
      watches_loads_.load(std::memory_order_relaxed) || watches_loads_.exchange(true))
    return;
  for (const CUpti_CallbackId id : load_callbacks())
    session_.api->enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

std::uint32_t AloneSteps::newest_record() const noexcept {
  std::uint32_t newest = 0;
  for (std::uint32_t device = 0; device < kMaxDevices; ++device)
    newest = std::max(newest, session_.timeline->newest_correlation_id(device));
  return newest;
}

GraphLaunches::State AloneSteps::graphs_state() const noexcept {
  const GraphLaunches* graphs = session_.timeline->graphs();
  return graphs != nullptr ? graphs->state(newest_record()) : GraphLaunches::State::unknown;
}

bool AloneSteps::is_settled(const StepTracker::Step& step) const noexcept {
  session_.timeline->flush();
  return step.index >= changed_at_.load(std::memory_order_relaxed) + kSettledSteps &&
         graphs_state() != GraphLaunches::State::unknown;
}

void AloneSteps::refuse(const char* why) noexcept {
  if (refused_.exchange(true)) return;
  session_.message(Severity::info, spool::Topic::price,
                   std::string("what recording costs was not measured: ") + why);
}

void AloneSteps::begin(Kind kind, StepTracker::Step* step, std::int64_t usual_ns, bool by_period) noexcept {
  if (kind == Kind::alone) alone_at_ = static_cast<std::uint32_t>(step->phase_steps - step->steps_left);
  const bool graphs = session_.graphs_seen.load(std::memory_order_relaxed);
  if (graphs && !session_.settings.alone_in_graphs)
    refuse("the program uses CUDA graphs, beside which tracing is not switched off");
  if (session_.agreement.takes_part())
    refuse("the program launches collectives, and its processes would be in different steps");
  if (session_.host_waits.seen())
    refuse("streams of the program wait for the host, beside which tracing is not switched off");
  if (session_.budget.sharers() > 1)
    refuse("another process of the recording counts its kernels on this GPU meanwhile");
  if (refused_.load(std::memory_order_relaxed) || (graphs && !is_settled(*step))) return;
  const std::int64_t since_ns = session_.now_ns();
  if (!device_is_through(usual_ns)) {
    if (!back_asked_.load()) refuse("the device was never through with what was launched");
    return;  // the next block's turn comes
  }
  by_period_ = by_period;
  block_ = {};
  block_.first_step = step->index;
  block_.steps = steps_of_block(step->phase_steps, usual_ns);
  launches_.store(0, std::memory_order_relaxed);
  own_ns_.store(0, std::memory_order_relaxed);
  if (kind == Kind::alone) {
    const QuietHold hold(session_.captures, session_.host_waits);
    if (!hold) return;
    block_.header.flags =
        static_cast<std::uint16_t>(spool::kBlockAlone | (by_period ? spool::kBlockByPeriod : 0));
    session_.timeline->expect_unnoted();
    careful_.store(graphs, std::memory_order_release);
    if (const Off off = switch_off(); off != Off::yes) {
      come_back_in(step);
      if (off == Off::never && !back_asked_.load())
        refuse("the device was never through with what was launched");
      if (off == Off::not_now && ++put_off_ == kMaxPutOff)
        refuse(
            "another thread of the program was always inside a call, beside which callbacks are not switched "
            "off");
      return;  // the next block's turn comes
    }
    put_off_ = 0;
    session_.steps.run_alone(step);
  }
  block_.start_ns = session_.now_ns();
  block_.switch_ns = block_.start_ns - since_ns;
  latest_boundary_ns_.store(block_.start_ns, std::memory_order_release);
  steps_begun_ = 1;
  kind_ = kind;
}

void AloneSteps::come_back_in(StepTracker::Step* step) noexcept {
  session_.steps.defer(step, false);
  back_in_.store(step->index, std::memory_order_relaxed);
}

void AloneSteps::end(StepTracker::Step* step, std::int64_t boundary_ns) noexcept {
  const bool alone = kind_ == Kind::alone;
  kind_ = Kind::none;
  const std::int64_t since_ns = session_.now_ns();
  if (alone) {
    switch_on();
    // Recording comes back in the midst of this one's first launch: it is none of the steps that are looked at.
    come_back_in(step);
  }
  block_.end_ns = boundary_ns;
  block_.switch_ns += alone ? session_.now_ns() - since_ns : 0;
  block_.launches = launches_.load(std::memory_order_relaxed);
  block_.own_ns = own_ns_.load(std::memory_order_relaxed);
  block_.callback_ps = callback_ps_;
  session_.writer.put(block_);
}

void AloneSteps::on_step_begin(StepTracker::Step* step, std::int64_t boundary_ns, std::int64_t usual_ns,
                               bool by_period) noexcept {
  if (session_.settings.alone_steps == 0 || !session_.timeline || session_.timeline->ended()) return;
  const SpinGuard guard(lock_);
  if (come_back_if_asked()) return come_back_in(step);
  take_step(step, boundary_ns, usual_ns, by_period);
  come_back_if_asked();
}

void AloneSteps::take_step(StepTracker::Step* step, std::int64_t boundary_ns, std::int64_t usual_ns,
                           bool by_period) noexcept {
  latest_boundary_ns_.store(boundary_ns, std::memory_order_release);
  if (kind_ != Kind::none) {
    if (step->index == block_.first_step + steps_begun_ && steps_begun_ < block_.steps &&
        (kind_ == Kind::recorded || (step->phase == Phase::timeline && active()))) {
      ++steps_begun_;
      if (kind_ == Kind::alone) session_.steps.run_alone(step);
      return;
    }
    if (step->index == block_.first_step + block_.steps && steps_begun_ == block_.steps) {
      end(step, boundary_ns);
    } else if (kind_ == Kind::alone) {
      switch_on();  // the schedule began anew
      come_back_in(step);
    }
    kind_ = Kind::none;
  }
  if ((step->flags & spool::kStepDeferred) != 0) return;
  usual_ns_ = usual_ns;
  const Kind kind = kind_of_block_at(*step, usual_ns);
  if (kind == Kind::none) return;
  alone_begins_.store(kind == Kind::alone);
  begin(kind, step, usual_ns, by_period);
  alone_begins_.store(false);
}

void AloneSteps::drop() noexcept {
  if (lock_.test_and_set(std::memory_order_acquire))
    return;  // a step begins: it sees to it, or the next turn does
  if (kind_ == Kind::alone) switch_on();
  kind_ = Kind::none;
  lock_.clear(std::memory_order_release);
}

// Another thread may have the lock, which switches recording off this moment: it is waited for, and if that takes too
// long, it sees to it when it is through.
void AloneSteps::come_back(std::chrono::milliseconds patience) noexcept {
  back_asked_.store(true);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (lock_.test_and_set(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() >= give_up) return;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  come_back_if_asked();
  lock_.clear(std::memory_order_release);
}

bool AloneSteps::come_back_if_asked() noexcept {
  if (!back_asked_.exchange(false) || kind_ != Kind::alone) return false;
  switch_on();
  kind_ = Kind::none;
  return true;
}

void AloneSteps::code_comes() noexcept {
  changed_at_.store(session_.steps.steps_begun(), std::memory_order_relaxed);
  const SpinGuard guard(lock_);  // a block that begins this moment has begun then
  if (kind_ == Kind::alone && active()) switch_on();
  kind_ = Kind::none;
}

void AloneSteps::module_loaded() noexcept {
  changed_at_.store(session_.steps.steps_begun(), std::memory_order_relaxed);
  const bool alone = active();
  if (!alone && !(session_.timeline && session_.timeline->is_off())) return;
  loaded_untraced_.store(true, std::memory_order_relaxed);
  if (!alone) return loaded_between_windows_.store(true, std::memory_order_relaxed);
  refuse("the program loads modules in the midst of its steps");
}

void AloneSteps::on_graph_begin(std::chrono::milliseconds patience) noexcept {
  watch_loads();
  changed_at_.store(session_.steps.steps_begun(), std::memory_order_relaxed);
  if (may_run_alone()) come_back(patience);
  if (!loaded_untraced_.load(std::memory_order_relaxed) || !session_.timeline->end()) return;
  const bool between = loaded_between_windows_.load(std::memory_order_relaxed);
  session_.message(
      Severity::error, spool::Topic::timeline_refused,
      std::string("the timeline ends here: the program makes a CUDA graph, and kernels that it loaded while "
                  "nothing was recorded, ") +
          (between ? "between two recording windows, would fail in it; record it in one window"
                   : "to measure what recording costs, would fail in it; record it with --alone-steps 0"));
}

void AloneSteps::tick(std::int64_t now_ns) noexcept {
  if (session_.settings.alone_steps == 0) return;
  if (!measured_ && session_.device_launches.used() != 0) {
    measured_ = true;
    measure_callback();
  }
  const std::int64_t boundary_ns = latest_boundary_ns_.load(std::memory_order_acquire);
  if (active() && now_ns - boundary_ns > kStepPatienceNs + 4 * std::max<std::int64_t>(usual_ns_, 0)) drop();
}

// What CUPTI takes to call and to return, by a call of the driver that does nothing else: with its callback and
// without.
void AloneSteps::measure_callback() noexcept {
  if (subscriber_ == nullptr) return;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  int (*get_version)(int*) = nullptr;
  if (driver != nullptr) get_version = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (get_version == nullptr) return;
  const auto timed = [&] {
    const auto since = std::chrono::steady_clock::now();
    int version = 0;
    for (int i = 0; i < kTimedCalls; ++i) get_version(&version);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - since)
        .count();
  };
  timed();
  // What comes between is none of it.
  const auto min_of_three = [&] { return std::min({timed(), timed(), timed()}); };
  const std::int64_t without = min_of_three();
  // It stays on: another thread may be in that call this moment (session/call_switch.h).
  if (session_.api->enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, kTimedCall) != CUPTI_SUCCESS)
    return;
  const std::int64_t with = min_of_three();
  callback_ps_ = std::max<std::int64_t>(with - without, 0) * 1000 / kTimedCalls;
}

}  // namespace ridgeline::agent
