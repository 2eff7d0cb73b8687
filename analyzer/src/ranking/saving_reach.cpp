#include "ranking/saving_reach.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "execution/step_builder.h"
#include "execution/step_recording.h"

namespace ridgeline::analyzer {

namespace {

// In these phases the recorder serialises launches or takes long between them: the CPU's times are not the program's.
bool paced_by_recorder(Phase phase) {
  return phase == Phase::replay || phase == Phase::cold || phase == Phase::flops || phase == Phase::stalls;
}

Absence absence(AbsenceCause cause) {
  Absence why;
  why.cause = cause;
  return why;
}

}  // namespace

SavingReach::SavingReach(const Model& model, const std::vector<RepresentativeStep>& steps,
                         const ReachOptions& options)
    : options_(options) {
  reach_.other_processes = std::max<std::int64_t>(static_cast<std::int64_t>(model.processes.size()) - 1, 0);
  if (options.cut) reach_.why.push_back(absence(AbsenceCause::cut_in_time));
  for (const RepresentativeStep& step : steps) {
    if (!reach_.known()) break;
    add_step(model, step);
  }
  if (steps.empty()) reach_.why.push_back(absence(AbsenceCause::no_timestamps));
  if (!reach_.known()) {
    StepReach unknown;
    unknown.why = std::move(reach_.why);
    unknown.measured_ns = reach_.measured_ns;
    unknown.simulated_ns = reach_.simulated_ns;
    reach_ = std::move(unknown);
    steps_.clear();
  }
  std::sort(launches_.begin(), launches_.end(),
            [](const Launched& a, const Launched& b) { return a.launch < b.launch; });
}

void SavingReach::add_step(const Model& model, const RepresentativeStep& step) {
  const bool is_step = !step.whole_recording && step.summary.step_id != 0;
  if (is_step && paced_by_recorder(step.summary.phase)) {
    reach_.why.push_back(absence(AbsenceCause::paced_by_recorder));
    reach_.why.back().phase = step.summary.phase;
    return;
  }
  if (static_cast<std::int64_t>(step.launches.size()) > options_.max_works) {
    reach_.why.push_back(absence(AbsenceCause::too_many_launches));
    return;
  }
  const auto recorded = record_step(model, step);
  if (!recorded || recorded->step.end_ns <= recorded->step.start_ns) {
    reach_.why.push_back(absence(AbsenceCause::no_timestamps));
    return;
  }
  if (recorded->launches_with_call > 0 && !recorded->waits) {
    reach_.why.push_back(absence(AbsenceCause::waits_not_recorded));
    return;
  }
  BuiltStep built = build_graph(recorded->step, {options_.launch_latency_ns});
  StepSimulation simulation(std::move(built.graph), {.anchor = built.anchor});
  const double simulated_ns = simulation.length_ns() - static_cast<double>(built.offset_ns);
  reach_.measured_ns += recorded->step.end_ns - recorded->step.start_ns;
  reach_.simulated_ns += simulated_ns;
  if (deviation_ratio(recorded->step, simulated_ns) > options_.tolerance_ratio) {
    reach_.why.push_back(absence(AbsenceCause::not_reproduced));
    return;
  }
  std::vector<StepSimulation::Change> all;
  for (const NodeIndex node : built.node_of_work) all.push_back({node, 0});
  reach_.without_gpu_ns += simulated_ns - simulation.saving_ns(all);
  reach_.launches += static_cast<std::int64_t>(recorded->launches.size());
  reach_.launches_with_call += recorded->launches_with_call;
  reach_.streams_joined += built.concluded;
  reach_.order_recorded = recorded->step.dependencies_recorded && (steps_.empty() || reach_.order_recorded);
  reach_.dependencies += static_cast<std::int64_t>(recorded->step.dependencies.size());
  for (const StepRecording::Launched& launched : recorded->launches) {
    launches_.push_back(
        {launched.launch, static_cast<std::uint32_t>(steps_.size()), built.node_of_work[launched.work]});
  }
  steps_.push_back(std::move(simulation));
}

const SavingReach::Launched* SavingReach::find(LaunchIndex launch) const {
  const auto found =
      std::lower_bound(launches_.begin(), launches_.end(), launch,
                       [](const Launched& l, LaunchIndex wanted) { return l.launch < wanted; });
  return found == launches_.end() || found->launch != launch ? nullptr : &*found;
}

void SavingReach::add_launch(const LaunchUtilisations& launches, std::size_t position, double goal,
                             Changes& changes) const {
  const LaunchVerdict& verdict = launches.group_of(position);
  if (verdict.status != LaunchStatus::measured || *verdict.nearest_roof_ratio >= goal) return;
  const LaunchUtilisations::Row& row = launches.row(position);
  const Launched* found = find(row.launch);
  if (found == nullptr) return;
  const double reached_ns = static_cast<double>(row.duration_ns) * *verdict.nearest_roof_ratio / goal;
  changes[found->step].push_back({found->node, std::llround(reached_ns)});
}

double SavingReach::saving_ns(const Changes& changes) const {
  double sum_ns = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!changes[i].empty()) sum_ns += steps_[i].saving_ns(changes[i]);
  }
  return sum_ns;
}

