// The end of the process: session.h, lifecycle 5.
//
// The handler runs before those of the libraries that the agent works with (exit_order.h), and nothing of the
// agent may be inside them when it returns. What is still to be read is read within kPatience, so that the
// program ends as if it were alone; what takes longer is given up and said to be.
#include <chrono>

#include "ridgeline/spool/environment.h"
#include "session/session.h"

namespace ridgeline::agent {
namespace {

// For counters and samples that were collected and not read yet.
constexpr std::chrono::milliseconds kPatience{700};
// A call that cannot be broken off: setting up a sampling window takes a second, decoding its samples two. To
// go on under it would crash the program, so that the wait is long, and an end only in case it never comes
// back.
constexpr std::chrono::milliseconds kCallPatience{5000};
constexpr std::chrono::milliseconds kWakeAgain{2};

}  // namespace

void Session::read_what_is_left() noexcept {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const auto left_ns = [&] {
    return std::chrono::nanoseconds(give_up - std::chrono::steady_clock::now()).count();
  };
  if (thread_.joinable() && session_.replay)
    while (session_.replay->evaluating() && left_ns() > 0) {
      wake_.notify_all();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  ThreadState* thread = this_thread(session_.generation);
  if (!session_.sampling || thread == nullptr) return;
  if (const AgentCall call{session_.gate, *thread})
    session_.sampling->finish_at_exit(session_.now_ns() + left_ns());
}

void Session::stop_calls() noexcept {
  session_.gate.close();
  {
    std::lock_guard<std::mutex> guard(thread_mutex_);
    stop_ = true;
  }
  // Again and again: a thread may have looked at the gate and not be asleep yet, and its lock may be held by the very
  // thread that ends the program.
  const auto wake = [this] {
    wake_.notify_all();
    if (session_.replay) session_.replay->wake();
    if (session_.sampling) session_.sampling->wake();
  };
  auto give_up = std::chrono::steady_clock::now() + kCallPatience;
  while (own_threads_.load(std::memory_order_acquire) > 0 && std::chrono::steady_clock::now() < give_up) {
    wake();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
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
    session_.totals.add(&Count::callback_errors);
  }
  const ThreadState* thread = this_thread(session_.generation);
  const std::uint32_t own = thread != nullptr ? thread->calls_of_agent : 0;
  give_up = std::chrono::steady_clock::now() + kCallPatience;
  do {
    wake();
  } while (!session_.gate.wait_until_empty(own, kWakeAgain) && std::chrono::steady_clock::now() < give_up);
}

void Session::at_exit(spool::EndReason reason) noexcept {
  if (session_.closed.exchange(true)) return;
  session_.agreement.leave();
  session_.budget.leave();
  read_what_is_left();
  stop_calls();
  if (ThreadState* thread = this_thread(session_.generation)) thread->inside = true;
  if (session_.sampling) session_.sampling->abandon();
  period_.end_last(session_.now_ns());
  if (session_.replay) session_.replay->abandon();
  if (session_.stalls) session_.stalls->abandon();
  if (cupti_started_ && session_.steps.steps_begun() == 0) alone_.without_steps();
  if (cupti_started_ && window_.collecting())
    session_.timeline->flush_final();
  else if (cupti_started_)
    session_.timeline->drain();
  conductor_.end_unused_turn();
  session_.turns.program_ends(session_.now_ns());
  session_.others.tell(session_.now_ns());
  const std::int64_t now = session_.now_ns();
  window_.end_with_program(now);
  for (ThreadState* t = all_threads(); t != nullptr; t = t->next)
    if (t->taken.load(std::memory_order_acquire) && t->generation == session_.generation)
      session_.nvtx.write_open(*t, now);
  if (cupti_started_ && session_.steps.steps_begun() == 0 && stretches_.begun() > 0)
    session_.message(Severity::info, spool::Topic::steps,
                     "no step was found: launches were counted by kind, in stretches of the program");
  else if (cupti_started_ && session_.steps.steps_begun() == 0 && session_.launches_seen() > 0)
    session_.message(
        Severity::warning, spool::Topic::nvtx_missing,
        "no NVTX range named '" + session_.settings.step_range +
            "' was seen and no period of the launches was found: there are no steps and no counters; put "
            "one round "
            "each step of the program, or name another with " +
            spool::environment::kStepRange);
  session_.refresh_totals(now);
  left_out_.write(session_.writer);
  report_losses();
  spool::EndRecord end{};
  end.time_ns = now;
  end.reason = reason;
  session_.writer.put_reserved(end);
}

}  // namespace ridgeline::agent
