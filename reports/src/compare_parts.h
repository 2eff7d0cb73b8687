// compare_parts.h: the formats of a comparison that are made whole.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/reports/sink.h"

namespace ridgeline::reports {

/// What people look at of the kernels: what changed, was added or removed, misses its budget. The rest is counted.
[[nodiscard]] std::vector<std::size_t> notable_rows(const comparison::Comparison& comparison);

/// Copies and memsets that came, went, do other work, take longer or less.
[[nodiscard]] std::vector<std::size_t> notable_transfers(const comparison::Comparison& comparison);

/// docs/json.md.
[[nodiscard]] Document compare_json(const comparison::Comparison& comparison);
[[nodiscard]] std::string compare_html(const comparison::Comparison& comparison);
/// Suite: the comparison. Cases: the step and its parts, then kernels. What is inconclusive is skipped.
[[nodiscard]] std::string compare_junit(const comparison::Comparison& comparison);
/// Workflow commands: errors for regressions, warnings for what is not comparable, a notice for the verdict.
[[nodiscard]] std::string compare_github(const comparison::Comparison& comparison);
/// Verdicts as gauges and rounded values, since GitLab compares texts.
[[nodiscard]] std::string compare_gitlab_metrics(const comparison::Comparison& comparison);
[[nodiscard]] std::string compare_bencher(const comparison::Comparison& comparison);

}  // namespace ridgeline::reports
