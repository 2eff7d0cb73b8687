#include "ridgeline/analyzer/session/headline.h"

#include <algorithm>

namespace ridgeline::analyzer {
namespace {

std::optional<HeadlineKind> kind_of(const Finding& finding) {
  switch (finding.code) {
    case FindingCode::gpu_idle:
      return HeadlineKind::idle;
    case FindingCode::communication:
      return HeadlineKind::communication;
    case FindingCode::saving_held_back:
      return HeadlineKind::caveat;
    case FindingCode::recording_price:
      // One that is no more than steps vary by is none.
      if (finding.severity > Severity::info) return HeadlineKind::caveat;
      return std::nullopt;
    case FindingCode::collector:
      // No row stands for kernels that the source does not have.
      if (finding.detail.code == ReasonCode::import_hidden_graphs) return HeadlineKind::hidden_kernels;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Lines that findings make, in their order.
std::vector<HeadlineLine> found_lines(const Quality& quality) {
  std::vector<HeadlineLine> lines;
  for (const Finding& finding : quality.findings) {
    if (const auto kind = kind_of(finding)) lines.push_back({*kind, finding});
  }
  const auto place = [](HeadlineKind kind) {
    return kind == HeadlineKind::hidden_kernels ? 0 : kind == HeadlineKind::caveat ? 2 : 1;
  };
  std::stable_sort(lines.begin(), lines.end(), [&](const HeadlineLine& a, const HeadlineLine& b) {
    if (place(a.kind) != place(b.kind)) return place(a.kind) < place(b.kind);
    return place(a.kind) == 1 && a.finding->step_share.value_or(0) > b.finding->step_share.value_or(0);
  });
  return lines;
}

// What the step's time goes to where the GPU is busy with its own work.
std::optional<HeadlineKind> busy_with(const Accounting& accounting) {
  const std::int64_t copies_ns = accounting.copy_exposed_ns + accounting.memset_exposed_ns;
  if (accounting.step_ns <= 0 || accounting.kernel_busy_ns + copies_ns <= 0) return std::nullopt;
  return copies_ns > accounting.kernel_busy_ns ? HeadlineKind::copies : HeadlineKind::kernels;
}

}  // namespace

std::string_view to_string(HeadlineKind kind) {
  switch (kind) {
    case HeadlineKind::hidden_kernels:
      return "hidden_kernels";
    case HeadlineKind::idle:
      return "idle";
    case HeadlineKind::communication:
      return "communication";
    case HeadlineKind::kernels:
      return "kernels";
    case HeadlineKind::copies:
      return "copies";
    case HeadlineKind::verdict:
      return "verdict";
    case HeadlineKind::caveat:
      return "caveat";
    case HeadlineKind::advice:
      return "advice";
  }
  return "verdict";
}

std::vector<HeadlineLine> headline(const Analysis& analysis) {
  std::vector<HeadlineLine> lines, caveats;
  bool dominated = false;
  for (HeadlineLine& line : found_lines(analysis.quality)) {
    dominated |= line.kind == HeadlineKind::idle || line.kind == HeadlineKind::communication;
    (line.kind == HeadlineKind::caveat ? caveats : lines).push_back(std::move(line));
  }
  if (const auto busy = busy_with(analysis.accounting); busy && !dominated) lines.push_back({*busy, {}});
  lines.push_back({HeadlineKind::verdict, {}});
  lines.insert(lines.end(), caveats.begin(), caveats.end());
  if (analysis.advice.step_ns > 0) lines.push_back({HeadlineKind::advice, {}});
  return lines;
}

Findings headline_findings(const Quality& quality) {
  Findings findings;
  for (HeadlineLine& line : found_lines(quality)) findings.push_back(std::move(*line.finding));
  return findings;
}

bool is_of_headline(const Finding& finding) {
  return kind_of(finding).has_value();
}

}  // namespace ridgeline::analyzer
