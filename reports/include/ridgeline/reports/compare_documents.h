// compare_documents.h: what changed between two sides, for people and for continuous integration. They compute nothing:
// analyzer::compare() does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/comparison.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

enum class CompareFormat {
  text,
  markdown,        // short when all is well; never above the 64 KiB of a comment
  json,            // docs/json.md
  csv,             // the table of kernels
  html,            // one file, no scripts
  junit,           // a case for the step and its parts, one for each kernel
  github,          // workflow commands: annotations, ten of a kind at most
  gitlab_metrics,  // OpenMetrics text
  bencher,         // Bencher Metric Format
};
/// Failure: usage (lists the names: text, markdown, json, csv, html, junit, github, gitlab-metrics, bencher).
[[nodiscard]] Result<CompareFormat> parse_compare_format(std::string_view text);

/// The comparison refers to nothing else; the document refers to the comparison. Throws Error(usage) for an unknown
/// column of `options` (text, markdown, csv).
[[nodiscard]] Document compare_document(const analyzer::Comparison& comparison, CompareFormat format,
                                        const DocumentOptions& options = {});

/// One row a kernel, largest |Δ| of the step first. Refers to the rows.
[[nodiscard]] Table compare_table(const std::vector<analyzer::KernelChange>& kernels);
/// The step, its kernels, its gaps and its ranges.
[[nodiscard]] Table endpoints_table(const std::vector<analyzer::Endpoint>& endpoints);

/// "REGRESSED: the step takes 52.456 ms instead of 50.123 ms, +4.7 % (95 % interval +4.1 to +5.2 %, 5 pairs)".
[[nodiscard]] std::string compare_verdict_sentence(const analyzer::Comparison& comparison);
/// What a reader must know beside it, weightiest first: environment, common mode, clock, modes, matching.
[[nodiscard]] std::vector<std::string> compare_notes(const analyzer::Comparison& comparison);
/// "other machine code", "the same code at another clock", …; "" for none.
[[nodiscard]] std::string cause_text(analyzer::ChangeCause cause);
/// Why an outcome is no better; "" for none.
[[nodiscard]] std::string outcome_reason_text(analyzer::OutcomeReason reason);
/// What kernels a row is of: "a", "old → new", "a, b → c".
[[nodiscard]] std::string change_name(const analyzer::KernelChange& change);
/// "+4.7 %", "−0.3 %".
[[nodiscard]] std::string signed_percent(double ratio, int decimals = 1);

}  // namespace ridgeline::reports
