#include "whatif/remedies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "execution/step_builder.h"
#include "execution/step_recording.h"
#include "whatif/graph_edit.h"

namespace ridgeline::analyzer {

namespace {

using Index = RecordedStep::Index;

// What is taken off the calls is near enough if the step is shorter by that share of what the recording adds.
constexpr double kNearEnough = 0.95;
constexpr int kMaxTries = 8;
// Between two kernels of a stream that are queued.
constexpr std::int64_t kQueuedPauseNs = 1400;
// Where the GPU is the pace for a part of the step, calls may be shorter by more than their mean share of it.
constexpr double kMaxTimesMean = 8;

std::optional<std::int64_t> shorter(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::vector<Index> in_order_of_start(const RecordedStep& step) {
  std::vector<Index> order(step.works.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return step.works[a].start_ns < step.works[b].start_ns; });
  return order;
}

}  // namespace

class Remedies::Impl {
 public:
  Impl(const Model& model, const RepresentativeStep& step, const RemedyOptions& options)
      : model_(model), step_(step), options_(options) {}

  // With this edit on top of what the recording does not add.
  std::optional<RemedyGain> gain(StepEdit edit) {
    prepare();
    if (!simulation_) return std::nullopt;
    const auto above = [&](const Unrecorded& without) {
      edit.less_per_work_ns = without.per_work_ns;
      return std::max(saving_ns(edit) - without.shorter_ns, 0.0);
    };
    RemedyGain gained;
    gained.ns = above(usual_);
    gained.min_ns = most_ ? std::min(above(*most_), gained.ns) : gained.ns;
    edit.less_per_work_ns = 0;
    gained.edit = std::move(edit);
    return gained;
  }

  // Null: not simulated.
  const StepRecording* recorded() {
    prepare();
    return simulation_ ? &*recorded_ : nullptr;
  }
  [[nodiscard]] const ReplayOptions& replay() const { return options_.replay; }
  // Of the step as it would be unrecorded.
  [[nodiscard]] double length_ns() const { return simulated_ns_ - usual_.shorter_ns; }

 private:
  // The step with so much less for each piece of work, and by what it is shorter.
  struct Unrecorded {
    double per_work_ns = 0;
    double shorter_ns = 0;
  };

  void prepare() {
    if (prepared_) return;
    prepared_ = true;
    if (static_cast<std::int64_t>(step_.launches.size()) > options_.replay.max_all_works) return;
    recorded_ = record_step(model_, step_);
    if (!recorded_ || recorded_->launches_with_call == 0 || !recorded_->waits ||
        recorded_->step.end_ns <= recorded_->step.start_ns)
      return;
    BuiltStep built = build_graph(recorded_->step, {options_.replay.launch_latency_ns});
    simulation_.emplace(std::move(built.graph), StepSimulation::Options{.anchor = built.anchor});
    simulated_ns_ = simulation_->length_ns() - static_cast<double>(built.offset_ns);
    if (deviation_ratio(recorded_->step, simulated_ns_) > options_.replay.total_tolerance_ratio)
      simulation_.reset();
    else
      take_recording_out();
  }

  [[nodiscard]] Unrecorded without(double per_work_ns) const {
    StepEdit edit;
    edit.less_per_work_ns = per_work_ns;
    return {per_work_ns, saving_ns(edit)};
  }

  // As much less of each launch that the step is shorter by what the recording adds, where that was measured.
  void take_recording_out() {
    if (!options_.recording_ns) {
      usual_ = without(options_.usual_per_work_ns);
      most_ = without(options_.max_per_work_ns);
      return;
    }
    const double wanted_ns = *options_.recording_ns;
    if (wanted_ns <= 0) return;
    double low_ns = 0, high_ns = 0;
    double next_ns = wanted_ns / static_cast<double>(recorded_->step.works.size());
    const double max_ns = kMaxTimesMean * next_ns;
    for (int i = 0; i < kMaxTries && next_ns <= max_ns; ++i) {
      usual_ = without(next_ns);
      if (usual_.shorter_ns > wanted_ns)
        high_ns = next_ns;
      else if (usual_.shorter_ns >= kNearEnough * wanted_ns)
        return;
      else
        low_ns = next_ns;
      next_ns = high_ns > 0 ? (low_ns + high_ns) / 2 : 2 * next_ns;
    }
  }

  double saving_ns(const StepEdit& edit) const {
    return simulation_->saving_ns(
        build_graph(recorded_->step, {options_.replay.launch_latency_ns}, edit).graph);
  }

