// measured_pipes.h: how near pipes came to the roofs that were measured for their operations.
#pragma once

#include <optional>

#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "roofs.h"

namespace ridgeline::analyzer {

/// What a pipe's operations are held against; of the tensor pipe the type that a launch's are of, if that is known.
/// Empty: no roof of operations is the pipe's.
[[nodiscard]] std::optional<Quantity> operations_of_pipe(Roof pipe, std::optional<Quantity> tensor);

/// Takes the tier's pipes from shares of their cycles to shares of the measured roofs: what the pipe does at its full
/// rate and `clock_hz`, that of the launch, times the share, over the roof. `tensor_ratio`: of the tensor pipe, by
/// operations that were counted. A pipe without a measured roof keeps its share of cycles, as all do without a clock.
void hold_pipes_against_roofs(Roofs& roofs, store::Id device_id, std::optional<double> clock_hz,
                              std::optional<Quantity> tensor, std::optional<double> tensor_ratio,
                              TierUtilisation& out);

}  // namespace ridgeline::analyzer
