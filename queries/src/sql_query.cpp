#include "ridgeline/queries/sql_query.h"

#include <algorithm>
#include <optional>

#include "ridgeline/queries/gap_view.h"
#include "ridgeline/store/statement_stop.h"

namespace ridgeline::queries {

Result<SqlRows> ask(const store::Capture& capture, const SqlQuery& query, const std::stop_token& stop) {
  const auto gaps = GapView::for_query(capture.path(), query.sql, stop);
  if (!gaps) return gaps.failure();
  SqlRows rows;
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(query.max_rows, 0));
  // A statement may compute for long without making a row. Who gives no token leaves it to one of theirs.
  std::optional<store::StatementStop> ends;
  if (stop.stop_possible()) ends.emplace(stop);
  // One row more than wanted tells whether there are more.
  const Result<void> asked = capture.query(
      query.sql,
      [&](std::vector<std::string>&& columns) {
        rows.table.columns = std::move(columns);
        return true;
      },
      [&](std::vector<store::Value>&& row) {
        rows.cut = rows.table.rows.size() == wanted || stop.stop_requested();
        if (!rows.cut) rows.table.rows.push_back(std::move(row));
        return !rows.cut;
      });
  if (!asked) return asked.failure();
  return rows;
}

}  // namespace ridgeline::queries
