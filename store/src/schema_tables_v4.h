// schema_tables_v4.h: DDL of version 4: what the host waited for.
#pragma once

namespace ridgeline::store {

/// Calls of one thread do not overlap, so that its row before a moment is all that can reach into it: the key finds
/// the rows of a window of time without an index.
inline constexpr const char kTablesV4[] = R"sql(
CREATE TABLE synchronisation (     -- T0: calls on which a thread waited for the device, or might have; shorter ones than 2 us are left out
  process_id     INTEGER NOT NULL REFERENCES process(id),
  thread_id      INTEGER NOT NULL, -- the operating system's
  start_ns       INTEGER NOT NULL, -- the call's begin on the host
  duration_ns    INTEGER NOT NULL,
  call_id        INTEGER NOT NULL REFERENCES string(id),  -- the runtime's name: cudaStreamSynchronize, cudaMemcpy DtoH, ...
  correlation_id INTEGER NOT NULL, -- a copy has that of its call
  step_id        INTEGER REFERENCES step(id),  -- in which it began; NULL: outside any step
  PRIMARY KEY (process_id, thread_id, start_ns)
) STRICT, WITHOUT ROWID;

ALTER TABLE recording_window ADD COLUMN synchronisation INTEGER NOT NULL DEFAULT 0;  -- 1: such calls are recorded in it
)sql";

}  // namespace ridgeline::store
