// The end of the process: session.h, lifecycle 5.
//
// The handler runs before those of the libraries that the agent works with (exit_order.h), and nothing of the agent may be
// inside them when it returns. What is still to be read is read within kPatience, so that the program ends as if it were
// alone; what takes longer is given up and said to be.
#include <chrono>

#include "messages.h"
#include "ridgeline/spool/environment.h"
#include "session.h"

namespace ridgeline::agent {
namespace {

// For counters and samples that were collected and not read yet.
constexpr std::chrono::milliseconds kPatience{700};
// A call that cannot be broken off: setting up a sampling window takes a second, decoding its samples two. To go on under it
// would crash the program, so that the wait is long, and an end only in case it never comes back.
constexpr std::chrono::milliseconds kCallPatience{5000};

}  // namespace

void Session::read_what_is_left() noexcept {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const auto left_ns = [&] {
    return std::chrono::nanoseconds(give_up - std::chrono::steady_clock::now()).count();
  };
  if (thread_.joinable() && replay_)
    while (replay_->evaluating() && left_ns() > 0) {
      wake_.notify_all();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  ThreadState* thread = this_thread(generation_);
  if (!sampling_ || thread == nullptr) return;
  if (const AgentCall call{gate_, *thread}) sampling_->finish_at_exit(now_ns() + left_ns());
}

void Session::stop_calls() noexcept {
  gate_.close();
  {
    std::lock_guard<std::mutex> guard(thread_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (replay_) replay_->wake();
  if (sampling_) sampling_->wake();
  const auto give_up = std::chrono::steady_clock::now() + kCallPatience;
  while (own_threads_.load(std::memory_order_acquire) > 0 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  const bool ended = own_threads_.load(std::memory_order_acquire) == 0;
  try {
    for (std::thread* thread : {&thread_, &sampling_thread_}) {
      if (!thread->joinable()) continue;
      if (ended)
        thread->join();
      else
        thread->detach();
    }
  } catch (...) {
    totals_.add(&Count::callback_errors);
  }
  const ThreadState* thread = this_thread(generation_);
  gate_.wait_until_empty(thread != nullptr ? thread->calls_of_agent : 0, kCallPatience);
}

void Session::at_exit(spool::EndReason reason) noexcept {
  if (closed_.exchange(true)) return;
  read_what_is_left();
  stop_calls();
  if (ThreadState* thread = this_thread(generation_)) thread->inside = true;
  if (sampling_) sampling_->abandon();
  end_last_period_step(now_ns());
  if (replay_) replay_->abandon();
  if (stalls_) stalls_->abandon();
  if (cupti_started_ && collecting_) timeline_->flush_final();
  const std::int64_t now = now_ns();
  if (const WindowState state = window_state_.load(); state != WindowState::kDormant) {
    const bool over = state == WindowState::kDraining;
    write_window(spool::WindowEdge::kClose, over ? window_cause_ : spool::WindowCause::kExit,
                 over ? window_closed_ns_ : now);
    window_plan_.count_ended();
  }
  for (ThreadState* t = all_threads(); t != nullptr; t = t->next)
    if (t->taken.load(std::memory_order_acquire) && t->generation == generation_) nvtx_.write_open(*t, now);
  if (cupti_started_ && steps_.steps_begun() == 0 && totals_.get(&Count::launches_seen) > 0)
    message(spool::Severity::kWarning, spool::Topic::kNvtxMissing,
            "no NVTX range named '" + settings_.step_range +
                "' was seen and no period of the launches was found: there are no steps and no counters; put "
                "one round "
                "each step of the program, or name another with " +
                spool::environment::kStepRange);
  totals_.refresh(now);
  report_losses();
  spool::EndRecord end{};
  end.time_ns = now;
  end.reason = reason;
  writer_.put_reserved(end);
}

}  // namespace ridgeline::agent
