// what_if_document.h: what a step would gain, for people and programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/analyzer/whatif/what_if.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// "attention* 1.5x as fast", "A and B fused".
[[nodiscard]] std::string transform_text(const analyzer::Transform& transform);
/// "between 1.204 and 1.371 ms"; "" without a range.
[[nodiscard]] std::string gain_range_text(const analyzer::GainRange& gain);
/// Why no gain is simulated, with the launch at which the simulation goes wrong: a sentence; "" if one is.
[[nodiscard]] std::string no_replay_text(const analyzer::ReplayCheck& check);
/// What the power limit does: a sentence.
[[nodiscard]] std::string power_term_text(const analyzer::PowerTerm& power);

/// The four figures of a gain, from what is surely not exceeded to what is likely, with why one of them is missing.
struct GainLine {
  std::string label;            // "Amdahl's bound"
  std::optional<double> ns;     // empty: not known
  std::optional<double> share;  // of the step
  std::string comment;          // what it is, its range, or why it is not known
};
[[nodiscard]] std::vector<GainLine> gain_lines(const analyzer::WhatIf& answer, const analyzer::Gain& gain);
/// "Simulated: 2.250 ms, 4.5 % of the step (between 2.100 and 2.300 ms)".
[[nodiscard]] std::string gain_line_text(const GainLine& line);

/// A row for each transform alone and, if there are several, one for all together. Refers to the answer.
[[nodiscard]] Table what_if_table(const analyzer::WhatIf& answer);

/// Throws Error(usage) for an unknown column. Refers to the arguments.
[[nodiscard]] Document what_if_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                        const analyzer::WhatIf& answer, const DocumentOptions& options);

}  // namespace ridgeline::reports
