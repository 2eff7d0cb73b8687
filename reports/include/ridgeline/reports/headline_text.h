// headline_text.h: analyzer::headline() in words: the same in `rank`, reports and the window.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/analyzer/session/headline.h"

namespace ridgeline::reports {

/// A line of the headline. Names of the capture are in it as they are: escape it for where it goes.
struct HeadlineWords {
  analyzer::HeadlineKind kind = analyzer::HeadlineKind::verdict;
  Severity severity = Severity::info;  ///< of its finding
  std::string text;  ///< one sentence or several; of what is_labelled() the words behind "warning: "
};

/// A notice among the lines: hidden kernels and caveats, which documents show with their severity.
[[nodiscard]] bool is_labelled(analyzer::HeadlineKind kind);
/// The text with a capital letter and its full stop, whatever the kind.
[[nodiscard]] std::string sentence_of(const HeadlineWords& line);

/// In order; advice may have several lines.
[[nodiscard]] std::vector<HeadlineWords> headline_words(const analyzer::Model& model,
                                                        const analyzer::Analysis& analysis);

}  // namespace ridgeline::reports
