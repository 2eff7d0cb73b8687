// ceilings.h: the measured roofs that a capture, or a merged job, holds.
#pragma once

#include <vector>

#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// By device, level, kind and state; none before schema version kCeilingsAreMeasured. Throws Error(corrupt).
[[nodiscard]] std::vector<Ceiling> read_ceilings(const Database& database);

}  // namespace ridgeline::store
