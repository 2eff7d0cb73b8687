/// interventions.h: what delays in front of launches did to the step (`record --intervene`), beside what its simulation
/// says. Method and limits: docs/metrics.md, "Interventions".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/store/interventions.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// A value with its interval of 95 %.
struct InterventionEstimate {
  double value = 0, low = 0, high = 0;
};

/// How a delay and the step went together, of one drawn step and the step after it.
struct DelayedStep {
  std::int64_t step_index = 0;
  double delay_ns = 0;   ///< that the delay kernel took longer than a sham, as measured; 0 of shams
  double length_ns = 0;  ///< of both steps, from first work to first work
};

/// What the measured slope and the simulated one say of each other.
enum class SlopeVerdict : std::uint8_t {
  agree,  ///< within the error of the measured one and kSlopeTolerance
  differ,
  not_simulated,  ///< the step's simulation does not reproduce it, or lacks the launch
  too_few_steps,  ///< fewer than kMinDelayedSteps with a delay, or than kMinShamSteps without
  too_uncertain,  ///< the interval is wider than kMaxSlopeInterval: it excludes neither 0 nor 1
  no_delays,      ///< no delay kernel has a record
};
inline constexpr double kSlopeTolerance = 0.1;
inline constexpr double kMaxSlopeInterval = 1.0;
inline constexpr std::int64_t kMinDelayedSteps = 6;
inline constexpr std::int64_t kMinShamSteps = 4;

/// What one level of delay did.
struct DelayLevel {
  std::int64_t level_ns = 0;  ///< asked for
  std::int64_t steps = 0;
  double delay_ns = 0;                      ///< median, as measured
  double longer_ns = 0;                     ///< median of the steps over that of the shams; negative: shorter
  std::optional<double> simulated_ns = {};  ///< what the simulated step gets longer by
};

/// A launch that was delayed.
struct LaunchIntervention {
  store::Id process_id = 0;
  std::int64_t target = 0;
  store::Id kernel_id = 0;
  std::int64_t ordinal = 0;  ///< in the step
  std::int64_t delayed_steps = 0, sham_steps = 0;
  double sham_ns = 0;  ///< median time of its sham kernels on the device
  std::vector<DelayLevel> levels;
  std::optional<InterventionEstimate> slope;  ///< of the step's length against the delay: 1 critical, 0 slack
  /// Delay that the step bears before it gets longer. `slack_reached` false: it is at least slack->value, the longest
  /// delay there was. Empty: not known, or the step gets longer from the first delay on.
  std::optional<InterventionEstimate> slack;
  bool slack_reached = false;
  std::optional<double> simulated_slope;  ///< of the simulated step against the same delays
  SlopeVerdict verdict = SlopeVerdict::no_delays;
};

struct InterventionAnalysis {
  std::vector<LaunchIntervention> launches;  ///< by process, target
  std::string seed;                          ///< of the draws of the first process
  std::int64_t drawn_steps = 0;              ///< that were drawn
  std::int64_t usable_steps = 0;             ///< of these: they and the step after them have their lengths
  double sham_step_ns = 0;                   ///< median length of a step with shams alone
  std::optional<InterventionEstimate> sham_cost;  ///< by which it is longer than a timeline step
};

/// What the simulated step gets longer by, in ns, if this launch comes so much later; empty: not simulated.
using SimulatedDelay =
    std::function<std::optional<double>(store::Id kernel_id, std::int64_t ordinal, double delay_ns)>;

/// `delays` and `steps` as the capture has them. `simulate` may be empty.
[[nodiscard]] InterventionAnalysis analyse_interventions(const std::vector<store::Intervention>& delays,
                                                         const std::vector<store::Step>& steps,
                                                         const SimulatedDelay& simulate = {});

/// Slope of length against delay with the steps' drift taken off, by least squares in which outliers weigh less; empty
/// for fewer than four steps or delays that do not differ.
[[nodiscard]] std::optional<InterventionEstimate> delay_slope(const std::vector<DelayedStep>& steps);
/// Where the length begins to rise, if a line that is flat until there describes the steps better than a straight one.
[[nodiscard]] std::optional<InterventionEstimate> delay_slack(const std::vector<DelayedStep>& steps);

}  // namespace ridgeline::analyzer
