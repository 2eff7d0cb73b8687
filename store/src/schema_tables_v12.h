// schema_tables_v12.h: DDL of version 12: delays that were put in front of launches (`record --intervene`).
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV12[] = R"sql(
CREATE TABLE intervention (        -- a delay kernel of the recorder's in front of a launch; no row of launch_row is of it
  step_id       INTEGER NOT NULL REFERENCES step(id),
  target        INTEGER NOT NULL,  -- launches that are delayed, numbered from 0 in each process
  process_id    INTEGER NOT NULL REFERENCES process(id),
  kernel_id     INTEGER NOT NULL REFERENCES kernel(id),  -- of the program's launch behind it
  ordinal       INTEGER NOT NULL,  -- of that launch among those of the step
  drawn         INTEGER NOT NULL CHECK (drawn IN (0, 1)),  -- 0: the step lets the one before it settle
  level_ns      INTEGER NOT NULL,  -- delay that was asked for; 0: a sham
  start_ns      INTEGER,           -- of the delay kernel on the device; NULL: it has no record
  end_ns        INTEGER,
  seed          TEXT NOT NULL,     -- of the draws of this process
  PRIMARY KEY (step_id, target)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace ridgeline::store
