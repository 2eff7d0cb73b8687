// ladder_documents.h: what each rung of a ladder is worth, for people and programs.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/comparison/ladder.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// One row for the bottom, then one for each rung, the lowest first. Refers to both.
[[nodiscard]] Table ladder_table(const comparison::LadderRecord& record,
                                 const comparison::LadderResult& result);

/// What was found, a sentence each: the whole climb, rungs that share an effect, sweeps, losses that differ, programs
/// that did not run, clocks that had not settled.
[[nodiscard]] std::vector<std::string> ladder_notes(const comparison::LadderRecord& record,
                                                    const comparison::LadderResult& result);

/// Throws Error(usage) for an unknown column. Refers to both.
[[nodiscard]] Document ladder_document(const comparison::LadderRecord& record,
                                       const comparison::LadderResult& result,
                                       const DocumentOptions& options);

/// The step's time rung by rung, with what each gives on top, alone and left out. `alone` false: for a page, which
/// has the colours; true: a file of its own.
[[nodiscard]] std::string ladder_svg(const comparison::LadderRecord& record,
                                     const comparison::LadderResult& result, bool alone);

/// One page that neither runs nor fetches anything.
[[nodiscard]] std::string ladder_html(const comparison::LadderRecord& record,
                                      const comparison::LadderResult& result);

}  // namespace ridgeline::reports
