#include "steps/step_tracker.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ridgeline::agent {

StepTracker::StepTracker(spool::Writer& writer, const Schedule& schedule, std::string name)
    : writer_(writer),
      schedule_(schedule),
      compares_(schedule.has(Phase::sample) || schedule.has(Phase::replay)),
      name_(std::move(name)),
      total_steps_(schedule.total_steps()) {
  constexpr Phase kOfLaunches[] = {Phase::sample, Phase::replay, Phase::cold, Phase::flops};
  if (std::none_of(std::begin(kOfLaunches), std::end(kOfLaunches),
                   [&](Phase phase) { return schedule.has(phase); }))
    for (LaunchSequence& sequence : sequences_) sequence.only_count();
}

std::string_view StepTracker::step_name(std::string_view range) const noexcept {
  if (range.substr(0, name_.size()) == name_) {
    if (range.size() == name_.size()) return name_;
    const char c = range[name_.size()];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return name_;
  }
  const std::uint32_t adoptions = adoptions_.load(std::memory_order_acquire);
  if (adoptions > 0 && steps::FoldedName(range) == adopted_[adoptions - 1])
    return adopted_[adoptions - 1].text();
  return {};
}

bool StepTracker::adopt(const steps::FoldedName& name) noexcept {
  const std::uint32_t adoptions = adoptions_.load(std::memory_order_relaxed);
  if (adoptions == adopted_.size()) return false;
  adopted_[adoptions] = name;
  adoptions_.store(adoptions + 1, std::memory_order_release);
  return true;
}

bool StepTracker::begin(Step* step, bool before_schedule) noexcept {
  if (held_.load(std::memory_order_acquire) || reserved_.load(std::memory_order_acquire)) return false;
  bool closed = false;
  if (!open_.compare_exchange_strong(closed, true, std::memory_order_acquire)) return false;
  const std::uint32_t index = next_index_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t at = index - schedule_base_.load(std::memory_order_acquire);
  const Phase phase = schedule_.phase_of(at);
  std::uint64_t phase_first = 0;
  std::uint32_t phase_steps = 0;
  schedule_.extent_of_phase(at, &phase_first, &phase_steps);
  step_ = {index,
           phase,
           static_cast<std::uint32_t>(schedule_.steps_of_phase_before(phase, at)),
           pending_flags_.exchange(0, std::memory_order_acq_rel),
           schedule_.phase_of(at + 1),
           static_cast<std::uint32_t>(schedule_.steps_of_phase_before(phase, schedule_.total_steps())),
           schedule_.steps_left_in_phase(at),
           index - at + static_cast<std::uint32_t>(phase_first),
           phase_steps};
  if (before_schedule) {
    step_.phase = step_.next_phase = Phase::warmup;
    restart_schedule(0);
  }
  deferred_.store(false, std::memory_order_relaxed);
  current().clear();
  *step = step_;
  active_.store(index, std::memory_order_release);
  return true;
}

bool StepTracker::begin_stretch(Phase phase, std::uint32_t number, std::uint32_t planned,
                                Step* step) noexcept {
  if (held_.load(std::memory_order_acquire)) return false;
  bool closed = false;
  if (!open_.compare_exchange_strong(closed, true, std::memory_order_acquire)) return false;
  deferred_.store(false, std::memory_order_relaxed);
  step_ = {};
  step_.index = spool::kFirstStretch + stretches_begun_++;
  step_.phase = step_.next_phase = phase;
  step_.number_in_phase = number;
  step_.steps_in_phase = planned;
  step_.phase_first = step_.index;
  step_.phase_steps = 1;
  current().clear();
  *step = step_;
  active_.store(step_.index, std::memory_order_release);
  return true;
}

void StepTracker::write_begin(const Step& step, std::uint32_t config_id, std::int64_t now_ns,
                              std::uint32_t thread_id, std::uint16_t flags) noexcept {
  spool::StepStartRecord record{};
  record.header.flags = static_cast<std::uint16_t>(flags | step.flags);
  record.step_index = step.index;
  record.phase = step.phase;
  record.start_ns = now_ns;
  record.thread_id = thread_id;
  record.config_id = config_id;
  writer_.put(record);
}

void StepTracker::defer(Step* step, bool announced) noexcept {
  const bool again =
      (step_.flags & spool::kStepSamplesAgain) != 0;  // it has its place beside the schedule already
  if (deferred_.exchange(true) && !again) return;
  if (!again) schedule_base_.fetch_add(1, std::memory_order_acq_rel);
  if (announced) return;
  step_.phase = Phase::timeline;
  step_.flags &= static_cast<std::uint16_t>(~spool::kStepSamplesAgain);
  step_.flags |= spool::kStepDeferred;
  *step = step_;
}

void StepTracker::spare(Step* step) noexcept {
  if (deferred_.exchange(true)) return;
  step_.phase = Phase::timeline;
  step_.flags |= spool::kStepDeferred;
  *step = step_;
}

void StepTracker::sample_again(Step* step, std::uint32_t first, std::uint32_t steps) noexcept {
  if (deferred_.exchange(true)) return;
  schedule_base_.fetch_add(1, std::memory_order_acq_rel);
  step_.phase = Phase::sample;
  step_.flags |= spool::kStepDeferred | spool::kStepSamplesAgain;
  step_.number_in_phase = step_.index - first;
  step_.steps_in_phase = step_.phase_steps = steps;
  step_.phase_first = first;
  step_.steps_left = first + steps - step_.index;
  *step = step_;
}

void StepTracker::run_alone(Step* step) noexcept {
  defer(step, false);
  step_.flags |= spool::kStepAlone;
  *step = step_;
}

void StepTracker::restart_schedule(std::uint16_t flags) noexcept {
  pending_flags_.fetch_or(flags | spool::kScheduleStarts, std::memory_order_acq_rel);
  schedule_base_.store(next_index_.load(std::memory_order_relaxed), std::memory_order_release);
}

StepTracker::Step StepTracker::end(std::int64_t now_ns) noexcept {
  active_.store(spool::kNoStep, std::memory_order_release);
  spool::StepEndRecord record{};
  if (deferred_.load(std::memory_order_relaxed)) record.header.flags = spool::kStepDeferred;
  record.step_index = step_.index;
  record.launches_seen = last().count();
  record.end_ns = now_ns;
  writer_.put(record);
  const Step step = step_;
  return step;
}

void StepTracker::compare_with_latest() noexcept {
  const std::uint64_t hash = last().hash();
  if (has_reference_) {
    constexpr std::uint32_t kOfLatest = (1u << kStepsCompared) - 1;
    unlike_ = (unlike_ << 1 | static_cast<std::uint32_t>(hash != latest_hash_)) & kOfLatest;
    compared_ = std::min(compared_ + 1, kStepsCompared);
    vary_.store(2 * static_cast<std::uint32_t>(std::popcount(unlike_)) > compared_,
                std::memory_order_relaxed);
  }
  latest_hash_ = hash;
}

void StepTracker::keep_as_reference() noexcept {
  max_launches_ = std::max(max_launches_, last().count());
  if (compares_ && (!schedule_over() || vary())) compare_with_latest();
  reference_ = current_.exchange(reference_, std::memory_order_acq_rel);
  has_reference_ = true;
}

}  // namespace ridgeline::agent
