// replayed_step.h: one recorded step, simulated.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "execution/step_builder.h"
#include "execution/step_recording.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

class ReplayedStep {
 public:
  /// Null: `why` then says why there is none.
  [[nodiscard]] static std::unique_ptr<const ReplayedStep> make(const Model& model,
                                                                const RepresentativeStep& step,
                                                                const ReplayOptions& options,
                                                                std::vector<Absence>& why);

  [[nodiscard]] double measured_ns() const;
  [[nodiscard]] double simulated_ns() const { return simulated_ns_; }
  [[nodiscard]] double deviation() const { return deviation_ratio(recorded_.step, simulated_ns_); }
  [[nodiscard]] bool order_recorded() const { return recorded_.step.dependencies_recorded; }

  /// `ratios`: by position, of the recorded time; a negative one: not launched. NaN: as recorded.
  [[nodiscard]] double gain_ns(const std::vector<double>& ratios, const StepChange& change) const;

  /// Begin of each launch from that of the step, as recorded and as simulated; by position, NaN without a timestamp.
  struct Begins {
    std::vector<double> recorded_ns, simulated_ns;
  };
  [[nodiscard]] Begins begins() const;

 private:
  ReplayedStep(StepRecording recorded, const RepresentativeStep& step, const ReplayOptions& options);
  [[nodiscard]] bool edit_launches(const std::vector<double>& ratios, StepEdit& edit) const;
  [[nodiscard]] double longest_copies_ns() const;

  StepRecording recorded_;
  std::vector<RecordedStep::Index> work_of_position_;  // kNone: without a timestamp
  ReplayOptions options_;
  BuiltStep built_;  // without its graph, which the simulation has
  std::optional<StepSimulation> simulation_;
  double simulated_ns_ = 0;
};

}  // namespace ridgeline::analyzer
