#include "whatif/replayed_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "whatif/graph_edit.h"

namespace ridgeline::analyzer {

namespace {

using Index = RecordedStep::Index;

Absence absence_of(AbsenceCause cause) {
  Absence why;
  why.cause = cause;
  return why;
}

// In these phases the recorder serialises launches or takes long between them: the CPU's times are not the program's.
bool recorder_sets_pace(const RepresentativeStep& step) {
  const Phase phase = step.summary.phase;
  return !step.whole_recording && step.summary.step_id != 0 &&
         (phase == Phase::replay || phase == Phase::cold || phase == Phase::flops || phase == Phase::stalls);
}

}  // namespace

std::unique_ptr<const ReplayedStep> ReplayedStep::make(const Model& model, const RepresentativeStep& step,
                                                       const ReplayOptions& options,
                                                       std::vector<Absence>& why) {
  why.clear();
  if (recorder_sets_pace(step)) {
    why.push_back(absence_of(AbsenceCause::paced_by_recorder));
    why.back().phase = step.summary.phase;
    return nullptr;
  }
  if (static_cast<std::int64_t>(step.launches.size()) > options.max_works) {
    why.push_back(absence_of(AbsenceCause::too_many_launches));
    return nullptr;
  }
  auto recorded = record_step(model, step);
  if (!recorded || recorded->step.end_ns <= recorded->step.start_ns) {
    why.push_back(absence_of(AbsenceCause::no_timestamps));
  } else if (recorded->launches_with_call == 0) {
    why.push_back(absence_of(AbsenceCause::calls_not_recorded));
  } else if (!recorded->waits) {
    why.push_back(absence_of(AbsenceCause::waits_not_recorded));
  } else {
    return std::unique_ptr<const ReplayedStep>(new ReplayedStep(std::move(*recorded), step, options));
  }
  return nullptr;
}

ReplayedStep::ReplayedStep(StepRecording recorded, const RepresentativeStep& step,
                           const ReplayOptions& options)
    : recorded_(std::move(recorded)), options_(options) {
  for (const LaunchIndex launch : step.launches) {
    const auto found = std::lower_bound(
        recorded_.launches.begin(), recorded_.launches.end(), launch,
        [](const StepRecording::Launched& l, LaunchIndex index) { return l.launch < index; });
    const bool known = found != recorded_.launches.end() && found->launch == launch;
    work_of_position_.push_back(known ? found->work : RecordedStep::kNone);
  }
  built_ = build_graph(recorded_.step, {options_.launch_latency_ns});
  simulation_.emplace(std::move(built_.graph), StepSimulation::Options{.anchor = built_.anchor});
  simulated_ns_ = simulation_->length_ns() - static_cast<double>(built_.offset_ns);
}

double ReplayedStep::measured_ns() const {
  return static_cast<double>(recorded_.step.end_ns - recorded_.step.start_ns);
}

// Returns whether anything but durations changed.
bool ReplayedStep::edit_launches(const std::vector<double>& ratios, StepEdit& edit) const {
  bool removed = false;
  for (std::size_t position = 0; position < std::min(ratios.size(), work_of_position_.size()); ++position) {
    const Index index = work_of_position_[position];
    if (index == RecordedStep::kNone || std::isnan(ratios[position])) continue;
    const RecordedStep::Work& work = recorded_.step.works[index];
    const double ratio = std::max(ratios[position], 0.0);
    StepEdit::Work& changed = edit.works[index];
    changed.duration_ns = std::llround(static_cast<double>(work.end_ns - work.start_ns) * ratio);
    if (ratios[position] >= 0) continue;
    removed = true;
    changed.max_pause_ns = 0;
    if (work.call != RecordedStep::kNone && !work.graph && !recorded_.step.calls[work.call].waits)
      edit.calls[work.call].length_ns = 0;
  }
  return removed;
}

// A step cannot be shorter than what its copies in one direction take.
double ReplayedStep::longest_copies_ns() const {
  std::map<CopyKind, std::int64_t> sums;
  for (const StepRecording::HostCopy& copy : recorded_.host_copies)
    sums[copy.kind] += recorded_.step.works[copy.work].end_ns - recorded_.step.works[copy.work].start_ns;
  std::int64_t longest_ns = 0;
  for (const auto& [kind, ns] : sums) longest_ns = std::max(longest_ns, ns);
  return static_cast<double>(longest_ns);
}

double ReplayedStep::gain_ns(const std::vector<double>& ratios, const StepChange& change) const {
  StepEdit edit;
  const bool removed = edit_launches(ratios, edit);
  const StepSimulation& simulation = *simulation_;
  if (!removed && !change.as_graph && !change.hide_copies) {
    std::vector<StepSimulation::Change> changes;
    for (const auto& [work, changed] : edit.works)
      changes.push_back({built_.node_of_work[work], *changed.duration_ns});
    return simulation.saving_ns(changes);
  }
  if (change.as_graph) edit_as_graph(recorded_.step, options_, edit);
  if (change.hide_copies) {
    for (const StepRecording::HostCopy& copy : recorded_.host_copies) edit.works[copy.work] = {0, 0};
  }
  const BuiltStep edited = build_graph(recorded_.step, {options_.launch_latency_ns}, edit);
  const double gain_ns = simulation.saving_ns(edited.graph);
  return change.hide_copies ? std::min(gain_ns, std::max(simulated_ns_ - longest_copies_ns(), 0.0)) : gain_ns;
}

ReplayedStep::Begins ReplayedStep::begins() const {
  const StepGraph::Times times = simulation_->settled_times();
  const double offset_ns = simulation_->length_ns() - simulated_ns_;
  Begins begins;
  for (const Index index : work_of_position_) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const bool known = index != RecordedStep::kNone;
    begins.recorded_ns.push_back(
        known ? static_cast<double>(recorded_.step.works[index].start_ns - recorded_.step.start_ns) : kNone);
    begins.simulated_ns.push_back(
        known ? static_cast<double>(times.start_ns[built_.node_of_work[index]]) - offset_ns : kNone);
  }
  return begins;
}

}  // namespace ridgeline::analyzer
