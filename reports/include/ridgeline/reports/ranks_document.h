/// ranks_document.h: many ranks in one answer, for people and programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_step.h"
#include "ridgeline/base/error.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// What a row of the document is.
enum class RanksView { rank, step, collective, kernel, account };
/// Failure: usage (lists the words: rank, step, collective, kernel, account).
[[nodiscard]] Result<RanksView> parse_ranks_view(std::string_view text);

/// One row per rank.
[[nodiscard]] Table rank_costs_table(const analyzer::JobAnalysis& analysis);
/// One row per step over all ranks.
[[nodiscard]] Table job_steps_table(const analyzer::JobAnalysis& analysis);
/// One row per collective of the step's sequence.
[[nodiscard]] Table collectives_table(const analyzer::JobAnalysis& analysis);
/// One row per kernel over ranks.
[[nodiscard]] Table kernels_over_ranks_table(const analyzer::JobAnalysis& analysis);
/// Where the time of a step goes, mean over ranks and steps.
[[nodiscard]] Table job_account_table(const analyzer::JobAnalysis& analysis);
/// One row per kernel and function of collective that it ran beside, over ranks and steps.
[[nodiscard]] Table interference_table(const analyzer::JobAnalysis& analysis);

/// Who waits for whom and why, what collectives cost, what cannot be said. Each one sentence.
[[nodiscard]] std::vector<std::string> ranks_sentences(const analyzer::JobAnalysis& analysis);
[[nodiscard]] std::string cause_text(analyzer::LatenessCause cause);

/// Throws Error(usage) for an unknown column. Refers to the analysis. JSON has all views, whichever is asked for.
[[nodiscard]] Document ranks_document(const analyzer::JobAnalysis& analysis, RanksView view,
                                      const DocumentOptions& options);
/// One page without scripts: sentences, lateness of ranks and skew over steps as pictures, all tables. `step`: one step
/// rank by rank, as a picture; nullptr: none.
[[nodiscard]] std::string ranks_page(const analyzer::JobAnalysis& analysis,
                                     const analyzer::JobStepRows* step = nullptr);
/// Lateness of ranks (down) over steps (right); of many ranks several share a row, the latest of them.
[[nodiscard]] std::string lateness_picture(const analyzer::JobAnalysis& analysis);

}  // namespace ridgeline::reports