std::optional<double> SavingReach::of(const UtilisationAnalysis& utilisation,
                                      const std::vector<std::uint32_t>& positions, double goal) const {
  if (!reach_.known()) return std::nullopt;
  Changes changes(steps_.size());
  for (const std::uint32_t i : positions) add_launch(utilisation.launches, i, goal, changes);
  return saving_ns(changes);
}

std::optional<double> SavingReach::if_shorter(const std::vector<Shorter>& launches) const {
  if (!reach_.known()) return std::nullopt;
  Changes changes(steps_.size());
  for (const auto& [launch, by_ns] : launches) {
    const Launched* found = find(launch);
    if (found == nullptr) continue;
    const std::int64_t now_ns = steps_[found->step].graph().duration_ns(found->node);
    changes[found->step].push_back({found->node, std::max<std::int64_t>(now_ns - std::llround(by_ns), 0)});
  }
  return saving_ns(changes);
}

std::int64_t SavingReach::visits() const {
  std::int64_t sum = 0;
  for (const StepSimulation& step : steps_) sum += step.visits();
  return sum;
}

void SavingReach::add_to(const UtilisationAnalysis& utilisation, Ranking& ranking) const {
  ranking.reach = reach_;
  if (!reach_.known()) return;
  StepReach& reach = *ranking.reach;
  const LaunchUtilisations& launches = utilisation.launches;
  const Changes none(steps_.size());
  std::int64_t visits = 0;
  const auto reached_ns = [&](const auto& positions, double goal) {
    Changes changes = none;
    for (const std::size_t i : positions) add_launch(launches, i, goal, changes);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!changes[i].empty()) visits += steps_[i].visits();
    }
    return saving_ns(changes);
  };
  std::vector<std::uint32_t> all;
  for (const RankingRow& row : ranking.rows) all.insert(all.end(), row.launches.begin(), row.launches.end());
  reach.target_ns = reached_ns(all, ranking.options.target);
  reach.stretch_ns = reached_ns(all, ranking.options.stretch);
  // What could save most first: if there are too many rows, those that matter least are left out.
  std::vector<RankingRow*> order;
  for (RankingRow& row : ranking.rows) order.push_back(&row);
  std::sort(order.begin(), order.end(), [](const RankingRow* a, const RankingRow* b) {
    return std::tie(b->saved_target_ns, a->key) < std::tie(a->saved_target_ns, b->key);
  });
  for (RankingRow* row : order) {
    // One row alone cannot reach more than all rows together.
    const bool target = row->saved_target_ns > 0 && reach.target_ns > 0;
    const bool stretch = row->saved_stretch_ns > 0 && reach.stretch_ns > 0;
    if ((target || stretch) && visits > options_.max_visits) {
      ++reach.rows_left_out;
      continue;
    }
    row->reached_target_ns = target ? reached_ns(row->launches, ranking.options.target) : 0;
    row->reached_stretch_ns = stretch ? reached_ns(row->launches, ranking.options.stretch) : 0;
  }
  const auto rank_of = [&](const RankingRow& row) {
    return std::round(row.reached_target_ns.value_or(0) / static_cast<double>(options_.resolution_ns));
  };
  std::stable_sort(ranking.rows.begin(), ranking.rows.end(), [&](const RankingRow& a, const RankingRow& b) {
    if (rank_of(a) != rank_of(b)) return rank_of(a) > rank_of(b);
    // Where the CPU holds the step back nothing reaches it: what the GPU itself could save still says where to begin.
    if (a.saved_target_ns != b.saved_target_ns) return a.saved_target_ns > b.saved_target_ns;
    if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
    return a.key < b.key;
  });
}

}  // namespace ridgeline::analyzer
