// replay.h: a step simulated as it was recorded, and with some of its work done otherwise.
//
// Lifecycle: 1. make it of the steps that were recorded  2. check() says whether they come out as they were measured
// 3. gain() answers, any number of times. Formulas and limits: docs/metrics.md, "What if".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/values/absence.h"

namespace ridgeline::analyzer {

struct ReplayOptions {
  double total_tolerance_ratio = 0.01;  ///< by which the simulated step may differ from the measured one …
  double phase_tolerance_ratio = 0.02;  ///< … and each phase of it
  std::int64_t launch_latency_ns = 5000;  ///< as in AccountingOptions
  std::int64_t max_works = 1'000'000;     ///< of a step; a longer one is not simulated
  std::int64_t max_steps = 20;            ///< recorded steps that are simulated …
  std::int64_t max_all_works =
      400'000;  ///< … fewer of long ones, so that all have no more launches than this
  /// Assumed of a step that becomes a graph: the graph's launch on the host, and the pause between two nodes, which of
  /// empty kernels is 503 ns from start to start on an H200 (docs/results/ceilings.md).
  std::int64_t graph_launch_ns = 10'000;
  std::int64_t graph_pause_ns = 500;
};

/// One launch of the representative step done otherwise.
struct LaunchChange {
  std::size_t position = 0;  ///< in RepresentativeStep::launches, and so in UtilisationAnalysis::launches
  double time_ns = 0;        ///< that it takes instead of its recorded time, 0 or more
  bool removed = false;      ///< it is not launched: neither its call nor the pause before it remains
};

/// What is done otherwise, together. Of a launch named twice the last counts.
struct StepChange {
  std::vector<LaunchChange> launches;
  bool as_graph = false;     ///< what is launched between two waits of a thread is one launch of a graph
  bool hide_copies = false;  ///< copies between host and device run beside everything else
};

/// A value with the range that nine of ten recorded steps lie in; without it where fewer than three were simulated.
struct GainRange {
  double value = 0;
  std::optional<double> low, high;
};

/// What a step would be shorter by, ns; negative: longer. From what is surely not exceeded to what is likely.
struct Gain {
  /// Amdahl: the time in which the changed work ran, or nothing did, times the share of it that goes.
  double bound_ns = 0;
  double naive_ns = 0;                 ///< sum of what each piece of work takes less, wherever it runs
  std::optional<GainRange> simulated;  ///< empty: the step is not simulated, ReplayCheck::why says why
  /// Of the simulated gain what the power limit leaves, with the range of its exponents too. Empty: the limit does not
  /// hold, or nothing is known of it; Replay leaves it so, apply_power() fills it in.
  std::optional<GainRange> after_power = {};
};

/// How the unchanged step comes out; medians over the steps.
struct ReplayCheck {
  struct Phase {
    std::string name;  ///< NVTX range below the step; "(no range)"
    double measured_ns = 0;
    double simulated_ns = 0;
  };
  /// The launch at which the simulation departs from the recording most.
  struct Worst {
    std::string kernel;
    std::int64_t ordinal = 0;  ///< in the step
    double late_ns = 0;        ///< by which it begins later than recorded, beyond what those before it do
  };
  std::vector<Absence> why;        ///< nothing is simulated; empty: it comes out
  std::int64_t steps = 0;          ///< simulated
  double measured_ns = 0;          ///< 0: no step with timestamps
  double simulated_ns = 0;         ///< 0: not simulated
  std::vector<Phase> phases = {};  ///< of a step with at least two
  std::optional<Worst> worst = {};
  bool order_recorded = false;  ///< of all steps: what orders streams was recorded, not concluded from times
  std::int64_t other_processes = 0;  ///< of the recording, whose work is not simulated
  [[nodiscard]] bool known() const { return why.empty(); }
};

/// Immutable: any number of threads may ask it.
class Replay {
 public:
  /// `representative`: the step that positions are of. `steps`: those to be simulated, of the same launches; one that
  /// launches something else is left out. The model holds the launches of all of them, and is not kept.
  Replay(const Model& model, const RepresentativeStep& representative,
         const std::vector<RepresentativeStep>& steps, const ReplayOptions& options = {});
  ~Replay();
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  [[nodiscard]] const ReplayCheck& check() const;
  [[nodiscard]] const ReplayOptions& options() const;
  [[nodiscard]] Gain gain(const StepChange& change) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Steps to simulate beside the representative: evenly chosen ones of those that launch the same, by their numbers.
[[nodiscard]] std::vector<std::int64_t> steps_to_replay(const StepAnalysis& steps,
                                                        const ReplayOptions& options = {});

}  // namespace ridgeline::analyzer
