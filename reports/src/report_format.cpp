#include "ridgeline/reports/report_format.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ridgeline::reports {

Result<ReportFormat> parse_report_format(std::string_view text) {
  static constexpr std::pair<std::string_view, ReportFormat> kNames[] = {
      {"text", ReportFormat::text},       {"markdown", ReportFormat::markdown},
      {"comment", ReportFormat::comment}, {"json", ReportFormat::json},
      {"csv", ReportFormat::csv},         {"html", ReportFormat::html},
      {"junit", ReportFormat::junit},     {"github", ReportFormat::github},
      {"bencher", ReportFormat::bencher}, {"gitlab-metrics", ReportFormat::gitlab_metrics},
  };
  std::string known;
  for (const auto& [name, format] : kNames) {
    if (name == text) return format;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return Failure{ErrorKind::usage, fmt::format("no format '{}': choose from {}", text, known)};
}

}  // namespace ridgeline::reports
