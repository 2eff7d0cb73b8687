/// ranks_pictures.h: many ranks in pictures: one step rank by rank, and skew over steps. Colours are classes
/// of CSS that ranks_page() has.
#pragma once

#include <string>

#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_step.h"

namespace ridgeline::reports {

/// A row a rank: its part of the step, and its collectives with waits and transfers apart, low where kernels compute
/// beside them. A line joins the starts of a collective's calls.
[[nodiscard]] std::string step_rows_picture(const analyzer::JobStepRows& step);
/// "all_reduce, 28.31 MB" and what else is known of a collective; one line.
[[nodiscard]] std::string collective_text(const analyzer::JoinedCollective& collective);
/// What the rows' places mean, and how exact they are; one sentence.
[[nodiscard]] std::string step_rows_sentence(const analyzer::JobStepRows& step);

/// A column a step (of many, several share one: the largest): how much later the slowest rank is than the
/// others, in red where that is named; and what a rank waits for others, as a line.
[[nodiscard]] std::string skew_picture(const analyzer::JobAnalysis& analysis);

}  // namespace ridgeline::reports
