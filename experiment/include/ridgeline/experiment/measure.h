// measure.h: records variants in turn until the verdicts on them are clear.
//
// Lifecycle of measure(): 1. rounds, each variant once in each  2. after three and after each further one a look, with
// the error spent over the looks, until the step of every contrast is decided or time or rounds are up; the
// last look has what is left of the error  3. what was found must show again in one fresh round  4. captures
// stay, named by variant and number.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/comparison/comparison.h"
#include "ridgeline/experiment/rounds.h"

namespace ridgeline::experiment {

/// Two variants that are compared: B with A.
struct Contrast {
  std::size_t a = 0, b = 1;
};

struct MeasurePlan {
  RecordingPlan recording;
  /// Empty: the first variant with each other. Several share the errors of `compare` in equal parts (Bonferroni).
  std::vector<Contrast> contrasts;
  std::int64_t rounds = 10;  ///< at most
  /// No round begins that is not expected to end within it. After two rounds it says how many the looks share
  /// their error over: those that are expected to fit.
  std::optional<std::chrono::milliseconds> budget;
  bool look = true;     ///< false: all rounds, one look at the end, no confirmation
  bool confirm = true;  ///< what was found must show again
  comparison::ComparisonOptions compare;
  std::function<void(const std::string&)> tell;  ///< a line about what is done now
  /// Whose time the budget is of. Empty: that of std::chrono::steady_clock.
  std::function<std::chrono::steady_clock::time_point()> now;
};

struct Measured {
  std::vector<comparison::Comparison> comparisons;  ///< one a contrast
  std::vector<std::vector<std::string>> captures;   ///< by variant
};

/// Failures: usage (fewer than two variants, a contrast of others), no_data (a run ended without a capture; names its
/// log), cancelled, and those of reading captures.
[[nodiscard]] Result<Measured> measure(const std::vector<Variant>& variants, const MeasurePlan& plan,
                                       ExperimentDirectory& directory, Interruption* interruption = nullptr);

}  // namespace ridgeline::experiment
