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

/// In the options' format. Throws Error(usage) for an unknown column.
[[nodiscard]] Document history_document(const std::vector<comparison::HistorySeries>& series,
                                        const DocumentOptions& options);

/// One page with a line a series.
[[nodiscard]] std::string history_html(const std::vector<comparison::HistorySeries>& series);

}  // namespace ridgeline::reports
