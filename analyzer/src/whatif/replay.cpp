#include "ridgeline/analyzer/whatif/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/statistics.h"
#include "whatif/busy_time.h"
#include "whatif/replayed_step.h"

namespace ridgeline::analyzer {

namespace {

// A phase of less than this share of the step is held to this share, not to one of itself.
constexpr double kShortPhase = 0.1;
constexpr std::size_t kMinForRange = 3;
constexpr double kLowQuantile = 0.05, kHighQuantile = 0.95;

GainRange range_of_gains(std::vector<double> values) {
  GainRange estimate;
  estimate.value = median(values);
  if (values.size() < kMinForRange) return estimate;
  estimate.low = quantile(values, kLowQuantile);
  estimate.high = quantile(std::move(values), kHighQuantile);
  return estimate;
}

// Stretches of a step with launches of one phase: where each begins, in order of time.
struct PhaseRuns {
  struct Run {
    std::string_view name;
    std::size_t position = 0;  // of its first launch
  };
  std::vector<Run> runs;

  PhaseRuns(const Model& model, const RepresentativeStep& step) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < step.launches.size(); ++i) {
      if (has_time(model.launches.row(step.launches[i]))) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return model.launches.row(step.launches[a]).start_ns < model.launches.row(step.launches[b]).start_ns;
    });
    for (const std::size_t i : order) {
      const std::string_view name =
          phase_of(model.string(model.launches.site(step.launches[i]).nvtx_path_id));
      if (runs.empty() || runs.back().name != name) runs.push_back({name, i});
    }
  }

  // Time by phase, of a step with these begins of launches.
  [[nodiscard]] std::map<std::string, double> lengths(const std::vector<double>& starts_ns,
                                                      double step_ns) const {
    std::map<std::string, double> lengths;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double from_ns = i == 0 ? 0 : starts_ns[runs[i].position];
      const double to_ns = i + 1 < runs.size() ? starts_ns[runs[i + 1].position] : step_ns;
      lengths[std::string(runs[i].name)] += to_ns - from_ns;
    }
    return lengths;
  }
};

}  // namespace

class Replay::Impl {
 public:
  Impl(const Model& model, const RepresentativeStep& representative,
       const std::vector<RepresentativeStep>& steps, const ReplayOptions& options)
      : options_(options), busy_(model, representative) {
    for (const LaunchIndex launch : representative.launches)
      durations_ns_.push_back(static_cast<double>(duration_ns(model.launches.row(launch))));
    check_.measured_ns = static_cast<double>(representative.window_end_ns - representative.window_start_ns);
    check_.other_processes = std::max<std::int64_t>(static_cast<std::int64_t>(model.processes.size()) - 1, 0);
    for (const RepresentativeStep& step : steps) add_step(model, representative, step);
    if (steps_.empty()) {
      if (check_.why.empty()) give_up(AbsenceCause::no_timestamps);
      return;
    }
    check_.why.clear();
    judge_total();
    judge_phases();
    if (check_.known()) return;
    find_worst(model, representative);
    steps_.clear();
  }

  [[nodiscard]] const ReplayCheck& check() const { return check_; }
  [[nodiscard]] const ReplayOptions& options() const { return options_; }

