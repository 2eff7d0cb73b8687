#include "session/counting_stretches.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Steps are found within this, or not at all as a rule.
constexpr std::int64_t kPatienceNs = 2000 * kMillisecond;
constexpr std::uint64_t kLeastLaunches = 500;
// Between two: the program runs as ever, and its timeline goes on.
constexpr std::int64_t kPauseNs = 200 * kMillisecond;
constexpr std::int64_t kLongestNs = 2000 * kMillisecond;
constexpr std::uint32_t kMostLaunches = 20'000;
// Kinds that came too seldom are waited for that often.
constexpr std::uint32_t kRounds = 3;
constexpr std::uint32_t kMostFailures = 3;

}  // namespace

// The next set of which more is worth knowing; false if there is none.
bool CountingStretches::find_next() noexcept {
  const std::uint32_t sets = parts_.replay->stretch_sets();
  for (std::uint32_t tried = 0; tried < sets; ++tried) {
    const std::uint32_t number = number_.load(std::memory_order_relaxed);
    if (number >= kRounds * sets) return false;
    if (parts_.replay->pays_off(number)) return true;
    number_.store(number + 1, std::memory_order_relaxed);
  }
  return false;
}

void CountingStretches::tick(std::int64_t now_ns) noexcept {
  if (over_ || !parts_.replay || !parts_.settings.schedule.has(Phase::replay)) return;
  if (parts_.totals.get(&Count::launches_seen) < kLeastLaunches) return;
  if (launching_since_ns_ == 0) launching_since_ns_ = now_ns;
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::open) return;
  const bool ready = parts_.replay->stretch_sets() > 0 && !parts_.steps.held() &&
                     !parts_.agreement.takes_part() && !parts_.steps.open() &&
                     parts_.steps.steps_begun() == 0 && now_ns - launching_since_ns_ >= kPatienceNs;
  if (!ready) {
    State due = State::due;
    state_.compare_exchange_strong(due, State::idle);
    return;
  }
  if (state == State::due || now_ns - ended_ns_.load(std::memory_order_acquire) < kPauseNs) return;
  if (parts_.replay->wants_launch() || parts_.replay->evaluating()) return;
  parts_.without_steps.review();
  if (parts_.replay->failures_in_a_row() >= kMostFailures || !find_next()) {
    over_ = true;
    return;
  }
  state_.store(State::due, std::memory_order_release);
}

void CountingStretches::note_launch(ThreadState& thread, bool graph) noexcept {
  if (lock_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it
  switch (state_.load(std::memory_order_relaxed)) {
    case State::idle:
      break;
    case State::due:
      if (!graph) begin(thread);
      break;
    case State::open:
      if (++launches_ >= kMostLaunches || parts_.steps.held() || parts_.replay->stretch_done() ||
          parts_.now_ns() - begun_ns_ >= kLongestNs)
        end(thread);
      break;
  }
  lock_.clear(std::memory_order_release);
}

void CountingStretches::begin(ThreadState& thread) noexcept {
  const AgentCall call{parts_.gate, thread};
  if (!call) return;
  StepTracker::Step step{};
  const std::uint32_t number = number_.load(std::memory_order_relaxed);
  if (!parts_.steps.begin_stretch(number, parts_.replay->stretch_sets(), &step)) {
    state_.store(State::idle, std::memory_order_release);
    return;
  }
  conductor_.prepare_stretch();
  begun_ns_ = parts_.now_ns();
  launches_ = 0;
  const std::uint32_t config_id = parts_.replay->arm(step, thread.thread_id, false, 0);
  parts_.steps.write_begin(step, config_id, begun_ns_, thread.thread_id, spool::kStepByTime);
  number_.store(number + 1, std::memory_order_relaxed);
  state_.store(State::open, std::memory_order_release);
}

void CountingStretches::end(ThreadState& thread) noexcept {
  const AgentCall call{parts_.gate, thread};
  if (!call) return;
  if (parts_.steps.active() >= spool::kFirstStretch && parts_.steps.active() != spool::kNoStep) {
    parts_.steps.end(parts_.now_ns());
    if (parts_.replay->step_end(thread.thread_id)) parts_.steps.release();
  }
  ended_ns_.store(parts_.now_ns(), std::memory_order_release);
  state_.store(State::idle, std::memory_order_release);
}

}  // namespace ridgeline::agent
