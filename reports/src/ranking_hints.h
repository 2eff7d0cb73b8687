// ranking_hints.h: what a reader of a ranking may wonder about.
#pragma once

#include <string>

#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/ranking/throughput.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// Rows of less than `min_share` (0..1) of the step's time are not in the table any more. Says how many they
/// were; "" of none. Before anything else is done to the table, which is of that ranking.
[[nodiscard]] std::string leave_out_brief_rows(const analyzer::Ranking& ranking, double min_share,
                                               Table& table);

/// Why launches are in no range, of a ranking by ranges; "" if all are in one.
[[nodiscard]] std::string no_range_line(const analyzer::Ranking& ranking);

/// Where it is said how a program declares what MFU and tokens a second come from; "" if it does.
[[nodiscard]] std::string undeclared_line(const analyzer::Throughput& throughput);

}  // namespace ridgeline::reports
