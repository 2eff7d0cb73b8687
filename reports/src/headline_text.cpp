#include "ridgeline/reports/headline_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "gap_text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"

namespace ridgeline::reports {
namespace {

using analyzer::Accounting;
using analyzer::HeadlineKind;

std::string of_step(std::int64_t ns, const Accounting& accounting) {
  const auto part = static_cast<double>(ns), whole = static_cast<double>(accounting.step_ns);
  return fmt::format("{} of the {}, {} of {}", percent_text(part / whole), scope_noun(accounting.scope),
                     time_text(part), time_text(whole));
}

// "; 35.138 ms of that are compute-bound": what most of the kernel time is.
std::string most_of(const analyzer::BoundSplit& time) {
  const std::pair<std::int64_t, std::string_view> parts[] = {
      {time.compute_ns, "are compute-bound"},
      {time.memory_ns, "are memory-bound"},
      {time.latency_ns, "are latency-bound"},
      {time.too_short_ns, "are of kernels too short for any roof"},
      {time.no_roof_ns, "are of kernels without a meaningful roof"},
      {time.unmeasured_ns, "are of kernels whose utilisation was not measured"}};
  const auto most = std::max_element(std::begin(parts), std::end(parts),
                                     [](const auto& a, const auto& b) { return a.first < b.first; });
  if (most->first <= 0) return "";
  return fmt::format("; {} of that {}", time_text(static_cast<double>(most->first)), most->second);
}

std::string words_of(const analyzer::HeadlineLine& line, const analyzer::Model& model,
                     const analyzer::Analysis& analysis) {
  const Accounting& accounting = analysis.accounting;
  switch (line.kind) {
    case HeadlineKind::kernels:
      return "kernels take " + of_step(accounting.kernel_busy_ns, accounting) +
             most_of(accounting.kernels.total);
    case HeadlineKind::copies:
      return "copies and memsets with no kernel beside them take " +
             of_step(accounting.copy_exposed_ns + accounting.memset_exposed_ns, accounting);
    case HeadlineKind::verdict:
      return kernels_verdict_sentence(analysis);
    case HeadlineKind::idle:
      return idle_finding_text(*line.finding, longest_gap_words(model, accounting));
    default:
      return finding_text(*line.finding);
  }
}

}  // namespace

bool is_labelled(analyzer::HeadlineKind kind) {
  return kind == HeadlineKind::hidden_kernels || kind == HeadlineKind::caveat;
}

std::string sentence_of(const HeadlineWords& line) {
  std::string text = line.text;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text.ends_with('.') ? text : text + ".";
}

std::vector<HeadlineWords> headline_words(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  std::vector<HeadlineWords> out;
  for (const analyzer::HeadlineLine& line : analyzer::headline(analysis)) {
    if (line.kind == HeadlineKind::advice) {
      for (const std::string& text : first_lines(analysis.advice, analysis.quality))
        out.push_back({line.kind, Severity::info, text});
      continue;
    }
    HeadlineWords words{line.kind, line.finding ? line.finding->severity : Severity::info,
                        words_of(line, model, analysis)};
    if (!is_labelled(line.kind)) words.text = sentence_of(words);
    out.push_back(std::move(words));
  }
  return out;
}

}  // namespace ridgeline::reports
