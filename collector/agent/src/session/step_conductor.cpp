#include "session/step_conductor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ridgeline/base/spin_guard.h"
#include "session/interventions.h"

namespace ridgeline::agent {
namespace {

constexpr std::chrono::milliseconds kPatienceWithStreams{1};
constexpr std::int64_t kLongestPutOffNs = 10'000'000'000;
constexpr std::int64_t kLongestAskingNs = 2'000'000'000;
// What a window takes of the budget, its set-up and its start.
constexpr std::int64_t kWindowNs = 400'000'000;

}  // namespace

void StepConductor::sample_again(StepTracker::Step& step) noexcept {
  if (!session_.sampling || !session_.settings.sampling_allowed) return;
  if ((step.flags & spool::kScheduleStarts) != 0) {  // it has a sample phase of its own
    again_steps_ = 0;
    return session_.sampling->forget_missing();
  }
  if (again_steps_ > 0 && step.index - again_first_ < again_steps_)
    return session_.steps.sample_again(&step, again_first_, again_steps_);
  again_steps_ = 0;
  if (step.phase == Phase::sample || step.phase == Phase::warmup || alone_.active() ||
      (step.flags & (spool::kStepDeferred | spool::kStepAlone)) != 0)
    return;
  const std::uint32_t steps = session_.sampling->steps_to_repeat();
  if (steps == 0) return;
  // Peers would wait in their next phase for what this process does in its last one.
  if (keeps_step_with_peers())
    return session_.sampling->give_up_repeating("processes that launch collectives stay in one phase");
  if (session_.replay && !session_.replay->affords(kWindowNs))
    return session_.sampling->give_up_repeating("the budget has no room for another");
  again_first_ = step.index;
  again_steps_ = steps;
  session_.steps.sample_again(&step, again_first_, again_steps_);
}

bool StepConductor::keeps_step_with_peers() const noexcept {
  return session_.agreement.takes_part() && session_.agreement.taking_part() > 1;
}

// This window is still to be paid for.
bool StepConductor::affords_another_window() noexcept {
  return !session_.replay || session_.replay->affords(2 * kWindowNs);
}

// Of steps that launch other things each time as many are sampled as the durations of their kernels allow.
std::int64_t StepConductor::wanted_interval_ns(const StepTracker::Step& step) const noexcept {
  if (!session_.steps.vary() || session_.sampling->phase_goes_on(step)) return 0;
  return coarse_interval_ns(session_.times.by_size.duration_at_ns(kShareOfShortKernels));
}

// Flags of the step's start.
std::uint16_t StepConductor::prepare_sampling(StepTracker::Step& step) noexcept {
  if (!session_.sampling) return 0;
  const std::int64_t since_ns = session_.now_ns();
  if (step.phase == Phase::sample) {
    sampled_ = session_.sampling->begin_step(step, usual_step_ns(),
                                             !keeps_step_with_peers() && affords_another_window(),
                                             wanted_interval_ns(step));
    if (session_.sampling->in_use_elsewhere()) {
      const bool again = session_.turns.refused(session_.now_ns());
      session_.sampling->settle_refusal(again);
      if (again) {
        again_steps_ = 0;
        session_.steps.defer(&step, false);
        return 0;
      }
    }
    pay_for_samples(since_ns);
    if (session_.sampling->busy()) wake_threads_();  // its thread turns slowly between windows
    return sampled_ ? 0 : spool::kStepUnmeasured;
  }
  // Both want the device's counters.
  if (step.phase != Phase::warmup && step.phase != Phase::timeline) close_samples();
  return 0;
}

void StepConductor::set_aside_for_records() noexcept {
  session_.replay->set_aside(session_.launches_seen() + session_.totals.get(&Count::graph_kernel_records));
}

// The step's configuration, 0: none.
std::uint32_t StepConductor::prepare_replay(const StepTracker::Step& step, const ThreadState& thread,
                                            bool by_period) noexcept {
  if (!session_.replay) return 0;
  if (!Replay::measures(step.phase)) {
    session_.replay->close_kept();
    return 0;
  }
  if (!concurrency_looked_at_) look_for_waiting_kernels(!by_period);
  if (step.number_in_phase == 0) step_before_counters_ns_ = usual_step_ns();
  const bool alike = (step.phase == Phase::flops) == (step.next_phase == Phase::flops);
  set_aside_for_records();
  return session_.replay->arm(step, counts_, thread.thread_id, Replay::measures(step.next_phase) && alike,
                              step_before_counters_ns_);
}

// False if the step comes before the schedule, whose start the processes that this one waits for agree on.
bool StepConductor::may_begin_schedule() noexcept {
  if (agreeing_.test_and_set(std::memory_order_acquire)) return true;
  const Agreement::Turn turn = session_.agreement.on_step_begin(session_.now_ns());
  agreeing_.clear(std::memory_order_release);
  if (turn == Agreement::Turn::begin && session_.agreement.taking_part() > 1) {
    // What was measured before, at other steps than the peers measured, gives way.
    if (session_.sampling) session_.sampling->cut_short("the schedule began anew");
    session_.steps.restart_schedule(session_.steps.steps_begun() > 0 ? spool::kStepSupersedes : 0);
    session_.message(Severity::info, spool::Topic::steps,
                     "the schedule begins with the same step in all " +
                         std::to_string(session_.agreement.taking_part()) +
                         " processes that launch collectives");
  }
  return turn != Agreement::Turn::wait;
}

bool StepConductor::begin(ThreadState& thread, std::uint16_t flags, std::uint32_t* step_index) noexcept {
  const AgentCall call{session_.gate, thread};
  if (!call) return false;
  const std::int64_t boundary_ns = session_.now_ns();
  if (session_.replay) session_.replay->finish_pending();
  StepTracker::Step step{};
  bool before_schedule = false;
  if (!session_.steps.open() && !session_.steps.held()) before_schedule = !may_begin_schedule();
  if (!session_.steps.begin(&step, before_schedule)) return false;
  if (session_.steps.variation_known() && !session_.steps.vary()) session_.without_steps.stop();
  look_at_budget(step);
  sample_again(step);
  alone_.on_step_begin(&step, boundary_ns, usual_step_ns(), (flags & spool::kStepByPeriod) != 0);
  if (has_its_turn(step)) flags |= prepare_sampling(step);
  const std::int64_t now = session_.now_ns();  // after what had to be finished and set up
  *step_index = step.index;
  step_start_ns_[step.index % kStepHistory] = now;
  const std::uint32_t config_id = prepare_replay(step, thread, (flags & spool::kStepByPeriod) != 0);
  if (session_.stalls) {
    session_.stalls->note_step(step, now);
    if (step.phase == Phase::stalls) session_.stalls->arm(step, step.steps_left);
  }
  if (session_.interventions != nullptr) session_.interventions->on_step_begin(step, usual_step_ns());
  if (!keeps_turn_to_ask_) session_.turns.begun();
  session_.steps.write_begin(step, config_id, now, thread.thread_id, flags);
  return true;
}

void StepConductor::look_at_budget(const StepTracker::Step& step) noexcept {
  if (!session_.replay || !session_.settings.replay_allowed) return;
  if ((step.flags & spool::kStepSupersedes) != 0) session_.replay->begin_round();
  if (session_.agreement.takes_part()) session_.budget.wait_for_peers();
  session_.budget.take_part(session_.settings.schedule.has(Phase::replay) && !session_.steps.schedule_over());
}

// Where the steps were found anew most of what they launch may have been counted before: not even the samples are
// waited for then.
bool StepConductor::is_worth_counting(StepTracker::Step& step) noexcept {
  counts_ = true;
  if (step.phase != Phase::replay) return true;
  set_aside_for_records();
  const Replay::Worth worth = session_.replay->worth(step);
  counts_ = worth == Replay::Worth::counts;
  if (worth == Replay::Worth::known) session_.steps.spare(&step);
  return counts_;
}

// Sampling has its turn for a whole phase, counting for as many steps as nobody else wants one.
bool StepConductor::has_its_turn(StepTracker::Step& step) noexcept {
  keeps_turn_to_ask_ = false;
  const bool sampled = step.phase == Phase::sample && session_.sampling && session_.settings.sampling_allowed;
  const bool counted = Replay::measures(step.phase) && session_.replay && session_.settings.replay_allowed;
  const bool looked_into =
      step.phase == Phase::stalls && session_.stalls && session_.settings.third_tier_allowed;
  if (!sampled && !counted && !looked_into) return true;
  if (sampled && session_.sampling->phase_goes_on(step)) return true;
  if (counted && !is_worth_counting(step)) return false;
  const std::int64_t now = session_.now_ns();
  if (sampled && puts_off_for_streams(now)) {  // counters and stalls begin at a launch, when they may
    again_steps_ = 0;
    session_.steps.defer(&step, false);
    return false;
  }
  if ((counted && puts_off_for_others(now)) || (looked_into && session_.stalls->waits_for_device())) {
    session_.steps.defer(&step, false);
    return false;
  }
  if (counted && session_.turns.to_hand_over(now)) {
    session_.replay->close_kept();
    end_unused_turn();
  }
  // The hold on what was decided before: an open window of samples is read first, and its turn goes on.
  const auto turn = session_.turns.take(session_.device_launches.used(), now, usual_step_ns());
  const bool unknown =
      sampled ? session_.sampling->waits_for_counters() : counted && session_.replay->waits_for_counters();
  if (turn != CounterTurns::Turn::wait && !unknown &&
      (sampled || !session_.sampling || close_samples() || !session_.host_waits.seen())) {
    if (!sampled) sample_again(step);  // the samples that were read just now may not be all
    return true;
  }
  // Which counters there are is asked every half second, and can be told while no other process has them: now.
  keeps_turn_to_ask_ = unknown && session_.turns.held_ns(now) <= kLongestAskingNs;
  if (!keeps_turn_to_ask_) session_.turns.begun();
  end_unused_turn();  // it is over, if it was taken
  again_steps_ = 0;
  session_.steps.defer(&step, false);
  return false;
}

bool StepConductor::puts_off_for_streams(std::int64_t now_ns) noexcept {
  if (!session_.host_waits.seen()) return false;
  if (session_.host_waits.hold(kPatienceWithStreams)) {
    session_.host_waits.release();
    waiting_streams_since_ns_ = 0;
    return false;
  }
  if (waiting_streams_since_ns_ == 0) {
    waiting_streams_since_ns_ = now_ns;
    tell_put_off();
  }
  return now_ns - waiting_streams_since_ns_ < kLongestPutOffNs;
}

bool StepConductor::puts_off_for_others(std::int64_t now_ns) noexcept {
  const bool being_read = session_.sampling && session_.sampling->open();
  if (!being_read || keeps_step_with_peers() || !session_.turns.others()) {
    if (std::exchange(others_before_counting_since_ns_, 0) != 0) end_unused_turn();  // who waits comes first
    return false;
  }
  if (others_before_counting_since_ns_ == 0) others_before_counting_since_ns_ = now_ns;
  session_.sampling->end_windows();
  return now_ns - others_before_counting_since_ns_ < kLongestPutOffNs;
}

void StepConductor::tell_put_off() noexcept {
  if (put_off_said_.exchange(true)) return;
  session_.message(Severity::info, spool::Topic::steps,
                   "samples and counters are put off while a stream of the program waits for the host");
}

bool StepConductor::put_off() noexcept {
  if (!session_.turns.refused(session_.now_ns())) return false;
  StepTracker::Step step{};
  if (session_.steps.active() < spool::kFirstStretch) session_.steps.defer(&step, true);
  return true;
}

void StepConductor::end_unused_turn() noexcept {
  session_.turns.end_if_unused(session_.now_ns(), [this] { return session_.counters_in_use(); });
}

void StepConductor::end(ThreadState& thread, std::int64_t now_ns) noexcept {
  const AgentCall call{session_.gate, thread};
  if (!call) return;
  const StepTracker::Step step = session_.steps.end(now_ns);
  if (session_.interventions != nullptr) session_.interventions->on_step_end();
  if (step.phase == Phase::sample && session_.sampling) end_sampled(step);
  if (Replay::measures(step.phase) && session_.replay) session_.others.measured(step.index, now_ns);
  bool done = true;
  if (Replay::measures(step.phase) && session_.replay) {
    done = session_.replay->step_end(thread.thread_id);
  } else {
    if (step.phase == Phase::stalls && session_.stalls) session_.stalls->step_end();
    if ((step.flags & spool::kStepAlone) == 0 && !alone_.came_back_in(step.index))
      session_.steps.keep_as_reference();
  }
  if (done) session_.steps.release();
  if (session_.turns.held()) end_unused_turn();
}

bool StepConductor::has_turn_for_stretch() noexcept {
  return session_.turns.take(session_.device_launches.used(), session_.now_ns(), 0) !=
         CounterTurns::Turn::wait;
}

void StepConductor::prepare_counted_stretch() noexcept {
  if (session_.sampling) close_samples();
}

bool StepConductor::close_samples() noexcept {
  const std::int64_t since_ns = session_.now_ns();
  const bool closed = session_.sampling->close_now();
  pay_for_samples(since_ns);
  return closed;
}

// What samples keep the program from doing is paid for from the one budget.
void StepConductor::pay_for_samples(std::int64_t since_ns) noexcept {
  if (session_.replay) session_.replay->pay_for_samples(since_ns);
}

bool StepConductor::prepare_sampled_stretch(const StepTracker::Step& step, std::int64_t window_ns,
                                            bool another) noexcept {
  if (session_.replay) session_.replay->close_kept();
  const std::int64_t since_ns = session_.now_ns();
  sampled_ = session_.sampling->begin_step(step, window_ns, another && affords_another_window());
  pay_for_samples(since_ns);
  put_off_ = session_.sampling->in_use_elsewhere() && session_.turns.refused(session_.now_ns());
  session_.sampling->settle_refusal(put_off_);
  if (session_.sampling->busy()) wake_threads_();
  return sampled_;
}

void StepConductor::end_sampled(const StepTracker::Step& step, std::uint32_t unsampled) noexcept {
  session_.sampling->step_end(step);
  if (!sampled_) return;
  session_.others.measured(step.index, session_.now_ns());
  const LaunchSequence& launches = session_.steps.last();
  const SpinGuard guard(kinds_lock_);
  for (std::uint32_t i = unsampled; i < std::min(launches.count(), LaunchSequence::kCapacity); ++i) {
    const counting::Kind kind = counting::size_kind_of(launches[i].kernel_id, launches[i].grid_x,
                                                       launches[i].grid_y, launches[i].grid_z);
    if (kinds_of_window_.size() == kinds_of_window_.capacity()) break;
    kinds_of_window_.push_back(kind);
  }
}

bool StepConductor::settle_sampled_kinds() noexcept {
  const bool missed = session_.sampling->missed();
  settled_kinds_.clear();
  {
    const SpinGuard guard(kinds_lock_);
    std::swap(settled_kinds_, kinds_of_window_);
  }
  if (!missed)
    for (const counting::Kind kind : settled_kinds_) session_.sampled_kinds.add(kind, 0);
  return missed;
}

void StepConductor::look_for_waiting_kernels(bool may_flush) noexcept {
  concurrency_looked_at_ = true;
  if (may_flush) session_.timeline->flush();  // not inside a callback
  for (const std::uint32_t kernel_id : session_.concurrency.finish())
    session_.exclusions.add(kernel_id, ExclusionReason::concurrent);
}

// Median of begin to begin over the latest steps; 0 before there are two.
std::int64_t StepConductor::usual_step_ns() const noexcept {
  std::int64_t lengths[kStepHistory];
  std::size_t count = 0;
  const std::uint32_t begun = session_.steps.steps_begun();
  for (std::uint32_t i = begun > kStepHistory ? begun - kStepHistory + 1 : 1; i < begun; ++i)
    lengths[count++] = step_start_ns_[i % kStepHistory] - step_start_ns_[(i - 1) % kStepHistory];
  if (count == 0) return 0;
  std::nth_element(lengths, lengths + count / 2, lengths + count);
  return lengths[count / 2];
}

}  // namespace ridgeline::agent
