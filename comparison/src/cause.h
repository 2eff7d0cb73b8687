// cause.h: what a kernel's change comes of, and what can be said of it without any statistics.
#pragma once

#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "units.h"

namespace ridgeline::comparison {

/// Fills in what the first runs of both sides say of the unit: names, class, calls, utilisation, shapes, code, counts.
void describe(KernelChange& change, const Unit& unit, const RunProfile& a, const RunProfile& b);

/// Likewise, of the first run of each side that has something of it.
void describe(KernelChange& change, const Unit& unit, const std::vector<RunProfile>& a,
              const std::vector<RunProfile>& b);

/// Of a described change whose times are known.
[[nodiscard]] ChangeCause cause_of(const KernelChange& change, double margin_ratio);

}  // namespace ridgeline::comparison
