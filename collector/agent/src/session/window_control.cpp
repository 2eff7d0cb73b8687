#include "session/window_control.h"

#include <utility>

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// CUPTI sets itself up for a context at its creation: only afterwards is off really off.
constexpr std::int64_t kSettleNs = 500 * kMillisecond;
constexpr std::int64_t kStepPatienceNs = 10'000 * kMillisecond;
constexpr std::int64_t kDrainPatienceNs = 10'000 * kMillisecond;
constexpr std::int64_t kReadPatienceNs = 15'000 * kMillisecond;  // for the samples of a window, further
constexpr std::int64_t kQuietNs = 400 * kMillisecond;

const char* text_of(WindowCause cause) {
  switch (cause) {
    case WindowCause::start:
      return "at the start";
    case WindowCause::delay:
      return "after the delay";
    case WindowCause::duration:
      return "after its duration";
    case WindowCause::signal:
      return "by signal";
    case WindowCause::exit:
      return "with the program";
  }
  return "";
}

}  // namespace

WindowControl::WindowControl(SessionState& parts, CallSwitch& calls, PeriodSteps& period,
                             LaunchRecorder& launches, WaitRecorder& waits, OrderRecorder& order)
    : session_(parts),
      calls_(calls),
      period_(period),
      launches_(launches),
      waits_(waits),
      order_(order),
      plan_({parts.settings.wait, static_cast<std::int64_t>(parts.settings.after_ms) * kMillisecond,
             static_cast<std::int64_t>(parts.settings.duration_ms) * kMillisecond},
            parts.control) {
  session_.nvtx.mute(!plan_.opens_at_start());
  session_.steps.hold(!plan_.opens_at_start());
}

void WindowControl::write(spool::WindowEdge edge, WindowCause cause, std::int64_t now) noexcept {
  spool::RecordingWindowRecord record{};
  record.time_ns = now;
  record.edge = edge;
  record.cause = cause;
  if (edge == spool::WindowEdge::open) {
    if (waits_.available()) record.header.flags |= spool::kWindowHasSynchronisation;
    if (order_.available()) record.header.flags |= spool::kWindowHasStreamCalls;
  }
  session_.writer.put_reserved(record);
}

void WindowControl::start() noexcept {
  if (plan_.opens_at_start()) {
    opened_ns_ = session_.now_ns();
    state_.store(State::open, std::memory_order_release);
    record_calls(true);
    write(spool::WindowEdge::open, WindowCause::start, opened_ns_);
    plan_.count_opened();
    return;
  }
  session_.timeline->set_window(INT64_MAX, INT64_MAX);
}

void WindowControl::note_calls(bool on) noexcept {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::open || state == State::last_step) record_calls(on);
}

void WindowControl::record_calls(bool on) noexcept {
  launches_.record(on);
  waits_.record(on);
  order_.record(on);
}

void WindowControl::put_off(bool stream_waits) noexcept {
  if (!stream_waits || std::exchange(put_off_said_, true)) return;
  session_.message(
      Severity::info, spool::Topic::window,
      "the recording window opens later: a stream of the program waits for the host, beside which tracing "
      "is not switched on");
}

void WindowControl::open(WindowCause cause, std::int64_t now) noexcept {
  if (!collecting_) {
    if (tracing_off_) {
      const QuietHold hold(session_.captures, session_.host_waits);
      if (!hold) return put_off(hold.stream_waits());  // another turn comes soon
      calls_.on();
      session_.timeline->switch_on();
      tracing_off_ = false;
    } else {
      calls_.on();
    }
    collecting_ = true;
  }
  if (session_.timeline->ended() && !std::exchange(end_said_, true))
    session_.message(Severity::error, spool::Topic::timeline_refused,
                     "this recording window, and any after it, has no kernels: the timeline had ended before "
                     "(an earlier message says why)");
  opened_ns_ = now;
  session_.timeline->set_window(now, INT64_MAX);
  period_.restart();
  session_.steps.restart_schedule(0);
  session_.agreement.ask();
  session_.steps.hold(false);
  session_.nvtx.mute(false);
  write(spool::WindowEdge::open, cause, now);
  record_calls(true);
  state_.store(State::open, std::memory_order_release);
  plan_.count_opened();
}

