// explain_document.h: one kernel: what holds it, the evidence, what to do.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/session/explanation.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// Why in one sentence (why_text.h), then what its clock cost and what its warps waited for.
[[nodiscard]] std::vector<std::string> holding_sentences(const analyzer::Analysis& analysis,
                                                         const analyzer::KernelExplanation& explanation);
/// What its launches say: spread, and where its grid leaves the device idle; sentences.
[[nodiscard]] std::vector<std::string> launch_sentences(const analyzer::Analysis& analysis,
                                                        const analyzer::KernelExplanation& explanation);

/// One row a figure: value, standard error, tier. Refers to its arguments.
[[nodiscard]] Table evidence_table(const analyzer::Analysis& analysis,
                                   const analyzer::KernelExplanation& explanation);
/// One row a roof that was measured, nearest first.
[[nodiscard]] Table limits_table(const analyzer::KernelExplanation& explanation);
/// One row a grid, block, registers and shared memory, most time first.
[[nodiscard]] Table configurations_table(const analyzer::KernelExplanation& explanation);

/// `scope` is what was analysed; the commands that are named mean the same part. Throws Error(usage) for an unknown
/// column. Refers to its arguments but the scope.
[[nodiscard]] Document explain_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                        const analyzer::KernelExplanation& explanation,
                                        const analyzer::Scope& scope, const DocumentOptions& options);

}  // namespace ridgeline::reports
