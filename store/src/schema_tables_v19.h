// schema_tables_v19.h: DDL of version 19: collectives that the copy engines do, without a kernel.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV19[] = R"sql(
CREATE TABLE collective_copy (     -- what is known of a copy between devices that is a collective, or a part of one; nothing: it has no row
  memcpy_id       INTEGER PRIMARY KEY REFERENCES memcpy(id),
  first_memcpy_id INTEGER NOT NULL REFERENCES memcpy(id),  -- of the same call: equal in all its copies
  communicator_id INTEGER REFERENCES communicator(id),  -- NULL: not known
  function        TEXT NOT NULL CHECK (function IN ('all_gather','all_to_all')),
  bytes           INTEGER,         -- of the whole array of the call, of all ranks together; NULL: not known
  source          TEXT NOT NULL CHECK (source IN ('nvtx','plugin','program'))  -- who said so
) STRICT;
ALTER TABLE job_site ADD COLUMN copies INTEGER;  -- copies between devices that are the call on each rank, by the copy engines; NULL: a kernel is, or calls differ
)sql";

}  // namespace ridgeline::store
