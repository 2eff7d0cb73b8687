// advise.h: asks all rules, and makes of what they propose what can be promised.
#pragma once

#include "advice/input.h"

namespace ridgeline::analyzer {

[[nodiscard]] AdviceReport advise(const AdviceInput& input, const AdviceOptions& options = {});

}  // namespace ridgeline::analyzer
