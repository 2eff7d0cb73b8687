// capture_parts.h: the formats of continuous integration of one capture: targets, budgets, findings.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/analyzer/session/analysis.h"

namespace ridgeline::reports {

/// Cases: the step, every kernel that is judged, budgets of nothing, findings. What `fail_on` does not ask for is
/// skipped with its figures.
[[nodiscard]] std::string capture_junit(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                        const analyzer::CheckFailOn& fail_on);
[[nodiscard]] std::string capture_github(const analyzer::Analysis& analysis,
                                         const analyzer::CheckFailOn& fail_on);
[[nodiscard]] std::string capture_gitlab_metrics(const analyzer::Analysis& analysis);
[[nodiscard]] std::string capture_comment(const analyzer::Analysis& analysis,
                                          const analyzer::CheckFailOn& fail_on, std::string_view link);
[[nodiscard]] std::string capture_bencher(const analyzer::Analysis& analysis);

}  // namespace ridgeline::reports
