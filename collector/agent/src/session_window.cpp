// Recording windows: the session's side of window.h.
//
// Outside a window CUPTI's launch callbacks and activity kinds are switched off, so that the program runs as
// if it were alone; they have been on once before, at the start, because the first time costs seconds.
//
// A window closes in three turns of the agent's thread: 1. no new step begins, the open one runs to its end;
// 2. launches are no longer noted, and what was launched runs to its end on the device; 3. all is switched
// off.
#include "launch_params.h"
#include "messages.h"
#include "session.h"

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// CUPTI sets itself up for a context at its creation: only afterwards is off really off.
constexpr std::int64_t kSettleNs = 500 * kMillisecond;
constexpr std::int64_t kStepPatienceNs = 10'000 * kMillisecond;
constexpr std::int64_t kDrainPatienceNs = 10'000 * kMillisecond;
constexpr std::int64_t kReadPatienceNs = 15'000 * kMillisecond;  // for the samples of a window, further
constexpr std::int64_t kQuietNs = 400 * kMillisecond;

const char* text_of(spool::WindowCause cause) {
  switch (cause) {
    case spool::WindowCause::kStart:
      return "at the start";
    case spool::WindowCause::kDelay:
      return "after the delay";
    case spool::WindowCause::kDuration:
      return "after its duration";
    case spool::WindowCause::kSignal:
      return "by signal";
    case spool::WindowCause::kExit:
      return "with the program";
  }
  return "";
}

}  // namespace

void Session::write_window(spool::WindowEdge edge, spool::WindowCause cause, std::int64_t now) noexcept {
  spool::RecordingWindowRecord record{};
  record.time_ns = now;
  record.edge = edge;
  record.cause = cause;
  writer_.put_reserved(record);
}

void Session::start_window() noexcept {
  if (window_plan_.opens_at_start()) {
    window_opened_ns_ = now_ns();
    window_state_.store(WindowState::kOpen, std::memory_order_release);
    recording_.store(true, std::memory_order_release);
    write_window(spool::WindowEdge::kOpen, spool::WindowCause::kStart, window_opened_ns_);
    window_plan_.count_opened();
    return;
  }
  timeline_->set_window(INT64_MAX, INT64_MAX);
}

void Session::enable_launch_callbacks(bool on) noexcept {
  for (const CUpti_CallbackId id : launch_callbacks())
    api_->enable_callback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

void Session::open_window(spool::WindowCause cause, std::int64_t now) noexcept {
  if (!collecting_) {
    timeline_->switch_on();
    enable_launch_callbacks(true);
    collecting_ = true;
  }
  window_opened_ns_ = now;
  timeline_->set_window(now, INT64_MAX);
  period_news_ = false;
  if (watches_period_.load(std::memory_order_relaxed)) period_.restart();
  period_step_.store(spool::kNoStep, std::memory_order_release);
  steps_.restart_schedule(0);
  steps_.hold(false);
  nvtx_.mute(false);
  write_window(spool::WindowEdge::kOpen, cause, now);
  recording_.store(true, std::memory_order_release);
  window_state_.store(WindowState::kOpen, std::memory_order_release);
  window_plan_.count_opened();
}

void Session::tend_window(std::int64_t now) noexcept {
  const WindowState state = window_state_.load(std::memory_order_relaxed);
  switch (state) {
    case WindowState::kDormant:
    case WindowState::kOpen: {
      spool::WindowCause cause{};
      const bool open = state == WindowState::kOpen;
      const WindowPlan::Action action = window_plan_.due(open, window_opened_ns_, now, &cause);
      if (action == WindowPlan::Action::kOpen) return open_window(cause, now);
      if (action == WindowPlan::Action::kClose) {
        steps_.hold(true);
        window_cause_ = cause;
        window_deadline_ns_ = now + kStepPatienceNs;
        window_state_.store(WindowState::kLastStep, std::memory_order_release);
        return;
      }
      const std::int64_t context_ns = window_plan_.first_context_ns();
      if (!open && collecting_ && context_ns != 0 && now - context_ns >= kSettleNs) {
        enable_launch_callbacks(false);
        timeline_->flush();
        timeline_->switch_off();
        collecting_ = false;
      }
      return;
    }
    case WindowState::kLastStep: {
      const bool measuring = replay_ && (replay_->collecting() || replay_->wants_launch());
      if (measuring || (steps_.active() != spool::kNoStep && now < window_deadline_ns_)) return;
      recording_.store(false, std::memory_order_release);
      timeline_->set_window(window_opened_ns_, now);
      window_closed_ns_ = now;
      window_deadline_ns_ = now + kDrainPatienceNs;
      window_records_ = 0;
      window_quiet_since_ns_ = now;
      steps_.abandon();
      window_state_.store(WindowState::kDraining, std::memory_order_release);
      return;
    }
    case WindowState::kDraining: {
      timeline_->flush();
      const std::uint64_t kernels = totals_.get(&Count::kernel_records);
      const std::uint64_t graph_kernels = totals_.get(&Count::graph_kernel_records);
      if (kernels + graph_kernels != window_records_) {
        window_records_ = kernels + graph_kernels;
        window_quiet_since_ns_ = now;
      }
      const bool missing =
          kernels + totals_.get(&Count::dropped_records) < totals_.get(&Count::launches_seen);
      const bool quiet = now - window_quiet_since_ns_ >= kQuietNs;
      if (sampling_) sampling_->cut_short("the recording window closed");
      const bool reading = sampling_ && sampling_->open();
      const bool evaluating = replay_ && replay_->evaluating();
      if ((missing || !quiet || evaluating) && now < window_deadline_ns_) return;
      if (reading && now < window_deadline_ns_ + kReadPatienceNs) return;
      close_window(window_cause_);
      return;
    }
  }
}

void Session::close_window(spool::WindowCause cause) noexcept {
  enable_launch_callbacks(false);
  timeline_->switch_off();
  collecting_ = false;
  nvtx_.mute(true);
  write_window(spool::WindowEdge::kClose, cause, window_closed_ns_);
  message(spool::Severity::kInfo, spool::Topic::kWindow,
          std::string("the recording window closed ") + text_of(cause));
  totals_.refresh(now_ns());
  window_state_.store(WindowState::kDormant, std::memory_order_release);
  window_plan_.count_closed();
}

}  // namespace ridgeline::agent
