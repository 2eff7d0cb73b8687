// tiers.h: tiers as the command line says them.
#pragma once

#include <string_view>

#include "ridgeline/base/error.h"
#include "ridgeline/base/tier_set.h"

namespace ridgeline::launch {

/// "T0,T2". Failure: usage, naming the part that is no tier.
[[nodiscard]] Result<TierSet> read_tiers(std::string_view text);

}  // namespace ridgeline::launch
