#include "session/stretches.h"

#include <algorithm>

#include "tiers/sampling_plan.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Steps are found within this, or not at all as a rule.
constexpr std::int64_t kPatienceNs = 2000 * kMillisecond;
constexpr std::uint64_t kMinLaunches = 500;
// Between two: the program runs as ever, and its timeline goes on.
constexpr std::int64_t kPauseNs = 200 * kMillisecond;
constexpr std::int64_t kLongestNs = 2000 * kMillisecond;
constexpr std::uint32_t kMaxLaunches = 20'000;
// Kinds that came too seldom are waited for that often.
constexpr std::uint32_t kRounds = 3;
constexpr std::uint32_t kMaxFailures = 3;
constexpr std::uint32_t kMaxMissedWindows = 3;
// What windows saw of the time by then is enough.
constexpr std::uint32_t kMaxWindows = 8;
constexpr std::int64_t kSetUpNs = 300 * kMillisecond;
constexpr std::int64_t kBetweenWindowsNs = 700 * kMillisecond;
// While streams wait for the host. After that it makes room for steps, and is due again later.
constexpr std::int64_t kDueNs = 1000 * kMillisecond;
constexpr double kShareSeen = 0.98;

}  // namespace

bool Stretches::may_begin(std::int64_t now_ns) const noexcept {
  if (session_.steps.held() || session_.agreement.takes_part()) return false;
  if (session_.steps.steps_begun() > 0) return session_.steps.schedule_over() && session_.steps.vary();
  return !session_.steps.open() && now_ns - launching_since_ns_ >= kPatienceNs;
}

bool Stretches::wants_samples(std::int64_t now_ns) noexcept {
  if (sampling_over_ || !session_.sampling || !session_.settings.sampling_allowed ||
      !session_.sampling->prepared())
    return false;
  if (!session_.sampling->open() && to_settle_.exchange(false)) settle_window();
  sampling_over_ =
      no_samples_.load(std::memory_order_relaxed) || windows_.load(std::memory_order_relaxed) >= kMaxWindows;
  // Out of the same budget as counters.
  sampling_over_ = sampling_over_ || (session_.replay && !session_.replay->affords(kSetUpNs));
  if (sampling_over_ || session_.sampling->open() || now_ns - sampled_ns_ < kBetweenWindowsNs) return false;
  sampled_ns_ = now_ns;
  double all_ns = 0, seen_ns = 0;
  session_.times.by_size.for_each([&](counting::Kind kind, counting::LaunchTimes::Times times) {
    all_ns += static_cast<double>(times.time_ns);
    if (session_.sampled_kinds.of(kind).launches > 0) seen_ns += static_cast<double>(times.time_ns);
  });
  return seen_ns < kShareSeen * all_ns;
}

