#include "ridgeline/analyzer/whatif/power.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/analyzer/utilisation/bound.h"
#include "ridgeline/base/statistics.h"
#include "whatif/sampled_power.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kHolds = 0.5;
// A clock nearer to its highest says nothing of what it costs.
constexpr double kMinLost = 0.03;
// Power as the clock to the alpha, near the limit of a data-centre GPU (docs/metrics.md, "What if").
constexpr Interval kAlpha{1.4, 2.0, 2.4};
// The share of the energy that stays: of pauses what an idle device does not draw; of traffic anything between. A
// kernel in a cheaper type draws about what it drew, for less time.
constexpr Interval kSameEnergy{1, 1, 1};
constexpr Interval kIdle{0.6, 0.7, 0.8};
constexpr Interval kTraffic{0.3, 0.65, 1};
constexpr Interval kCheaper{0, 0, 0.5};

// How much of the step's time goes with the clock of the SMs: all of what a pipe bounds, nothing of what DRAM bounds,
// of the rest something between.
Interval beta_of(const UtilisationAnalysis& utilisation) {
  Interval beta;
  double all_ns = 0;
  for (const LaunchUtilisations::Group& group : utilisation.launches.groups()) {
    const auto ns = static_cast<double>(group.time_ns);
    all_ns += ns;
    switch (bound_of(group)) {
      case KernelBound::memory:
        break;
      case KernelBound::compute:
        beta.low += ns;
        beta.value += ns;
        beta.high += ns;
        break;
      default:
        beta.value += 0.5 * ns;
        beta.high += ns;
        break;
    }
  }
  if (all_ns <= 0) return {0, 0.5, 1};
  return {beta.low / all_ns, beta.value / all_ns, beta.high / all_ns};
}

// Of what the clock costs a step, which is the time times beta times what the clock lost.
std::optional<Interval> beta_of(const ClockCost& clock) {
  if (clock.reference_hz <= 0) return std::nullopt;
  const double lost = 1 - clock.clock_hz / clock.reference_hz;
  if (lost < kMinLost || clock.covered_ns <= 0) return std::nullopt;
  const auto share = [&](double ns) { return std::clamp(ns / (clock.covered_ns * lost), 0.0, 1.0); };
  return Interval{share(clock.low_ns), share(clock.cost_ns), share(clock.high_ns)};
}

// Of a gain what is left: 1 - beta / alpha e.
double left_of(double beta, double alpha, double e) {
  return std::clamp(1 - beta / alpha * e, 0.0, 1.0);
}

}  // namespace

PowerTerm power_term(std::optional<double> limited_ratio, const UtilisationAnalysis& utilisation,
                     const StepPower& power) {
  PowerTerm term;
  if (!limited_ratio) return term;
  term.limited_ratio = *limited_ratio;
  term.state = term.limited_ratio >= kHolds ? PowerTerm::State::holds : PowerTerm::State::clear;
  if (term.state != PowerTerm::State::holds) return term;
  term.alpha = kAlpha;
  const std::optional<Interval> told = power.clock ? beta_of(*power.clock) : std::nullopt;
  term.beta = told ? *told : beta_of(utilisation);
  return term;
}

PowerTerm power_term(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                     const StepPower& power) {
  std::int64_t start_ns = INT64_MAX, end_ns = 0;
  for (const StepSummary& step : steps.steps) {
    const auto& peers = steps.representative.peers;
    if (step.gpu_duration_ns <= 0 || std::find(peers.begin(), peers.end(), step.index) == peers.end())
      continue;
    start_ns = std::min(start_ns, step.gpu_start_ns);
    end_ns = std::max(end_ns, step.gpu_start_ns + step.gpu_duration_ns);
  }
  SampledPower sampled;
  for (const store::ClockSample& sample : model.clock_samples) {
    if (start_ns < end_ns && (sample.time_ns < start_ns || sample.time_ns > end_ns)) continue;
    sampled.add(sample);
  }
  PowerTerm term = power_term(sampled.limited_ratio(), utilisation, power);
  if (!sampled.watts.empty()) term.power_w = median(std::move(sampled.watts));
  return term;
}

Interval power_leaves(const PowerTerm& term, const SavedWork& saved) {
  if (term.state != PowerTerm::State::holds) return {1, 1, 1};
  const double all_ns = saved.same_energy_ns + saved.idle_ns + saved.traffic_ns + saved.cheaper_ns;
  const auto mixed = [&](double Interval::*part) {
    if (all_ns <= 0) return kSameEnergy.*part;
    return (saved.same_energy_ns * kSameEnergy.*part + saved.idle_ns * kIdle.*part +
            saved.traffic_ns * kTraffic.*part + saved.cheaper_ns * kCheaper.*part) /
           all_ns;
  };
  return {left_of(term.beta.high, term.alpha.low, mixed(&Interval::high)),
          left_of(term.beta.value, term.alpha.value, mixed(&Interval::value)),
          left_of(term.beta.low, term.alpha.high, mixed(&Interval::low))};
}

void apply_power(const PowerTerm& term, const SavedWork& saved, Gain& gain) {
  gain.after_power.reset();
  if (term.state != PowerTerm::State::holds || !gain.simulated) return;
  const Interval left = power_leaves(term, saved);
  const GainRange& simulated = *gain.simulated;
  GainRange after;
  after.value = simulated.value * left.value;
  const double low = simulated.low.value_or(simulated.value), high = simulated.high.value_or(simulated.value);
  after.low = std::min(low * left.low, low * left.high);
  after.high = std::max(high * left.low, high * left.high);
  gain.after_power = after;
}

}  // namespace ridgeline::analyzer
