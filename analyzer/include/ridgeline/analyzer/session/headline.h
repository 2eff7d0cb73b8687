// headline.h: what a reader is told before any figure, in its order: what dominates, whether the kernels meet their
// targets, what to do first. Every client prints these lines and makes none of its own.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"

namespace ridgeline::analyzer {

/// What a line of the headline is about. The words are stable: programs compare them.
enum class HeadlineKind {
  hidden_kernels,  ///< the source of the recording does not have them: no figure stands for them
  idle,            ///< the GPU has nothing to do for a good part of the step
  communication,   ///< collectives that no other kernel hides take a good part of it
  kernels,         ///< neither: most of the step is kernels …
  copies,          ///< … or copies and memsets beside which no kernel runs
  verdict,         ///< whether the kernels meet their targets
  caveat,          ///< what keeps the verdict's saving from being had, and what recording cost
  advice,          ///< what to do first, what it would give, how sure that is
};
[[nodiscard]] std::string_view to_string(HeadlineKind kind);

/// kernels, copies, verdict and advice are of the analysis as a whole and have no finding.
struct HeadlineLine {
  HeadlineKind kind = HeadlineKind::verdict;
  std::optional<Finding> finding;
};

/// The lines in the order in which they are read. Of idle and communication the larger is first; kernels or copies are
/// there where there is neither of these. Wants Session::kCheck and kAdvice; without the latter no line is about
/// advice.
[[nodiscard]] std::vector<HeadlineLine> headline(const Analysis& analysis);

/// The findings among these lines, in their order.
[[nodiscard]] Findings headline_findings(const Quality& quality);
[[nodiscard]] bool is_of_headline(const Finding& finding);

}  // namespace ridgeline::analyzer
