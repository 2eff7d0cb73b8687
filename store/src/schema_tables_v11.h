// schema_tables_v11.h: DDL of version 11: roofs that were measured on the devices. The table of that name in earlier
// versions never had a row.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV11[] = R"sql(
DROP TABLE ceiling;
CREATE TABLE ceiling (             -- roofs measured by `ridgeline ceilings`, and the terms of its energy model
  device_id    INTEGER NOT NULL REFERENCES device(id),
  level        TEXT NOT NULL CHECK (level IN ('dram','l2','l1','shared','compute','launch','pcie','nvlink','energy')),
  kind         TEXT NOT NULL,      -- read, triad, stream, …; of compute the precision; of energy the term
  state        TEXT NOT NULL CHECK (state IN ('burst','sustained')),
  read_share   REAL,               -- dram: bytes read of those moved, 0 to 1
  value        REAL NOT NULL,
  unit         TEXT NOT NULL,      -- bytes_per_s, ops_per_s, ns; of energy W (idle) or J (a byte or an operation)
  spread_ratio REAL,               -- how far rounds were apart; of energy the term's error over its value
  sm_clock_hz  REAL,               -- while it was measured; NULL: not known
  power_w      REAL,               -- likewise
  joules_each  REAL,               -- of a byte or an operation, the device's own watts included
  conditions   TEXT NOT NULL,      -- configuration, time, power limit, what held the clock, on which card
  PRIMARY KEY (device_id, level, kind, state)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace ridgeline::store
