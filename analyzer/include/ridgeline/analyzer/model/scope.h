// scope.h: what part of a capture a question is about.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// A stretch of the recording's clock, half open: [start_ns, end_ns).
struct TimeWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] std::int64_t length_ns() const { return end_ns - start_ns; }
  friend auto operator<=>(const TimeWindow&, const TimeWindow&) = default;
};

/// Which steps of a process.
struct StepSelection {
  enum class Kind {
    representative,  ///< the one step that stands for all; the whole recording if there are no steps
    listed,          ///< those of `indices`
    phase,           ///< all steps of `phase` that are ok
  };
  Kind kind = Kind::representative;
  std::vector<std::int64_t> indices;  ///< Step::step_index, ascending
  Phase phase = Phase::timeline;

  [[nodiscard]] static StepSelection one(std::int64_t index) { return {Kind::listed, {index}, {}}; }
  [[nodiscard]] static StepSelection many(std::vector<std::int64_t> indices);
  [[nodiscard]] static StepSelection all_of(Phase phase) { return {Kind::phase, {}, phase}; }
  friend auto operator<=>(const StepSelection&, const StepSelection&) = default;
};

/// What a question is about. Left as it is: the representative step of the busiest process.
///
/// A launch is in the scope if all that is set holds: it belongs to one of the steps, ran on the device, began
/// inside the window, and was issued inside the NVTX subtree. With a window and no steps asked for, every launch
/// that began in the window is in it, whichever step it belongs to.
struct Scope {
  std::optional<store::Id> process_id;  ///< empty: the process with the most kernel time
  std::optional<store::Id>
      device_id;  ///< empty: all of them; accounting: the one that did the most kernel time
  StepSelection steps;
  std::optional<TimeWindow> window;  ///< of the recording's clock, ns
  std::string nvtx_path;             ///< "step / forward / layer 3"; "": everything
  friend auto operator<=>(const Scope&, const Scope&) = default;
};

}  // namespace ridgeline::analyzer
