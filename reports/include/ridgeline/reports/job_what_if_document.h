/// job_what_if_document.h: what the steps of a job would take with other communication, for people and programs.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/ranks/job_what_if.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// One row per change that was asked about.
[[nodiscard]] Table job_what_if_table(const analyzer::JobWhatIf& answer);
/// How well the unchanged job is simulated, what the figures rest on, which bucket size is best. Each one sentence.
[[nodiscard]] std::vector<std::string> job_what_if_sentences(const analyzer::JobWhatIf& answer);
/// Throws Error(usage) for an unknown column. Refers to the answer.
[[nodiscard]] Document job_what_if_document(const analyzer::JobWhatIf& answer,
                                            const DocumentOptions& options);

}  // namespace ridgeline::reports
