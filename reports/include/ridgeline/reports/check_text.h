// check_text.h: the sentences of `check`: why the step and each kernel got its verdict.
#pragma once

#include <string>

#include "ridgeline/analyzer/ranking/targets.h"

namespace ridgeline::reports {

/// One line: why the overall verdict is what it is. `ranking` is what was judged.
[[nodiscard]] std::string check_text(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check);

/// One line: the figures behind the verdict of one kernel.
[[nodiscard]] std::string kernel_check_text(const analyzer::TargetCheck& check,
                                            const analyzer::RankingRow& row,
                                            const analyzer::KernelCheck& kernel);

}  // namespace ridgeline::reports
