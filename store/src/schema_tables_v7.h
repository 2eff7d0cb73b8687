// schema_tables_v7.h: DDL of version 7, in which a program may also say what a step works through and which matrix
// product a range is.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV7[] = R"sql(
ALTER TABLE declared_work ADD COLUMN tokens REAL;   -- that a step, or this part of it, works through; NULL: not said
ALTER TABLE declared_work ADD COLUMN samples REAL;  -- likewise
ALTER TABLE declared_work ADD COLUMN m INTEGER;     -- of a matrix product [m, k] x [k, n]; NULL: it is none
ALTER TABLE declared_work ADD COLUMN n INTEGER;
ALTER TABLE declared_work ADD COLUMN k INTEGER;
)sql";

}  // namespace ridgeline::store
