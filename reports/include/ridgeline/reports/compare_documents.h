// compare_documents.h: what changed between two sides, for people and for continuous integration. They compute nothing:
// comparison::compare() does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/report_format.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// The comparison refers to nothing else; the document refers to the comparison. Throws Error(usage) for an unknown
/// column of `options` (text, markdown, csv).
[[nodiscard]] Document compare_document(const comparison::Comparison& comparison, ReportFormat format,
                                        const DocumentOptions& options = {});

/// A comparison from its JSON: every format is then what it was of the comparison that was written. Failure: corrupt
/// (no JSON, not of a comparison, of another version).
[[nodiscard]] Result<comparison::Comparison> parse_comparison(std::string_view text, const std::string& path);

/// One row per kernel, largest |Δ| of the step first. Refers to the rows.
[[nodiscard]] Table compare_table(const std::vector<comparison::KernelChange>& kernels);
/// The step, what its time went to, and its ranges.
[[nodiscard]] Table step_metrics_table(const std::vector<comparison::StepMetric>& step_metrics);

/// One row per kind of copy at a place. Refers to the rows.
[[nodiscard]] Table transfers_table(const std::vector<comparison::TransferChange>& transfers);

/// "REGRESSED: the step takes 52.456 ms instead of 50.123 ms, +4.7 % (95 % interval +4.1 to +5.2 %, 5 pairs)".
[[nodiscard]] std::string compare_verdict_sentence(const comparison::Comparison& comparison);
/// What must be known first (runs in blocks, other work); which kernels that is of and what each change comes
/// of, largest first, five at most: "Slower: layernorm_backward<float>, +620.0 µs of the step (+35.0 %),
/// other machine code."; then copies, and what changed without an effect. Empty if there is none.
[[nodiscard]] std::vector<std::string> compare_blame(const comparison::Comparison& comparison);
/// Copies and memsets that the step waits for longer than it did, or that only B has, as compare_blame() says it.
[[nodiscard]] std::vector<std::string> slower_transfers(const comparison::Comparison& comparison);
/// What a reader must know beside it, weightiest first: environment, common mode, clock, modes, matching.
[[nodiscard]] std::vector<std::string> compare_notes(const comparison::Comparison& comparison);
/// Of the environment alone, what may explain more than the code or makes the sides incomparable.
[[nodiscard]] std::vector<std::string> environment_notes(const comparison::Comparison& comparison);
/// A budget and what it was held against: "k misses its budget (agreed in May): 1.774 ms of 1.000 ms allowed.".
[[nodiscard]] std::string budget_text(const comparison::Comparison& comparison,
                                      const comparison::BudgetCheck& check);
/// "different machine code", "as many cycles; only the clock differed", …; "" for none.
[[nodiscard]] std::string cause_text(comparison::ChangeCause cause);
/// Why an outcome is no better; "" for none.
[[nodiscard]] std::string outcome_reason_text(comparison::OutcomeReason reason);
/// What kernels a row is of: "a", "old → new", "a, b → c".
[[nodiscard]] std::string change_name(const comparison::KernelChange& change);
/// "+4.7 %", "−0.3 %".
[[nodiscard]] std::string signed_percent(double ratio, int decimals = 1);
/// "+620.0 µs".
[[nodiscard]] std::string signed_time(double ns);

}  // namespace ridgeline::reports
