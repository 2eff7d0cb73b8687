#include "ridgeline/analyzer/whatif/interventions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ridgeline/base/statistics.h"
#include "whatif/delay_fit.h"
#include "whatif/delays.h"

namespace ridgeline::analyzer {

namespace {

using store::Id;
using store::Intervention;

constexpr int kSlackPlaces = 64;  // between no delay and the longest, at which slack may end
constexpr double kBetterLine =
    6.63;  // chi-squared of one parameter at 99 %: a bend that is none is seldom seen
constexpr double kWithin95 = 3.84;  // and at 95 %

// A step with its delays, in order of time.
struct DelayStep {
  std::int64_t index = 0;
  std::optional<std::int64_t> start_ns;  // of its first work, a delay in front of it included
  std::vector<const Intervention*> delays;
  bool is_timeline = false;
  bool of_block = false;  // after the schedule, where blocks of seconds are (power_blocks.h)
};
using DelaySteps = std::map<std::int64_t, DelayStep>;  // by step index, of one process

std::map<Id, DelaySteps> steps_by_process(const std::vector<Intervention>& delays,
                                          const std::vector<store::Step>& rows) {
  std::map<Id, DelaySteps> processes;
  std::map<Id, DelayStep*> by_id;
  for (const store::Step& row : rows) {
    DelayStep& step = processes[row.process_id][row.step_index];
    step.index = row.step_index;
    step.start_ns = row.gpu_start_ns;
    step.is_timeline = row.phase == Phase::timeline && row.status == StepStatus::ok;
    step.of_block = row.phase == Phase::after;
    by_id[row.id] = &step;
  }
  for (const Intervention& delay : delays) {
    const auto step = by_id.find(delay.step_id);
    if (step == by_id.end()) continue;
    step->second->delays.push_back(&delay);
    if (delay.start_ns && step->second->start_ns)
      step->second->start_ns = std::min(*step->second->start_ns, *delay.start_ns);
  }
  return processes;
}

const DelayStep* step_at(const DelaySteps& steps, std::int64_t index) {
  const auto found = steps.find(index);
  return found == steps.end() ? nullptr : &found->second;
}

std::optional<double> length_ns(const DelaySteps& steps, std::int64_t index, std::int64_t count) {
  const DelayStep *first = step_at(steps, index), *after = step_at(steps, index + count);
  if (first == nullptr || after == nullptr || !first->start_ns || !after->start_ns ||
      *after->start_ns <= *first->start_ns)
    return std::nullopt;
  return static_cast<double>(*after->start_ns - *first->start_ns);
}

bool is_drawn(const DelayStep& step) {
  return !step.delays.empty() && step.delays.front()->drawn;
}

// The drawn steps of a process that have a length: what each target's delay did, and shams.
struct Drawn {
  std::map<std::int64_t, std::vector<std::pair<const Intervention*, DelayedStep>>> by_target;
  std::vector<DelayedStep> shams;
};

Drawn drawn_of(const DelaySteps& steps, const std::map<std::int64_t, double>& sham_ns,
               InterventionAnalysis& all) {
  Drawn drawn;
  for (const auto& [index, step] : steps) {
    if (!is_drawn(step)) continue;
    ++all.drawn_steps;
    const DelayStep* next = step_at(steps, index + 1);
    const auto length = length_ns(steps, index, 2);
    // The step after it has shams alone, or it is another experiment.
    if (!length || next == nullptr || next->delays.empty() || delayed_in(next->delays) != nullptr) continue;
    const Intervention* delayed = delayed_in(step.delays);
    DelayedStep made{index, 0, *length};
    if (delayed == nullptr) {
      ++all.usable_steps;
      drawn.shams.push_back(made);
      continue;
    }
    const auto taken = taken_ns(*delayed);
    const auto sham = sham_ns.find(delayed->target);
    if (!taken || sham == sham_ns.end()) continue;
    ++all.usable_steps;
    made.delay_ns = *taken - sham->second;
    drawn.by_target[delayed->target].emplace_back(delayed, made);
  }
  return drawn;
}

double median_length(const std::vector<DelayedStep>& steps) {
  std::vector<double> lengths;
  for (const DelayedStep& step : steps) lengths.push_back(step.length_ns);
  return median(std::move(lengths));
}

std::vector<DelayLevel> levels_of(const std::vector<std::pair<const Intervention*, DelayedStep>>& delayed,
                                  double sham_length_ns) {
  std::map<std::int64_t, std::vector<DelayedStep>> by_level;
  for (const auto& [row, step] : delayed) by_level[row->level_ns].push_back(step);
  std::vector<DelayLevel> levels;
  for (const auto& [level_ns, steps] : by_level) {
    std::vector<double> delays;
    for (const DelayedStep& step : steps) delays.push_back(step.delay_ns);
    levels.push_back({.level_ns = level_ns,
                      .steps = static_cast<std::int64_t>(steps.size()),
                      .delay_ns = median(std::move(delays)),
                      .longer_ns = median_length(steps) - sham_length_ns});
  }
  return levels;
}

std::vector<double> delays_of(const std::vector<DelayedStep>& steps) {
  std::vector<double> delays;
  for (const DelayedStep& step : steps) delays.push_back(step.delay_ns);
  return delays;
}

// False if one is not simulated.
bool simulate_levels(const SimulatedDelay& simulate, LaunchIntervention& launch) {
  if (!simulate) return false;
  for (DelayLevel& level : launch.levels) {
    level.simulated_ns = simulate(launch.kernel_id, launch.ordinal, level.delay_ns);
    if (!level.simulated_ns) return false;
  }
  return true;
}

// The line that the same steps would have had, each with the weight that it has in the measured one, if the
// simulation were right: where the step gets longer from some delay on only, a slope goes by the design.
std::optional<double> simulated_slope(const std::vector<std::pair<const Intervention*, DelayedStep>>& delayed,
                                      const std::vector<DelayedStep>& steps,
                                      const std::vector<double>& weights, const LaunchIntervention& launch) {
  std::map<std::int64_t, double> by_level;
  for (const DelayLevel& level : launch.levels) by_level[level.level_ns] = level.simulated_ns.value_or(0);
  std::vector<DelayedStep> simulated = steps;  // shams first, then those that are delayed
  for (DelayedStep& step : simulated) step.length_ns = 0;
  const std::size_t shams = steps.size() - delayed.size();
  for (std::size_t i = 0; i < delayed.size(); ++i)
    simulated[shams + i].length_ns = by_level[delayed[i].first->level_ns];
  const auto line = fit_line(simulated, delays_of(simulated), weights);
  return line ? std::optional(line->slope) : std::nullopt;
}

SlopeVerdict verdict_of(const LaunchIntervention& launch) {
  if (launch.delayed_steps == 0) return SlopeVerdict::no_delays;
  if (launch.delayed_steps < kMinDelayedSteps || launch.sham_steps < kMinShamSteps || !launch.slope)
    return SlopeVerdict::too_few_steps;
  if (launch.slope->high - launch.slope->low > kMaxSlopeInterval) return SlopeVerdict::too_uncertain;
  if (!launch.simulated_slope) return SlopeVerdict::not_simulated;
  const double simulated = *launch.simulated_slope;
  const bool within =
      simulated >= launch.slope->low - kSlopeTolerance && simulated <= launch.slope->high + kSlopeTolerance;
  return within ? SlopeVerdict::agree : SlopeVerdict::differ;
}

void judge(const Drawn& drawn, const SimulatedDelay& simulate, LaunchIntervention& launch) {
  launch.sham_steps = static_cast<std::int64_t>(drawn.shams.size());
  const auto found = drawn.by_target.find(launch.target);
  if (found != drawn.by_target.end()) {
    std::vector<DelayedStep> steps = drawn.shams;
    double longest_ns = 0;
    for (const auto& [row, step] : found->second) {
      steps.push_back(step);
      longest_ns = std::max(longest_ns, step.delay_ns);
    }
    launch.delayed_steps = static_cast<std::int64_t>(found->second.size());
    launch.levels = levels_of(found->second, median_length(drawn.shams));
    const bool simulated = simulate_levels(simulate, launch);
    if (launch.delayed_steps >= kMinDelayedSteps && launch.sham_steps >= kMinShamSteps) {
      launch.slope = delay_slope(steps);
      if (const auto line = fit_line(steps, delays_of(steps)); line && simulated)
        launch.simulated_slope = simulated_slope(found->second, steps, line->weights, launch);
      launch.slack = delay_slack(steps);
      launch.slack_reached = launch.slack.has_value();
      // Nothing that could be told from no effect, and not a tenth of the delay: it bore them all.
      if (!launch.slack && launch.slope && launch.slope->low <= 0 && launch.slope->high < kSlopeTolerance)
        launch.slack = InterventionEstimate{longest_ns, longest_ns, longest_ns};
    }
  }
  launch.verdict = verdict_of(launch);
}

// Steps of shams alone against those of the timeline.
void cost_of_shams(const DelaySteps& steps, InterventionAnalysis& all) {
  std::vector<double> shams, timeline;
  for (const auto& [index, step] : steps) {
    const auto length = length_ns(steps, index, 1);
    if (!length) continue;
    const DelayStep *before = step_at(steps, index - 1), *next = step_at(steps, index + 1);
    if (step.is_timeline && next != nullptr && next->is_timeline) timeline.push_back(*length);
    // What a delay moved must have come to rest.
    const bool rests = before == nullptr || delayed_in(before->delays) == nullptr;
    if (!step.of_block && !step.delays.empty() && delayed_in(step.delays) == nullptr && rests)
      shams.push_back(*length);
  }
  if (shams.empty()) return;
  all.sham_step_ns = median(shams);
  if (shams.size() < 4 || timeline.size() < 4) return;
  const double value = all.sham_step_ns - median(timeline);
  const double half = 1.96 * std::hypot(error_of_median(shams), error_of_median(timeline));
  all.sham_cost = InterventionEstimate{value, value - half, value + half};
}

void add_process(Id process_id, const DelaySteps& steps, const SimulatedDelay& simulate,
                 InterventionAnalysis& all) {
  std::map<std::int64_t, LaunchIntervention> launches;
  std::map<std::int64_t, std::vector<double>> shams;
  for (const auto& [index, step] : steps) {
    for (const Intervention* delay : step.delays) {
      LaunchIntervention& launch = launches[delay->target];
      launch.process_id = process_id;
      launch.target = delay->target;
      launch.kernel_id = delay->kernel_id;
      launch.ordinal = delay->ordinal;
      if (all.seed.empty()) all.seed = delay->seed;
      if (const auto taken = taken_ns(*delay); taken && delay->level_ns == 0)
        shams[delay->target].push_back(*taken);
    }
  }
  if (launches.empty()) return;
  std::map<std::int64_t, double> sham_ns;
  for (auto& [target, lengths] : shams) sham_ns[target] = median(lengths);
  const Drawn drawn = drawn_of(steps, sham_ns, all);
  if (all.launches.empty()) cost_of_shams(steps, all);
  for (auto& [target, launch] : launches) {
    if (const auto known = sham_ns.find(target); known != sham_ns.end()) launch.sham_ns = known->second;
    judge(drawn, simulate, launch);
    all.launches.push_back(std::move(launch));
  }
}

std::vector<double> delays_beyond(const std::vector<DelayedStep>& steps, double slack_ns) {
  std::vector<double> delays;
  for (const DelayedStep& step : steps) delays.push_back(std::max(step.delay_ns - slack_ns, 0.0));
  return delays;
}

}  // namespace

std::optional<InterventionEstimate> delay_slope(const std::vector<DelayedStep>& steps) {
  const auto fitted = fit_line(steps, delays_of(steps));
  if (!fitted) return std::nullopt;
  const double half = student_95(fitted->free) * fitted->standard_error;
  return InterventionEstimate{fitted->slope, fitted->slope - half, fitted->slope + half};
}

std::optional<InterventionEstimate> delay_slack(const std::vector<DelayedStep>& steps) {
  std::vector<double> delays;
  double longest_ns = 0;
  for (const DelayedStep& step : steps) {
    delays.push_back(step.delay_ns);
    longest_ns = std::max(longest_ns, step.delay_ns);
  }
  struct Bend {
    double at_ns, error_sum;
  };
  std::vector<Bend> bends;
  std::optional<DelayLine> best_line;
  for (int i = 0; i < kSlackPlaces; ++i) {
    const double at_ns = longest_ns * i / kSlackPlaces;
    // One set of weights for all, or a bend that calls other steps outliers would seem the better one.
    const auto line = fit_line(steps, delays_beyond(steps, at_ns), std::vector<double>(steps.size(), 1.0));
    if (!line || line->slope <= 0) continue;
    bends.push_back({at_ns, line->error_sum});
    if (!best_line || line->error_sum < best_line->error_sum) best_line = line;
  }
  const auto straight = fit_line(steps, delays, std::vector<double>(steps.size(), 1.0));
  if (!straight || !best_line) return std::nullopt;
  const double free = std::max(best_line->free - 1, 1.0);
  const double variance = std::max(best_line->error_sum / free, 1.0);  // a nanosecond: clocks tell no less
  if ((straight->error_sum - best_line->error_sum) / variance < kBetterLine) return std::nullopt;
  InterventionEstimate slack{0, longest_ns, 0};
  for (const Bend& bend : bends) {
    if (bend.error_sum <= best_line->error_sum) slack.value = bend.at_ns;
    if ((bend.error_sum - best_line->error_sum) / variance > kWithin95) continue;
    slack.low = std::min(slack.low, bend.at_ns);
    slack.high = std::max(slack.high, bend.at_ns + longest_ns / kSlackPlaces);
  }
  return slack;
}

InterventionAnalysis analyse_interventions(const std::vector<store::Intervention>& delays,
                                           const std::vector<store::Step>& steps,
                                           const SimulatedDelay& simulate) {
  InterventionAnalysis all;
  for (const auto& [process_id, of_process] : steps_by_process(delays, steps))
    add_process(process_id, of_process, simulate, all);
  return all;
}

}  // namespace ridgeline::analyzer
