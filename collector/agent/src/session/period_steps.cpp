#include "session/period_steps.h"

#include <sched.h>

#include <cstdio>

#include "ridgeline/base/cancellation.h"
#include "ridgeline/base/spin_guard.h"
#include "ridgeline/spool/environment.h"

namespace ridgeline::agent {
namespace {

// A boundary that does not come for this many steps: the program does something else now.
constexpr std::uint64_t kStepsWithoutBorder = 4;
constexpr std::uint64_t kForeignLaunches = 1000;

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, ns < 100'000'000 ? "%.2f ms" : "%.0f ms", static_cast<double>(ns) / 1e6);
  return text;
}

}  // namespace

// Several contexts launch in no fixed order among each other: the first one's launches count, or those of
// another once the first has gone quiet.
bool PeriodSteps::looks_at(std::uint32_t context_id) noexcept {
  const std::uint32_t context = context_.load(std::memory_order_relaxed);
  if (context != context_id) {
    if (context != 0 && foreign_launches_.fetch_add(1, std::memory_order_relaxed) < kForeignLaunches)
      return false;
    context_.store(context_id, std::memory_order_relaxed);
  }
  if (foreign_launches_.load(std::memory_order_relaxed) != 0)
    foreign_launches_.store(0, std::memory_order_relaxed);
  return true;
}

bool PeriodSteps::note_launch(ThreadState& thread, steps::Key key, const char* kernel_name,
                              std::int64_t now_ns) noexcept {
  if (!period_.launch(key, now_ns)) return false;
  boundary(thread, kernel_name);
  return true;
}

void PeriodSteps::describe(const char* kernel_name) noexcept {
  const StepPeriod::Found& f = found_;
  try {
    const std::uint32_t launches = f.period.launches;
    std::string text =
        "no range named '" + session_.settings.step_range +
        "' was seen: steps are taken from the period of the launches: " + (f.period.varies ? "about " : "") +
        std::to_string(launches) + (launches == 1 ? " launch" : " launches");
    if (f.periods > 1) text += ", " + std::to_string(f.periods) + " times";
    text += ", " + milliseconds(f.step_ns) + " a step, beginning with " +
            (kernel_name != nullptr ? std::string(kernel_name) : std::string("a graph launch")) + "; seen " +
            std::to_string(f.period.repeats) + " times" +
            (f.replaces ? "; the steps until now were of another period and count as warm-up" : "");
    session_.message(Severity::info, spool::Topic::steps, text);
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
}

void PeriodSteps::boundary(ThreadState& thread, const char* kernel_name) noexcept {
  const NoCancellation whole;
  if (boundary_lock_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it
  if (watches()) {
    if (describe_boundary_.exchange(false)) describe(kernel_name);
    end_step(thread);
    std::uint32_t index = spool::kNoStep;
    if (conductor_.begin(thread, spool::kStepByPeriod, &index)) step_.store(index, std::memory_order_release);
  }
  boundary_lock_.clear(std::memory_order_release);
}

// With boundary_lock_ held.
void PeriodSteps::end_step(ThreadState& thread) noexcept {
  const std::uint32_t open = step_.exchange(spool::kNoStep, std::memory_order_acq_rel);
  if (open == spool::kNoStep || session_.steps.active() != open) return;
  conductor_.end(thread, session_.now_ns());
}

void PeriodSteps::end_last(std::int64_t now_ns) noexcept {
  const std::uint32_t open = step_.load(std::memory_order_acquire);
  if (open == spool::kNoStep || session_.steps.active() != open) return;
  if (period_.launches_since_border() != period_.launches_of_step()) return;
  if (session_.replay && session_.replay->measuring()) return;  // its counters were not read
  session_.steps.end(now_ns);
}

void PeriodSteps::on_range_begin(const ThreadState& thread, std::string_view name) noexcept {
  if (session_.settings.step_range != spool::environment::kDefaultStepRange) return;
  SpinGuard guard(ranges_lock_);
  ranges_.begin(name, thread.thread_id, launches(), session_.now_ns());
}

void PeriodSteps::on_step_range() noexcept {
  SpinGuard guard(ranges_lock_);
  ranges_.step(launches());
}

std::uint64_t PeriodSteps::launches() const noexcept {
  return session_.launches_seen() + session_.totals.get(&Count::graph_launches_seen);
}

void PeriodSteps::on_range_end(const ThreadState& thread, std::int64_t now_ns) noexcept {
  steps::RangeWatch::Found found;
  {
    SpinGuard guard(ranges_lock_);
    if (!ranges_.end(thread.thread_id, launches(), now_ns, &found, session_.steps.schedule_over()) ||
        !session_.steps.adopt(found.name))
      return;
    ranges_.take(found);
  }
  // The next range of the name begins a step. Those of another name until now were none.
  const bool in_place = ranges_taken_.exchange(true);
  if (in_place && session_.steps.steps_begun() > 0) {
    session_.steps.restart_schedule(spool::kStepSupersedes);
    session_.agreement.ask();
  }
  try {
    char share[16];
    std::snprintf(share, sizeof share, "%.0f", 100 * found.share);
    session_.message(
        Severity::info, spool::Topic::steps,
        "steps are the program's NVTX ranges \"" + std::string(found.name.text()) +
            "\": " + std::to_string(found.ranges) + " seen, " + share + " % of the launches in them" +
            (in_place ? "; those that were taken for steps before no longer come and count as warm-up" : "") +
            "; --step-range names others");
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
}

void PeriodSteps::steps_are_marked(ThreadState& thread) noexcept {
  while (boundary_lock_.test_and_set(std::memory_order_acquire)) sched_yield();
  if (session_.looks_for_period.exchange(false) && period_.active()) {
    end_step(thread);
    if (session_.steps.steps_begun() > 0) session_.steps.restart_schedule(spool::kStepSupersedes);
    session_.agreement.ask();
  }
  boundary_lock_.clear(std::memory_order_release);
}

void PeriodSteps::look_for_period(std::int64_t now_ns) noexcept {
  if (!watches()) return;
  ThreadState* thread = this_thread(session_.generation);
  if (thread == nullptr) return;
  if (!news_) news_ = period_.analyse(now_ns, &candidate_);  // without the lock: it takes its time
  const bool overdue =
      step_.load(std::memory_order_relaxed) != spool::kNoStep &&
      period_.launches_since_border() > kStepsWithoutBorder * period_.launches_of_step() + 64;
  if (!news_ && !overdue) return;
  // A thread of the program that holds it may be waiting for this one to flush: later, then.
  if (boundary_lock_.test_and_set(std::memory_order_acquire)) return;
  end_step(*thread);
  if (news_ && watches()) {
    if (candidate_.replaces && session_.steps.steps_begun() > 0)
      session_.steps.restart_schedule(spool::kStepSupersedes);
    found_ = candidate_;
    describe_boundary_.store(true);
    session_.agreement.ask();
    period_.activate();
  }
  news_ = false;
  boundary_lock_.clear(std::memory_order_release);
}

void PeriodSteps::restart() noexcept {
  news_ = false;
  if (watches()) period_.restart();
  {
    SpinGuard guard(ranges_lock_);
    ranges_.restart();
  }
  step_.store(spool::kNoStep, std::memory_order_release);
}

}  // namespace ridgeline::agent
