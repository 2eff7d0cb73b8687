// report_format.h: the formats that `report`, `compare` and their kin write.
#pragma once

#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::reports {

enum class ReportFormat {
  text,
  markdown,        ///< fit for a job summary: short when all is well, below 64 KiB
  comment,         ///< Markdown of 15 lines at most, with a link to the page: for a pull request
  json,            ///< docs/json.md
  csv,             ///< the table of kernels
  html,            ///< one file, no scripts
  junit,           ///< cases: step and parts, kernels, budgets, findings
  github,          ///< workflow commands: annotations, ten of a kind at most
  gitlab_metrics,  ///< OpenMetrics text
  bencher,         ///< Bencher Metric Format
};
/// Failure: usage (lists the names: text, markdown, comment, json, csv, html, junit, github, gitlab-metrics, bencher).
[[nodiscard]] Result<ReportFormat> parse_report_format(std::string_view text);

}  // namespace ridgeline::reports
