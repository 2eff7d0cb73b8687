// scope.h: what part of a capture a question is about.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/values/scope_kind.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// A stretch of the recording's clock, half open: [start_ns, end_ns).
struct TimeWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] std::int64_t length_ns() const { return end_ns - start_ns; }
  friend auto operator<=>(const TimeWindow&, const TimeWindow&) = default;
};

/// Calls of one thread in a stretch of the host's time: one instance of an NVTX range.
struct CalledIn {
  std::int64_t thread_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< a call that begins at this very time is in it
  std::string name;         ///< of the range; copies, whose calls are not stored, go by it
  friend auto operator<=>(const CalledIn&, const CalledIn&) = default;
};

/// Which steps of a process.
struct StepSelection {
  enum class Kind {
    representative,  ///< the one representative step; the whole recording if there are no steps
    listed,          ///< those of `indices`
    phase,           ///< all steps of `phase` that are ok
    any,             ///< every one, and what is in none
  };
  Kind kind = Kind::representative;
  std::vector<std::int64_t> indices;  ///< Step::step_index, ascending
  Phase phase = Phase::timeline;
  /// The representative is of this kind of steps, by the time they take. Failure usage: there are fewer.
  std::size_t step_kind = 0;

  [[nodiscard]] static StepSelection one(std::int64_t index) { return {Kind::listed, {index}, {}, 0}; }
  [[nodiscard]] static StepSelection many(std::vector<std::int64_t> indices);
  [[nodiscard]] static StepSelection all_of(Phase phase) { return {Kind::phase, {}, phase, 0}; }
  [[nodiscard]] static StepSelection everything() { return {Kind::any, {}, {}, 0}; }
  [[nodiscard]] static StepSelection of_kind(std::size_t kind) {
    return {Kind::representative, {}, Phase::timeline, kind};
  }
  friend auto operator<=>(const StepSelection&, const StepSelection&) = default;
};

/// What a question is about. Left as it is: the representative step of the busiest process.
///
/// A launch is in the scope if all that is set holds: it belongs to one of the steps, ran on the device, ran inside the
/// window for some of its time, and was launched inside a range that the pattern means, or by one of the calls, however
/// late it ran. With a window and no steps asked for, every launch that ran in the window is in it, whichever step it
/// belongs to. Of a launch that the window's edges cut counts what lies inside (RepresentativeStep::cut_launches). A
/// range of any step holds those of its instances that the recorder disturbed least: of timeline steps and outside of
/// steps first.
struct Scope {
  std::optional<store::Id> process_id;  ///< empty: the process with the most kernel time
  std::optional<store::Id>
      device_id;  ///< empty: all of them; accounting: the one that did the most kernel time
  StepSelection steps;
  std::optional<TimeWindow> window;
  /// The window counts from recording_start_ns(), not from the zero of the recording's clock, and is cut to the time
  /// that was recorded.
  bool window_from_start = false;
  std::string range;  ///< of NVTX ranges, as in RangePattern: "forward", "layer *"; "": everything
  /// One instance of a range. With a window that holds all its work no more than that is read.
  std::optional<CalledIn> calls;
  friend auto operator<=>(const Scope&, const Scope&) = default;

  /// All instances of the ranges.
  [[nodiscard]] static Scope of_range(std::string pattern);
};

/// The step, whatever part of it the scope means: without range, device and window. Several steps are the one that
/// stands for them.
[[nodiscard]] Scope whole_step(const Scope& scope);

}  // namespace ridgeline::analyzer
