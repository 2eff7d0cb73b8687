// roof_times.h: how long a launch's work takes at each of its roofs, and at the nearest: its speed of light.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/values/measured_roofs.h"
#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

/// The time that some work takes at one roof.
struct RoofTime {
  Roof roof;                             ///< of a pipe that did several precisions that of the most time
  double time_ns = 0;                    ///< of one pipe the sum over its precisions
  double work = 0;                       ///< bytes or operations; 0: cycles or instructions were counted
  PeakSource source = PeakSource::spec;  ///< of the roof; clock: the pipe's own cycles at the launch's clock
};

struct LaunchRoofTimes {
  std::vector<RoofTime> roofs;  ///< those that are known, one each of level and pipe, in the order of Roof
  double sol_ns = 0;            ///< the largest, and never below the launch floor: speed of light
  Roof bound;                   ///< that it is of; RoofLevel::launch where the floor is longer
  /// The same where only as many SMs take part as there are blocks.
  double filled_ns = 0;
};

/// Threads: one; of() looks roofs up once.
class RoofTimes {
 public:
  /// Keeps references to both.
  RoofTimes(const Model& model, const UtilisationAnalysis& utilisation, const PeakPolicy& policy);

  /// Of a launch of UtilisationAnalysis::launches. Empty unless its DRAM bytes and what it did on the pipes were
  /// measured, and it took some time.
  [[nodiscard]] std::optional<LaunchRoofTimes> of(std::size_t launch);
  /// The least time of any launch, measured on the card or 1.6 µs.
  [[nodiscard]] double launch_floor_ns(store::Id device_id);
  /// What every roof of the device is by default: RoofTimes asks for it.
  [[nodiscard]] PeakSource source(store::Id device_id) const;

 private:
  struct Rate {
    double per_s = 0;
    PeakSource source = PeakSource::spec;
  };
  struct Launch;

  [[nodiscard]] std::optional<Rate> dram(store::Id device_id, std::optional<double> read_share);
  [[nodiscard]] std::optional<Rate> l2(store::Id device_id);
  [[nodiscard]] std::optional<Rate> l1(store::Id device_id, std::optional<double> clock_hz);
  [[nodiscard]] std::optional<Rate> operations(store::Id device_id, Quantity quantity);
  [[nodiscard]] const MeasuredRoofs& measured(store::Id device_id);
  void add_memory(const Launch& launch, LaunchRoofTimes& out);
  void add_tensor(const Launch& launch, LaunchRoofTimes& out);
  void add_pipes(const Launch& launch, LaunchRoofTimes& out);

  const Model& model_;
  const UtilisationAnalysis& utilisation_;
  PeakPolicy policy_;
  std::map<std::pair<store::Id, Quantity>, std::optional<Rate>> rates_;
  std::map<store::Id, MeasuredRoofs> measured_;
  std::map<store::Id, double> floors_;
};

}  // namespace ridgeline::analyzer
