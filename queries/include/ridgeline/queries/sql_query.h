// sql_query.h: one SELECT over a capture.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "ridgeline/store/capture.h"

namespace ridgeline::queries {

struct SqlQuery {
  std::string sql;
  std::int64_t max_rows = 10'000;
};

struct SqlRows {
  store::Capture::Table table;
  bool cut = false;  ///< there were more rows than asked for
};

/// Failures: usage (bad SQL, or a statement that would write), cancelled (stopped while no row was being made). A stop
/// between two rows ends it with those so far, cut.
[[nodiscard]] Result<SqlRows> ask(const store::Capture& capture, const SqlQuery& query,
                                  const std::stop_token& stop = {});

}  // namespace ridgeline::queries
