// what_if.h: what a step gains if some of its work is done otherwise: what one may ask, and what is answered.
// Formulas, assumptions and limits: docs/metrics.md, "What if".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

// Patterns of kernels mean a name in full, without its parameters, or without its namespaces as well; * and ? as in
// name_matches().

/// Kernels that take 1/times of their time; below 1 they take longer.
struct Faster {
  std::string kernels;
  double times = 1;
  friend bool operator==(const Faster&, const Faster&) = default;
};
/// Kernels that reach this share of their nearest roof, where they are below it. Never longer, and not shorter than
/// what the emptiest kernel takes.
struct AtRoof {
  double ratio = 0.85;
  std::string kernels = "*";
  friend bool operator==(const AtRoof&, const AtRoof&) = default;
};
/// Where the consumer follows the producer on a stream, one kernel does what both do; what the one writes and the other
/// reads is not moved. `kept`: somebody else reads it later, a backward pass for one, so that it is still written and
/// only not read again.
struct Fused {
  std::string producer, consumer;
  bool kept = false;
  friend bool operator==(const Fused&, const Fused&) = default;
};
/// Kernels that work on another type of data.
struct InPrecision {
  std::string kernels;
  Precision precision = Precision::bf16;
  friend bool operator==(const InPrecision&, const InPrecision&) = default;
};
/// What is launched one by one is launched as a graph.
struct AsGraph {
  friend bool operator==(const AsGraph&, const AsGraph&) = default;
};
/// Copies between host and device run beside everything else.
struct HiddenCopies {
  friend bool operator==(const HiddenCopies&, const HiddenCopies&) = default;
};
using Transform = std::variant<Faster, AtRoof, Fused, InPrecision, AsGraph, HiddenCopies>;

struct WhatIfRequest {
  std::vector<Transform> transforms;  ///< at least one; each goes on from what those before it made
  std::string range;                  ///< only launches in these NVTX ranges, as in RangePattern; "": all
  double shortest_kernel_ns = 1600;   ///< that the emptiest kernel takes
};

/// Why launches that a transform means stay as they are.
enum class LeftAlone : std::uint8_t {
  none,
  not_measured,       ///< how near they are to a roof
  at_goal,            ///< they are there already
  traffic_unknown,    ///< what of the pair's data goes through DRAM; only the launch goes
  precision_unknown,  ///< of the data they work on, or a peak of either type
};

/// What one transform makes of the launches, and gains alone.
struct TransformAnswer {
  Transform transform;
  std::int64_t launches =
      0;  ///< that it means; of Fused pairs; of AsGraph all that are no node yet, of copies these
  std::int64_t changed = 0;                ///< of these
  double before_ns = 0;                    ///< that the changed ones took
  double after_ns = 0;                     ///< that they take
  double shared_bytes = 0;                 ///< of Fused: neither written nor read any more
  LeftAlone left_alone = LeftAlone::none;  ///< of the most that stay
  std::int64_t left = 0;                   ///< so many
  Gain gain;                               ///< of this alone
};

struct WhatIf {
  ReplayCheck check;
  double step_ns = 0;  ///< measured, median of the steps
  std::vector<TransformAnswer> transforms;
  Gain together;
  PowerTerm power;
};

/// `utilisation` is of the representative step's launches, which the replay's positions are of. Failure: usage (nothing
/// is asked, a pattern that means no kernel of the step, a pair that does not follow each other, no copies, no launches
/// that a graph could hold, a number out of range).
[[nodiscard]] Result<WhatIf> what_if(const Model& model, const StepAnalysis& steps,
                                     const UtilisationAnalysis& utilisation, const Replay& replay,
                                     const PeakPolicy& peaks, const WhatIfRequest& request,
                                     const StepPower& power = {});

}  // namespace ridgeline::analyzer
