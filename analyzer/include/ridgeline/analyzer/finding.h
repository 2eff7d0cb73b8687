// finding.h: one sentence about a capture that its reader must know.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

struct Finding {
  Severity severity = Severity::info;
  std::string code;  // stable, for machines: "steps.outlier", "t2.disagreement", "peak.fallback", …
  std::string text;  // one line: what, how much, what follows
};

using Findings = std::vector<Finding>;

}  // namespace ridgeline::analyzer