// A window that was missed is none of those that may be taken; the next one makes room for what starting took.
void Stretches::settle_window() noexcept {
  const bool missed = conductor_.settle_sampled_kinds();
  if (!missed || windows_.load(std::memory_order_relaxed) == 0) return;  // of steps: theirs to repeat
  if (missed_windows_.fetch_add(1, std::memory_order_relaxed) >= kMaxMissedWindows) {
    session_.sampling->give_up_repeating("three more windows were tried");
    no_samples_.store(true, std::memory_order_relaxed);
  } else {
    windows_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// The next set of which more is worth knowing, if there is one.
bool Stretches::wants_counters() noexcept {
  if (counting_over_ || !session_.replay || !session_.settings.schedule.has(Phase::replay)) return false;
  const std::uint32_t sets = session_.replay->stretch_sets();
  if (sets == 0 || session_.replay->wants_launch() || session_.replay->evaluating()) return false;
  if (session_.sampling && session_.sampling->open()) return false;  // both want the device's counters
  session_.without_steps.review();
  counting_over_ = session_.replay->failures_in_a_row() >= kMaxFailures;
  for (std::uint32_t tried = 0; tried < sets && !counting_over_; ++tried) {
    const std::uint32_t number = number_.load(std::memory_order_relaxed);
    if (number >= kRounds * sets) break;
    if (session_.replay->pays_off(number)) return true;
    number_.store(number + 1, std::memory_order_relaxed);
  }
  counting_over_ = true;
  session_.budget.take_part(false);
  return false;
}

void Stretches::tick(std::int64_t now_ns) noexcept {
  if (sampling_over_ && counting_over_) return;
  if (session_.launches_seen() < kMinLaunches) return;
  if (launching_since_ns_ == 0) launching_since_ns_ = now_ns;
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::open) return;
  if (!may_begin(now_ns)) {
    State due = State::due;
    if (state_.compare_exchange_strong(due, State::idle)) session_.steps.reserve(false);
    return;
  }
  if (state == State::due || now_ns - ended_ns_.load(std::memory_order_acquire) < kPauseNs) return;
  // In turn: a program that ends soon has some of both.
  const bool counters_next = samples_.load(std::memory_order_relaxed);
  const bool counters = counters_next && wants_counters();
  const bool samples = !counters && wants_samples(now_ns);
  if (!samples && !counters && (counters_next || !wants_counters())) return;
  samples_.store(samples, std::memory_order_relaxed);
  session_.steps.reserve(session_.steps.steps_begun() > 0);
  due_ns_.store(now_ns, std::memory_order_relaxed);
  state_.store(State::due, std::memory_order_release);
}

void Stretches::note_launch(ThreadState& thread, bool graph) noexcept {
  if (lock_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it
  switch (state_.load(std::memory_order_relaxed)) {
    case State::idle:
      break;
    case State::due:
      if (!graph || samples_.load(std::memory_order_relaxed)) begin(thread);
      break;
    case State::open:
      ++launches_;
      if (is_over()) end(thread);
      break;
  }
  lock_.clear(std::memory_order_release);
}

bool Stretches::is_over() noexcept {
  if (launches_ >= kMaxLaunches || session_.steps.held()) return true;
  const std::int64_t lasts_ns = session_.now_ns() - begun_ns_;
  if (samples_.load(std::memory_order_relaxed)) {
    if (lasts_ns < late_ns_) unsampled_ = session_.steps.current().count();
    return lasts_ns >= window_ns_;
  }
  return session_.replay->stretch_done() || lasts_ns >= kLongestNs;
}

void Stretches::begin(ThreadState& thread) noexcept {
  if (session_.steps.open()) return;  // the step before it is not over
  const AgentCall call{session_.gate, thread};
  if (!call) return;
  // What it sets up waits for the device, and a stream there perhaps for this thread: at a launch to come.
  const bool waits = session_.host_waits.pending();
  if (waits && session_.now_ns() - due_ns_.load(std::memory_order_relaxed) < kDueNs) return;
  if (waits) conductor_.tell_put_off();
  if (waits || !conductor_.has_turn_for_stretch()) {  // another process has the counters: after a pause
    session_.steps.reserve(false);
    ended_ns_.store(session_.now_ns(), std::memory_order_release);
    return state_.store(State::idle, std::memory_order_release);
  }
  const bool samples = samples_.load(std::memory_order_relaxed);
  StepTracker::Step step{};
  const std::uint32_t number =
      samples ? windows_.load(std::memory_order_relaxed) : number_.load(std::memory_order_relaxed);
  const std::uint32_t planned = samples ? kMaxWindows : session_.replay->stretch_sets();
  const bool begun =
      session_.steps.begin_stretch(samples ? Phase::sample : Phase::replay, number, planned, &step);
  session_.steps.reserve(false);
  if (!begun) {
    session_.turns.begun();  // and over
    conductor_.end_unused_turn();
    state_.store(State::idle, std::memory_order_release);
    return;
  }
  launches_ = 0;
  samples ? begin_sampling(step, thread) : begin_counting(step, thread);
  session_.turns.begun();
  state_.store(State::open, std::memory_order_release);
}

void Stretches::begin_counting(const StepTracker::Step& step, ThreadState& thread) noexcept {
  conductor_.prepare_counted_stretch();
  begun_ns_ = session_.now_ns();
  conductor_.set_aside_for_records();
  session_.budget.take_part(true);
  const std::uint32_t config_id = session_.replay->arm(step, true, thread.thread_id, false, 0);
  session_.steps.write_begin(step, config_id, begun_ns_, thread.thread_id, spool::kStepByTime);
  number_.fetch_add(1, std::memory_order_relaxed);
}

void Stretches::begin_sampling(const StepTracker::Step& step, ThreadState& thread) noexcept {
  window_ns_ = window_by_time_ns(windows_.load(std::memory_order_relaxed),
                                 session_.times.by_size.duration_at_ns(kShareOfShortKernels));
  late_ns_ = session_.sampling->allowance_ns();
  window_ns_ += late_ns_;
  unsampled_ = 0;
  const bool measured = conductor_.prepare_sampled_stretch(
      step, window_ns_, missed_windows_.load(std::memory_order_relaxed) < kMaxMissedWindows);
  no_samples_.store(!measured && !conductor_.was_put_off() && !session_.sampling->missed(),
                    std::memory_order_relaxed);
  to_settle_.store(true, std::memory_order_release);
  begun_ns_ = session_.now_ns();
  const std::uint16_t unmeasured = measured ? 0 : spool::kStepUnmeasured;
  session_.steps.write_begin(step, 0, begun_ns_, thread.thread_id,
                             static_cast<std::uint16_t>(spool::kStepByTime | unmeasured));
  windows_.fetch_add(1, std::memory_order_relaxed);
}

void Stretches::end(ThreadState& thread) noexcept {
  const AgentCall call{session_.gate, thread};
  if (!call) return;
  if (session_.steps.active() >= spool::kFirstStretch && session_.steps.active() != spool::kNoStep) {
    const StepTracker::Step step = session_.steps.end(session_.now_ns());
    bool done = true;
    if (samples_.load(std::memory_order_relaxed))
      conductor_.end_sampled(step, unsampled_);
    else
      done = session_.replay->step_end(thread.thread_id);
    if (!samples_.load(std::memory_order_relaxed)) session_.others.measured(step.index, session_.now_ns());
    if (done) session_.steps.release();
  }
  ended_ns_.store(session_.now_ns(), std::memory_order_release);
  state_.store(State::idle, std::memory_order_release);
}

}  // namespace ridgeline::agent
