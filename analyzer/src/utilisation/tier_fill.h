// tier_fill.h: what each tier says about one launch.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "draft.h"
#include "launch_kinds.h"
#include "replay_values.h"
#include "roofs.h"
#include "tier_values.h"

namespace ridgeline::analyzer {

/// What T1's rows are of, where they are none of the launch's own.
struct SampledKind {
  const LaunchKinds& kinds;
  const LaunchKinds::Alike& alike;
  const std::vector<std::uint64_t>& observations;  // by row
};

/// T1. Bytes ÷ own duration ÷ peak, step by step: the sampled steps' own times belong to their own bytes. Of a launch
/// that took another time in them than clocks explain (beside a collective in the one, alone in the other) bytes and
/// busy cycles are over its time in the timeline, which is what it costs. `kind` null: of the launch itself; else
/// `rows` are of launches of its kind, which come as near to the roofs.
void fill_sampled(const Model& model, const store::Launch& launch, const TierRows& rows,
                  const SampledKind* kind, Roofs& roofs, TierUtilisation& out);

/// T2, of a launch that was replayed, and `operations` of its tensor pipe, as far as known (TensorOperations). Adds the
/// names of the pipes that were counted.
void fill_replayed(const store::Launch& launch, const ReplayValues& values,
                   const std::vector<Operations>& operations, PeakSource compute, Roofs& roofs,
                   std::set<Pipe>& pipes, Draft& out);

/// T3, as Nsight Compute shows it: bytes and time both of the launch with cold caches.
void fill_cold(const store::Launch& launch, const TierRows& rows, bool any_cold_step, Roofs& roofs,
               TierUtilisation& out);

}  // namespace ridgeline::analyzer
