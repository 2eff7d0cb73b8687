// ranking_columns.h: the columns of the ranking.
#pragma once

#include <cstddef>
#include <vector>

#include "column_heads.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// What a line of the ranking is made from.
struct RankLine {
  const analyzer::RankRow* row = nullptr;
  std::size_t number = 0;  // 1: the row whose improvement would save most; 0: a line of the totals
  const analyzer::RankOptions* options = nullptr;
  const analyzer::UtilisationAnalysis* utilisation = nullptr;
};

/// What the heads depend on.
struct RankView {
  analyzer::RankOptions options;
  bool sampled = true;    // some steps were sampled
  bool simulated = true;  // what of the savings reaches the step is known
  analyzer::ScopeKind scope = analyzer::ScopeKind::step;
  bool per_second = true;     // with savings for each second of a stretch of time
  std::int64_t scope_ns = 0;  // what they are divided by
};

[[nodiscard]] std::vector<Column<RankLine>> ranking_columns(const RankView& view);
[[nodiscard]] const std::vector<ColumnGroup>& ranking_groups();

/// Add columns that ranking_columns() holds too: of declared work; of clocks and operations a second; of how launches
/// fill the device.
void add_work_columns(std::vector<Column<RankLine>>& columns);
void add_rate_columns(std::vector<Column<RankLine>>& columns);
void add_shape_columns(std::vector<Column<RankLine>>& columns);
/// What the clock costs, and joules.
void add_power_columns(std::vector<Column<RankLine>>& columns);

}  // namespace ridgeline::reports
