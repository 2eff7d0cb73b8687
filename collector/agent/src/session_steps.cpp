// Steps by the period of launches, for programs that mark none: the session's side of step_period.h.
#include <cstdio>

#include "launch_params.h"
#include "messages.h"
#include "session.h"

namespace ridgeline::agent {
namespace {

// A border that does not come for this many steps: the program does something else now.
constexpr std::uint64_t kStepsWithoutBorder = 4;
constexpr std::uint64_t kForeignLaunches = 1000;

const void* graph_of(const void* params) {
  return params != nullptr ? static_cast<const cuGraphLaunch_params*>(params)->hGraph : nullptr;
}

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, ns < 100'000'000 ? "%.2f ms" : "%.0f ms", static_cast<double>(ns) / 1e6);
  return text;
}

}  // namespace

void Session::note_launch(ThreadState& thread, CUpti_CallbackId id, const CUpti_CallbackData& data,
                          std::int64_t now) noexcept {
  // Several contexts launch in no fixed order among each other: the first one's launches count, or those of
  // another once the first has gone quiet.
  std::uint32_t context = period_context_.load(std::memory_order_relaxed);
  if (context != data.contextUid) {
    if (context != 0 && foreign_launches_.fetch_add(1, std::memory_order_relaxed) < kForeignLaunches) return;
    period_context_.store(data.contextUid, std::memory_order_relaxed);
  }
  if (foreign_launches_.load(std::memory_order_relaxed) != 0)
    foreign_launches_.store(0, std::memory_order_relaxed);
  StepPeriod::Key key = 0;
  if (is_graph_launch(id)) {
    key = StepPeriod::graph_key(graph_of(data.functionParams));
  } else {
    look_up_kernel(thread, data.symbolName);
    SequenceEntry entry{thread.launch_kernel_id, 0, 0, 0};
    grid_of(id, data.functionParams, &entry);
    key = StepPeriod::key_of(entry.kernel_id, entry.grid_x, entry.grid_y, entry.grid_z);
  }
  if (period_.launch(key, now)) period_border(thread, is_graph_launch(id) ? nullptr : data.symbolName);
}

void Session::period_border(ThreadState& thread, const char* kernel_name) noexcept {
  if (border_lock_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it
  if (watches_period_.load(std::memory_order_relaxed)) {
    if (describe_border_.exchange(false)) {
      const StepPeriod::Found& f = period_found_;
      try {
        std::string text =
            "no range named '" + settings_.step_range +
            "' was seen: steps are taken from the period of the launches: " + std::to_string(f.launches) +
            (f.launches == 1 ? " launch" : " launches");
        if (f.periods > 1) text += ", " + std::to_string(f.periods) + " times";
        text += ", " + milliseconds(f.step_ns) + " a step, beginning with " +
                (kernel_name != nullptr ? std::string(kernel_name) : std::string("a graph launch")) +
                "; seen " + std::to_string(f.repeats) + " times" +
                (f.replaces ? "; the steps until now were of another period and count as warm-up" : "");
        message(spool::Severity::kInfo, spool::Topic::kSteps, text);
      } catch (...) {
        totals_.add(&Count::callback_errors);
      }
    }
    end_period_step(thread);
    std::uint32_t index = spool::kNoStep;
    if (begin_step(thread, spool::kStepByPeriod, &index))
      period_step_.store(index, std::memory_order_release);
  }
  border_lock_.clear(std::memory_order_release);
}

// With border_lock_ held.
void Session::end_period_step(ThreadState& thread) noexcept {
  const std::uint32_t open = period_step_.exchange(spool::kNoStep, std::memory_order_acq_rel);
  if (open == spool::kNoStep || steps_.active() != open) return;
  end_step(thread, now_ns());
}

void Session::end_last_period_step(std::int64_t now) noexcept {
  const std::uint32_t open = period_step_.load(std::memory_order_acquire);
  if (open == spool::kNoStep || steps_.active() != open) return;
  if (period_.launches_since_border() != period_.launches_of_step()) return;
  if (replay_ && replay_->wants_launch()) return;  // its counters were not read
  steps_.end(now);
}

void Session::steps_are_marked(ThreadState& thread) noexcept {
  while (border_lock_.test_and_set(std::memory_order_acquire)) sched_yield();
  if (watches_period_.exchange(false) && period_.active()) {
    end_period_step(thread);
    if (steps_.steps_begun() > 0) steps_.restart_schedule(spool::kStepSupersedes);
  }
  border_lock_.clear(std::memory_order_release);
}

void Session::look_for_period(std::int64_t now) noexcept {
  if (!watches_period_.load(std::memory_order_relaxed)) return;
  ThreadState* thread = this_thread(generation_);
  if (thread == nullptr) return;
  try {
    // Without the lock: it takes its time.
    if (!period_news_) period_news_ = period_.analyse(now, &period_candidate_);
  } catch (...) {
    totals_.add(&Count::callback_errors);
  }
  const bool overdue =
      period_step_.load(std::memory_order_relaxed) != spool::kNoStep &&
      period_.launches_since_border() > kStepsWithoutBorder * period_.launches_of_step() + 64;
  if (!period_news_ && !overdue) return;
  // A thread of the program that holds it may be waiting for this one to flush: later, then.
  if (border_lock_.test_and_set(std::memory_order_acquire)) return;
  end_period_step(*thread);
  if (period_news_ && watches_period_.load(std::memory_order_relaxed)) {
    if (period_candidate_.replaces && steps_.steps_begun() > 0)
      steps_.restart_schedule(spool::kStepSupersedes);
    period_found_ = period_candidate_;
    describe_border_.store(true);
    period_.activate();
  }
  period_news_ = false;
  border_lock_.clear(std::memory_order_release);
}

}  // namespace ridgeline::agent
