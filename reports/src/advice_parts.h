// advice_parts.h: what several documents say of advice.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/advice/advice.h"
#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::reports {

/// A case, or a rule that has none, in words.
struct AdviceSaid {
  std::string heading;             ///< "1. launch-overhead: Launch the step as a CUDA graph, …"
  std::vector<std::string> lines;  ///< gain, what was seen, where to look, what to read
};

/// In the order of reading; `all`: also small cases, rules that cannot say, and healthy ones.
[[nodiscard]] std::vector<AdviceSaid> advice_said(const analyzer::Model& model,
                                                  const analyzer::AdviceReport& report, bool all);
/// What it adds up to, and what is not shown.
[[nodiscard]] std::string advice_closing(const analyzer::AdviceReport& report, bool all);

}  // namespace ridgeline::reports
