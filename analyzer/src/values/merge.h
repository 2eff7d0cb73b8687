// merge.h: findings of one kind as one.
#pragma once

#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::analyzer {

/// Of the same code and the same words of the recording, the worst by magnitude_ns (else the first) stands for all,
/// with their count.
[[nodiscard]] Findings merged(const Findings& findings);

}  // namespace ridgeline::analyzer
