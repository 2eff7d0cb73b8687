// Which set of counters a replay step takes, and in which way it is measured.
#include <algorithm>

#include "tiers/replay.h"

namespace ridgeline::agent {
namespace {

// Of a launch whose records have not come yet.
constexpr double kTimeUnknownNs = 1000;
constexpr std::uint32_t kMaxPauses = 64;  // in a step, 40 ms each

}  // namespace

// A session counts either kernels or graph launches: steps with both take turns, the graphs first. A step
// with very many graph launches counts them alone, since counting kernels between them pauses at each.
bool Replay::takes_turns() const noexcept {
  const LaunchSequence* reference = this->reference();
  return reference != nullptr && reference->graph_launches() > 0 && reference->count() > 0 &&
         reference->graph_launches() <= kMaxPauses;
}

bool Replay::counts_graphs(const StepTracker::Step& step) const noexcept {
  const LaunchSequence* reference = this->reference();
  if (step.phase != Phase::replay || reference == nullptr || reference->graph_launches() == 0) return false;
  return !takes_turns() || step.number_in_phase % 2 == 0;
}

bool Replay::leaves_out(const LaunchSequence& step) const noexcept {
  for (std::uint32_t i = 0; i < step.count(); ++i)
    if (exclusions_.added(step[i].kernel_id)) return true;
  return false;
}

// Steps with kernels that are left out, as the latest timeline step shows it, would pause at each of them, and so would
// those with waits for the host.
Ranges Replay::counting_mode(const StepTracker::Step& step) const noexcept {
  if (counts_graphs(step)) return Ranges::graphs;
  const LaunchSequence* reference = this->reference();
  const bool marked =
      waits_ || way_ == counting::CountPlan::Way::some || (reference != nullptr && leaves_out(*reference));
  return step.phase == Phase::replay && marked ? Ranges::marked : Ranges::automatic;
}

// True if the step can be one start and stop of a session that goes on with another set in the next: nothing
// in it to pause for. As the latest timeline step shows it.
bool Replay::may_rotate(const StepTracker::Step& step) const noexcept {
  const LaunchSequence* reference = this->reference();
  if (step.phase != Phase::replay || way_ != counting::CountPlan::Way::all || replay_sets_ < 2 ||
      reference == nullptr || reference->graph_launches() > 0 || reference->count() == 0 || pauses_ ||
      steps_.max_launches() > CounterSession::kMaxRangesRotating)
    return false;
  return !leaves_out(*reference);
}

// Opening a session is dear, so that steps of one configuration follow each other: with enough steps each
// takes several in a row, with too few the last ones none.
std::uint32_t Replay::config_id(const StepTracker::Step& step) const noexcept {
  const auto turn = [](std::uint64_t number, std::uint64_t steps, std::uint64_t sets) {
    return static_cast<std::uint32_t>(steps >= sets && number < steps ? number * sets / steps
                                                                      : number % sets);
  };
  const std::uint32_t cold_sets = std::min(replay_sets_, CounterPlan::kColdSets);
  const std::uint32_t number = step.number_in_phase, steps = step.steps_in_phase;
  if (is_stretch(step))
    return stretch_configs_.empty() ? 0 : stretch_configs_[number % stretch_configs_.size()];
  switch (step.phase) {
    case Phase::replay:
      if (replay_sets_ == 0) return 0;
      if (may_rotate(step)) return 1 + number % replay_sets_;
      if (takes_turns()) return 1 + turn(number / 2, steps / 2, replay_sets_);
      return 1 + turn(number, steps, replay_sets_);
    case Phase::cold:
      return cold_sets == 0 ? 0 : 1 + turn(number, steps, cold_sets);
    case Phase::flops:
      return flops_sets_ == 0 ? 0 : 1 + replay_sets_ + turn(number, steps, flops_sets_);
    default:
      return 0;
  }
}

// One kernel with one grid does a product of any size where its blocks take tile after tile: in steps that are alike
// the time at the launch's place tells.
Replay::Planned Replay::planned(bool by_size, const SequenceEntry& launch,
                                std::uint32_t place) const noexcept {
  if (by_size) {
    const counting::Kind kind = size_kind_of(launch);
    return {kind, times_.by_size.of(kind).mean_ns()};
  }
  const counting::Kind kind = launch.kind();
  const double here_ns = times_.places.mean_ns(place, kind);
  if (here_ns > 0) return {counting::of_duration(kind, here_ns), here_ns};
  return {kind, times_.by_grid.of(kind).mean_ns()};
}

void Replay::expect_launches(const LaunchSequence& reference) noexcept {
  counting::Kind before = 0;
  for (std::uint32_t i = 0; i < std::min(reference.count(), LaunchSequence::kCapacity); ++i) {
    const auto [kind, usual_ns] = planned(false, reference[i], i);
    if (!exclusions_.added(reference[i].kernel_id)) {
      count_plan_.expect(kind, before, std::max(usual_ns, kTimeUnknownNs));
      // At the border between two classes of duration a launch falls into either.
      if (!count_plan_.first_round())
        for (const double factor : {0.85, 1.18})
          count_plan_.known_by(kind, before, counting::of_duration(reference[i].kind(), factor * usual_ns));
    }
    before = reference[i].kind();
  }
}

// Of a program that launches other things each time: what it spent its time on so far.
void Replay::expect_program() noexcept {
  by_size_ = true;
  count_plan_.expect_nothing();
  times_.by_size.for_each([&](counting::Kind kind, counting::LaunchTimes::Times times) {
    count_plan_.expect_time(kind, static_cast<double>(times.time_ns));
  });
}

// All launches if there is enough for that in this step and those after it; else those that tell most.
void Replay::plan_step() noexcept {
  using Way = counting::CountPlan::Way;
  if (step_.phase == Phase::replay) count_plan_.shared(budget_.spent_ns(), budget_.sharers());
  way_ = Way::all;
  by_size_ = false;
  const LaunchSequence* reference = this->reference();
  if (step_.phase != Phase::replay || replay_sets_ == 0) return;
  if (is_stretch(step_)) {
    take_noted_values();
    expect_program();
    const std::uint32_t sets = std::max<std::uint32_t>(step_.steps_in_phase, 1);
    const std::uint32_t set = config_id(step_);
    way_ = set == 0 ? Way::nothing : count_plan_.choose(set - 1, sets - step_.number_in_phase % sets, false);
    return;
  }
  if (reference == nullptr) {  // nothing is known of the program: as far as the budget goes
    if (!count_plan_.affords(0)) way_ = Way::nothing;
    return;
  }
  take_noted_values();
  count_plan_.expect_nothing();
  const std::uint64_t left =
      std::max<std::uint64_t>(step_.steps_in_phase, step_.number_in_phase + 1) - step_.number_in_phase;
  if (counts_graphs(step_)) {  // one like the other
    for (std::uint32_t i = 0; i < reference->graph_launches(); ++i) count_plan_.expect(1, 0, 1);
    if (!count_plan_.affords(0)) way_ = Way::nothing;
    return;
  }
  expect_launches(*reference);
  if (reference->count() == 0) return;
  if (!count_plan_.first_round() && steps_.vary()) {  // known by their size, or not
    expect_program();
    way_ = count_plan_.choose(config_id(step_) - 1, left, false);
    return;
  }
  way_ = count_plan_.choose(config_id(step_) - 1, left, session_.rotates());
  if (way_ != Way::some) return;
  if (steps_.vary()) expect_program();
  // Without a rotation another set may have its turn.
  way_ = count_plan_.choose(config_id(step_) - 1, left, false);
}

Replay::Worth Replay::worth(const StepTracker::Step& step) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (step.phase != Phase::replay || state_.load(std::memory_order_relaxed) != State::idle || armed_ns_ != 0)
    return Worth::counts;
  step_ = step;
  plan_step();
  if (way_ != counting::CountPlan::Way::nothing) return Worth::counts;
  return count_plan_.all_known() ? Worth::known : Worth::nothing;
}

void Replay::begin_round() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  count_plan_.begin_round(sets_counted_.load(std::memory_order_acquire));
}

bool Replay::pays_off(std::uint32_t stretch) noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || state_.load(std::memory_order_relaxed) != State::idle || armed_ns_ != 0)
    return false;
  step_ = {};
  step_.index = spool::kFirstStretch + stretch;
  step_.phase = Phase::replay;
  step_.number_in_phase = stretch;
  step_.steps_in_phase = static_cast<std::uint32_t>(stretch_configs_.size());
  plan_step();
  return way_ == counting::CountPlan::Way::some && count_plan_.chosen() > 0;
}

counting::Kind Replay::kind_before() const noexcept {
  const LaunchSequence& step = steps_.last();
  const std::uint32_t count = step.count();
  return count == 0 || count > LaunchSequence::kCapacity ? 0 : step[count - 1].kind();
}

void Replay::take_noted_values() noexcept {
  std::vector<NotedValue> noted;
  {
    std::lock_guard<std::mutex> guard(noted_mutex_);
    noted.swap(noted_);
  }
  for (const NotedValue& value : noted)
    count_plan_.value(value.kind, value.before, value.roof, value.utilisation);
}

}  // namespace ridgeline::agent
