// schema_tables_v6.h: DDL of version 6, which lets a reader notice rows that are no longer there.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV6[] = R"sql(
CREATE TABLE table_rows (          -- what each table held when the capture was finished; empty: it never was, or by an older Ridgeline
  name   TEXT PRIMARY KEY,
  rows   INTEGER NOT NULL,
  digest INTEGER                   -- of all values, whatever the rows' order; NULL: of a table that is large or has sums elsewhere
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace ridgeline::store