  const Model& model_;
  const RepresentativeStep& step_;
  RemedyOptions options_;
  bool prepared_ = false;
  std::optional<StepRecording> recorded_;
  std::optional<StepSimulation> simulation_;  // empty: the step does not come out as it was recorded
  double simulated_ns_ = 0;
  Unrecorded usual_;
  std::optional<Unrecorded> most_;  // empty: what the recording adds was measured
};

Remedies::Remedies(const Model& model, const RepresentativeStep& step, const RemedyOptions& options)
    : impl_(std::make_unique<Impl>(model, step, options)) {}
Remedies::~Remedies() = default;
Remedies::Remedies(Remedies&&) noexcept = default;
Remedies& Remedies::operator=(Remedies&&) noexcept = default;

std::optional<RemedyGain> Remedies::without_waits(SynchronisationCall kind) const {
  const StepRecording* recorded = impl_->recorded();
  if (recorded == nullptr) return std::nullopt;
  StepEdit edit;
  for (const StepRecording::HostWait& wait : recorded->host_waits) {
    if (wait.kind == kind)
      edit.calls[wait.call] = {.length_ns = 0, .max_own_ns = std::nullopt, .waits = false};
  }
  return impl_->gain(std::move(edit));
}

std::optional<RemedyGain> Remedies::as_graph() const {
  const StepRecording* recorded = impl_->recorded();
  if (recorded == nullptr) return std::nullopt;
  StepEdit edit;
  edit_as_graph(recorded->step, impl_->replay(), edit);
  // What lies between kernels that are queued is no gap of the CPU's, though a graph makes it shorter too.
  std::unordered_map<std::int64_t, std::int64_t> end_of;  // of the work before, by stream
  for (const Index i : in_order_of_start(recorded->step)) {
    const RecordedStep::Work& work = recorded->step.works[i];
    const auto before = end_of.find(work.stream);
    if (before != end_of.end() && work.start_ns - before->second <= kQueuedPauseNs) edit.works.erase(i);
    std::int64_t& end_ns = end_of[work.stream];
    end_ns = std::max(end_ns, work.end_ns);
  }
  // Nor between those that would be queued if nothing were recorded: of the gain are the calls alone.
  StepEdit pauses;
  pauses.works = edit.works;
  const std::optional<RemedyGain> by_pauses = impl_->gain(std::move(pauses));
  std::optional<RemedyGain> gained = impl_->gain(std::move(edit));
  if (!gained || !by_pauses) return std::nullopt;
  gained->ns = std::max(gained->ns - by_pauses->ns, 0.0);
  gained->min_ns = std::max(gained->min_ns - by_pauses->ns, 0.0);
  return gained;
}

std::optional<RemedyGain> Remedies::with_hidden(std::span<const std::uint32_t> copies) const {
  const StepRecording* recorded = impl_->recorded();
  if (recorded == nullptr) return std::nullopt;
  StepEdit edit;
  std::map<CopyKind, double> lengths;  // a direction does one after the other
  for (const StepRecording::HostCopy& copy : recorded->host_copies) {
    if (std::find(copies.begin(), copies.end(), copy.copy) == copies.end()) continue;
    const RecordedStep::Work& work = recorded->step.works[copy.work];
    lengths[copy.kind] += static_cast<double>(work.end_ns - work.start_ns);
    edit.works[copy.work] = {0, 0};
  }
  double longest_ns = 0;
  for (const auto& [kind, ns] : lengths) longest_ns = std::max(longest_ns, ns);
  std::optional<RemedyGain> gained = impl_->gain(std::move(edit));
  if (!gained) return gained;
  const double max_ns = std::max(impl_->length_ns() - longest_ns, 0.0);
  gained->ns = std::min(gained->ns, max_ns);
  gained->min_ns = std::min(gained->min_ns, max_ns);
  return gained;
}

std::optional<RemedyGain> Remedies::together(std::span<const StepEdit> edits) const {
  if (impl_->recorded() == nullptr) return std::nullopt;
  StepEdit all;
  for (const StepEdit& edit : edits) {
    for (const auto& [index, work] : edit.works) {
      StepEdit::Work& to = all.works[index];
      to.duration_ns = shorter(to.duration_ns, work.duration_ns);
      to.max_pause_ns = shorter(to.max_pause_ns, work.max_pause_ns);
    }
    for (const auto& [index, call] : edit.calls) {
      StepEdit::Call& to = all.calls[index];
      to.length_ns = shorter(to.length_ns, call.length_ns);
      to.max_own_ns = shorter(to.max_own_ns, call.max_own_ns);
      to.waits = to.waits && call.waits;
    }
  }
  return impl_->gain(std::move(all));
}

std::optional<RemedyGain> Remedies::as_one(std::span<const Kept> launches) const {
  const StepRecording* recorded = impl_->recorded();
  if (recorded == nullptr) return std::nullopt;
  StepEdit edit;
  const RecordedStep& step = recorded->step;
  std::optional<Index> first;
  for (const auto& [launch, kept] : launches) {
    const auto found = std::lower_bound(
        recorded->launches.begin(), recorded->launches.end(), launch,
        [](const StepRecording::Launched& l, LaunchIndex index) { return l.launch < index; });
    if (found == recorded->launches.end() || found->launch != launch) continue;
    const RecordedStep::Work& work = step.works[found->work];
    const double now_ns = static_cast<double>(work.end_ns - work.start_ns);
    StepEdit::Work& changed = edit.works[found->work];
    changed.duration_ns = std::llround(now_ns * std::clamp(kept, 0.0, 1.0));
    if (work.call == RecordedStep::kNone || work.graph || step.calls[work.call].waits) continue;
    changed.max_pause_ns = 0;
    edit.calls[work.call] = {.length_ns = 0, .max_own_ns = 0};
    if (!first || step.calls[work.call].start_ns < step.calls[*first].start_ns) first = work.call;
  }
  if (first) edit.calls.erase(*first);
  return impl_->gain(std::move(edit));
}

}  // namespace ridgeline::analyzer