void WindowControl::tend(std::int64_t now) noexcept {
  const State state = state_.load(std::memory_order_relaxed);
  switch (state) {
    case State::dormant:
    case State::open: {
      WindowCause cause{};
      const bool is_open = state == State::open;
      const WindowPlan::Action action = plan_.due(is_open, opened_ns_, now, &cause);
      // Tracing is switched on and off between the program's captures; another turn comes soon.
      const CaptureHold hold(session_.captures);
      if (!hold && action != WindowPlan::Action::close) return;
      if (action == WindowPlan::Action::open) return open(cause, now);
      if (action == WindowPlan::Action::close) {
        session_.steps.hold(true);
        if (before_close_) before_close_();
        cause_ = cause;
        deadline_ns_ = now + kStepPatienceNs;
        state_.store(State::last_step, std::memory_order_release);
        return;
      }
      const std::int64_t context_ns = plan_.first_context_ns();
      if (!is_open && collecting_ && context_ns != 0 && now - context_ns >= kSettleNs) {
        calls_.off_when_possible();
        collecting_ = false;
      }
      calls_.look();
      return;
    }
    case State::last_step: {
      const bool measuring = session_.replay && session_.replay->measuring();
      if (measuring || (session_.steps.active() != spool::kNoStep && now < deadline_ns_)) return;
      if (before_close_) before_close_();
      record_calls(false);
      session_.timeline->set_window(opened_ns_, now);
      closed_ns_ = now;
      deadline_ns_ = now + kDrainPatienceNs;
      records_ = 0;
      quiet_since_ns_ = now;
      session_.steps.abandon();
      state_.store(State::draining, std::memory_order_release);
      return;
    }
    case State::draining: {
      session_.timeline->flush();
      const std::uint64_t kernels = session_.totals.get(&Count::kernel_records);
      const std::uint64_t graph_kernels = session_.totals.get(&Count::graph_kernel_records);
      if (kernels + graph_kernels != records_) {
        records_ = kernels + graph_kernels;
        quiet_since_ns_ = now;
      }
      const bool missing = kernels + session_.totals.get(&Count::dropped_records) < session_.launches_seen();
      const bool quiet = now - quiet_since_ns_ >= kQuietNs;
      if (session_.sampling) session_.sampling->cut_short("the recording window closed");
      const bool reading = session_.sampling && session_.sampling->open();
      const bool evaluating = session_.replay && session_.replay->evaluating();
      if ((missing || !quiet || evaluating) && now < deadline_ns_) return;
      if (reading && now < deadline_ns_ + kReadPatienceNs) return;
      const CaptureHold hold(session_.captures);
      if (!hold) return;
      close(cause_);
      return;
    }
  }
}

void WindowControl::close(WindowCause cause) noexcept {
  // Another window may come, and tracing must not come back on in a program with graphs. Nor is it switched beside a
  // stream that waits for the host: it stays on then.
  const QuietHold hold(session_.captures, session_.host_waits);
  tracing_off_ = hold && !session_.graphs_seen.load(std::memory_order_relaxed);
  if (tracing_off_) session_.timeline->switch_off();
  calls_.off_when_possible();  // after it (session/call_switch.h)
  collecting_ = false;
  session_.nvtx.mute(true);
  write(spool::WindowEdge::close, cause, closed_ns_);
  session_.message(Severity::info, spool::Topic::window,
                   std::string("the recording window closed ") + text_of(cause));
  session_.refresh_totals(session_.now_ns());
  state_.store(State::dormant, std::memory_order_release);
  plan_.count_closed();
}

void WindowControl::end_with_program(std::int64_t now) noexcept {
  const State state = state_.load();
  if (state == State::dormant) return;
  const bool over = state == State::draining;
  write(spool::WindowEdge::close, over ? cause_ : WindowCause::exit, over ? closed_ns_ : now);
  plan_.count_ended();
}

}  // namespace ridgeline::agent