  [[nodiscard]] Gain gain(const StepChange& change) const {
    Gain gain;
    const std::vector<double> ratios = ratios_of(change);
    gain.naive_ns = busy_.naive_ns(change, options_.graph_pause_ns);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      if (!std::isnan(ratios[i])) gain.naive_ns += durations_ns_[i] * (1 - std::max(ratios[i], 0.0));
    }
    gain.bound_ns = std::min(busy_.bound_ns(ratios, change), check_.measured_ns);
    if (steps_.empty()) return gain;
    std::vector<double> gains;
    for (const auto& step : steps_) gains.push_back(step.replayed->gain_ns(ratios, change));
    gain.simulated = range_of_gains(std::move(gains));
    return gain;
  }

 private:
  struct Step {
    std::unique_ptr<const ReplayedStep> replayed;
    std::map<std::string, double> measured_phases, simulated_phases;
  };

  void add_step(const Model& model, const RepresentativeStep& representative,
                const RepresentativeStep& step) {
    if (step.launches.size() != representative.launches.size() ||
        step.summary.sequence_hash != representative.summary.sequence_hash)
      return;
    std::vector<Absence> why;
    auto replayed = ReplayedStep::make(model, step, options_, why);
    if (replayed == nullptr) {
      check_.why = std::move(why);
      return;
    }
    check_.order_recorded = replayed->order_recorded() && (steps_.empty() || check_.order_recorded);
    Step made{std::move(replayed), {}, {}};
    const PhaseRuns runs(model, step);
    const ReplayedStep::Begins begins = made.replayed->begins();
    made.measured_phases = runs.lengths(begins.recorded_ns, made.replayed->measured_ns());
    made.simulated_phases = runs.lengths(begins.simulated_ns, made.replayed->simulated_ns());
    steps_.push_back(std::move(made));
  }

  void give_up(AbsenceCause cause, const std::string& name = {}) {
    Absence why;
    why.cause = cause;
    why.name = name;
    check_.why.push_back(std::move(why));
  }

  void judge_total() {
    std::vector<double> measured, simulated, deviations;
    for (const Step& step : steps_) {
      measured.push_back(step.replayed->measured_ns());
      simulated.push_back(step.replayed->simulated_ns());
      deviations.push_back(step.replayed->deviation());
    }
    check_.steps = static_cast<std::int64_t>(steps_.size());
    check_.measured_ns = median(std::move(measured));
    check_.simulated_ns = median(std::move(simulated));
    const double off_ns = std::fabs(check_.simulated_ns - check_.measured_ns);
    const double ratio = std::min(off_ns / check_.measured_ns, median(std::move(deviations)));
    if (ratio > options_.total_tolerance_ratio) give_up(AbsenceCause::not_reproduced);
  }

  void judge_phases() {
    const auto& names = steps_.front().measured_phases;
    if (names.size() < 2) return;
    for (const auto& [name, length] : names) {
      std::vector<double> measured, simulated;
      for (const Step& step : steps_) {
        const auto known = step.measured_phases.find(name);
        if (known == step.measured_phases.end()) continue;
        measured.push_back(known->second);
        simulated.push_back(step.simulated_phases.at(name));
      }
      ReplayCheck::Phase phase{name, median(std::move(measured)), median(std::move(simulated))};
      const double base_ns = std::max(phase.measured_ns, kShortPhase * check_.measured_ns);
      if (std::fabs(phase.simulated_ns - phase.measured_ns) > options_.phase_tolerance_ratio * base_ns)
        give_up(AbsenceCause::phase_not_reproduced, phase.name);
      check_.phases.push_back(std::move(phase));
    }
    std::stable_sort(check_.phases.begin(), check_.phases.end(),
                     [](const auto& a, const auto& b) { return a.measured_ns > b.measured_ns; });
  }

  // Of the step that departs most. None where all begin as recorded: the step then ends at another time.
  void find_worst(const Model& model, const RepresentativeStep& representative) {
    const auto step = std::max_element(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return a.replayed->deviation() < b.replayed->deviation();
    });
    const ReplayedStep::Begins begins = step->replayed->begins();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < begins.recorded_ns.size(); ++i) {
      if (!std::isnan(begins.recorded_ns[i])) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return begins.recorded_ns[a] < begins.recorded_ns[b];
    });
    double before_ns = 0, max_ns = 0;
    for (const std::size_t i : order) {
      const double late_ns = begins.simulated_ns[i] - begins.recorded_ns[i];
      const double more_ns = late_ns - before_ns;
      before_ns = late_ns;
      if (std::fabs(more_ns) <= max_ns) continue;
      max_ns = std::fabs(more_ns);
      const LaunchIndex launch = representative.launches[i];
      const Launches::Row& row = model.launches.row(launch);
      check_.worst = {
          std::string(model.kernel_name(model.launches.site(launch))),
          row.ordinal_in_step == Launches::Row::kAbsent ? static_cast<std::int64_t>(i) : row.ordinal_in_step,
          more_ns};
    }
  }

  // What each launch takes as a share of its recorded time; negative: it is not launched; NaN: as recorded.
  [[nodiscard]] std::vector<double> ratios_of(const StepChange& change) const {
    std::vector<double> ratios(durations_ns_.size(), std::numeric_limits<double>::quiet_NaN());
    for (const LaunchChange& launch : change.launches) {
      if (launch.position >= ratios.size()) continue;
      const double recorded_ns = durations_ns_[launch.position];
      if (launch.removed)
        ratios[launch.position] = -1;
      else if (recorded_ns > 0)
        ratios[launch.position] = std::max(launch.time_ns, 0.0) / recorded_ns;
    }
    return ratios;
  }

  ReplayOptions options_;
  BusyTime busy_;
  std::vector<double> durations_ns_;  // of the representative's launches
  std::vector<Step> steps_;           // empty: not simulated
  ReplayCheck check_;
};

Replay::Replay(const Model& model, const RepresentativeStep& representative,
               const std::vector<RepresentativeStep>& steps, const ReplayOptions& options)
    : impl_(std::make_unique<const Impl>(model, representative, steps, options)) {}
Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

const ReplayCheck& Replay::check() const {
  return impl_->check();
}
const ReplayOptions& Replay::options() const {
  return impl_->options();
}
Gain Replay::gain(const StepChange& change) const {
  return impl_->gain(change);
}

std::vector<std::int64_t> steps_to_replay(const StepAnalysis& steps, const ReplayOptions& options) {
  const RepresentativeStep& chosen = steps.representative;
  std::vector<std::int64_t> alike;
  if (chosen.whole_recording || chosen.summary.step_id == 0) return alike;
  for (const StepSummary& step : steps.steps) {
    const bool peer = std::find(chosen.peers.begin(), chosen.peers.end(), step.index) != chosen.peers.end();
    if (peer && step.closed && step.status == StepStatus::ok && step.gpu_duration_ns > 0 &&
        step.sequence_hash == chosen.summary.sequence_hash && step.launches == chosen.summary.launches)
      alike.push_back(step.step_index);
  }
  const std::int64_t launches = std::max<std::int64_t>(chosen.summary.launches, 1);
  const auto most = static_cast<std::size_t>(
      std::clamp<std::int64_t>(options.max_all_works / launches, 1, options.max_steps));
  std::vector<std::int64_t> picked;
  for (std::size_t i = 0; i < std::min(most, alike.size()); ++i)
    picked.push_back(alike[i * alike.size() / std::min(most, alike.size())]);
  const std::int64_t own = chosen.summary.step_index;
  if (picked.empty() || std::find(picked.begin(), picked.end(), own) == picked.end()) {
    if (picked.size() >= most) picked.pop_back();
    picked.push_back(own);
  }
  std::sort(picked.begin(), picked.end());
  return picked;
}

}  // namespace ridgeline::analyzer
