// step_energy.h: joules a step, from readings of a counter of energy between steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace ridgeline::gpt2 {

/// Energy and time of a stretch of steps of a run.
struct StepEnergy {
  double joules_per_step = 0;
  double seconds = 0;  ///< of the stretch that the counter was read over
  std::int64_t steps = 0;

  [[nodiscard]] double watts() const { return joules_per_step * static_cast<double>(steps) / seconds; }
};

/// Follows a counter of energy from one step to another.
class StepEnergyMeter {
 public:
  /// Shortest stretch that says something: what the counter lags behind is below 1 % of it.
  static constexpr double kMinSeconds = 10;
  /// The counter is read no more often: reading it takes the host's time.
  static constexpr double kPauseSeconds = 0.25;

  /// Joules since some beginning; empty: there is no counter.
  using Read = std::function<std::optional<double>()>;
  explicit StepEnergyMeter(Read read) : read_(std::move(read)) {}

  /// A step has ended at that time of a steady clock. The first one begins the stretch.
  void step_ended(double now_seconds);
  /// Something that is no step took place (a validation, a checkpoint): a new stretch begins after it.
  void disturbed() { running_ = false; }
  /// Of the longest stretch; empty without a counter or if it is shorter than kMinSeconds.
  [[nodiscard]] std::optional<StepEnergy> longest() const;

 private:
  struct Stretch {
    double joules = 0;
    double seconds = 0;
    std::int64_t steps = 0;
  };

  Read read_;
  bool running_ = false;
  double first_joules_ = 0;
  double first_seconds_ = 0;
  double read_seconds_ = 0;  // when the counter was read last
  std::int64_t steps_ = 0;   // since the first
  Stretch longest_;
};

}  // namespace ridgeline::gpt2
