// sides.h: what the runs of a side are: one program, recorded so often, in turn with the other side.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/comparison/comparison.h"

namespace ridgeline::comparison {

/// Why these runs are no sides: one recording is there twice, or a side is of several programs.
[[nodiscard]] std::optional<Failure> refused_sides(const std::vector<RunProfile>& a,
                                                   const std::vector<RunProfile>& b);

/// Whether a run of A and one of B are one recording.
[[nodiscard]] bool share_a_recording(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b);

/// Whether one side was recorded before the other rather than in turn, by the runs' begins: a drift then looks like a
/// change. False where the begins are not known.
[[nodiscard]] bool recorded_in_blocks(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b);

[[nodiscard]] ComparisonSide describe_side(const std::vector<RunProfile>& runs,
                                           const ComparisonOptions& options);

/// A side in two modes proves nothing unless the other side lies beyond both.
[[nodiscard]] bool modes_overlap(const Comparison& comparison, const std::vector<RunProfile>& a,
                                 const std::vector<RunProfile>& b);

}  // namespace ridgeline::comparison
