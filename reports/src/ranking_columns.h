// ranking_columns.h: the columns of the ranking.
#pragma once

#include <cstddef>
#include <vector>

#include "column_heads.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// What a line of the ranking is made from.
struct RankingLine {
  const analyzer::RankingRow* row = nullptr;
  std::size_t number = 0;  // 1: the row whose improvement would save most; 0: a line of the totals
  const analyzer::RankingOptions* options = nullptr;
  const analyzer::UtilisationAnalysis* utilisation = nullptr;
};

/// What the heads depend on.
struct RankingView {
  analyzer::RankingOptions options;
  bool sampled = true;    // some steps were sampled
  bool simulated = true;  // what of the savings reaches the step is known
  analyzer::ScopeKind scope = analyzer::ScopeKind::step;
  bool per_second = true;     // with savings for each second of a stretch of time
  std::int64_t scope_ns = 0;  // what they are divided by
};

/// Whether what a row could save is known: something of it was measured, or all of it is too short for any roof, and
/// can save nothing. Where it is not, as of collectives, which have no roof, cells are missing.
[[nodiscard]] bool saving_is_known(const analyzer::RankingRow& row);

[[nodiscard]] std::vector<Column<RankingLine>> ranking_columns(const RankingView& view);
[[nodiscard]] const std::vector<ColumnGroup>& ranking_groups();

/// Add columns that ranking_columns() holds too: of declared work; of clocks and operations a second; of how launches
/// fill the device.
void add_work_columns(std::vector<Column<RankingLine>>& columns);
void add_rate_columns(std::vector<Column<RankingLine>>& columns);
void add_shape_columns(std::vector<Column<RankingLine>>& columns);
/// What the clock costs, and joules.
void add_power_columns(std::vector<Column<RankingLine>>& columns);

}  // namespace ridgeline::reports
