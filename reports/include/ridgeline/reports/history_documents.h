// history_documents.h: series of a history with the places where they changed.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/comparison/history.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// One row a change point, and one for a series without any; largest change first. Refers to the series.
[[nodiscard]] Table history_table(const std::vector<comparison::HistorySeries>& series);

/// What is said of the newest run of a kind: whether it is slower than the last ones, and how sure that is.
[[nodiscard]] std::string newest_sentence(const comparison::NewestRun& run);

/// In the options' format: the newest runs, then the table. Throws Error(usage) for an unknown column. Refers to the
/// report.
[[nodiscard]] Document history_document(const comparison::HistoryReport& report,
                                        const DocumentOptions& options);

/// One page with one line per series.
[[nodiscard]] std::string history_html(const comparison::HistoryReport& report);

}  // namespace ridgeline::reports
