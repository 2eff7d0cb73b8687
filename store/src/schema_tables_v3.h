// schema_tables_v3.h: DDL of version 3, which stores what grows with the run compactly. Why it is so:
// docs/design/011-compact-captures.md.
#pragma once

namespace ridgeline::store {

/// Launches, ranges and annotations move to compact tables in C++ (convert_to_v3) after these statements; the
/// tables of version 2 wait under other names until then.
inline constexpr const char kTablesV3[] = R"sql(
ALTER TABLE launch RENAME TO launch_v2;
ALTER TABLE nvtx_range RENAME TO nvtx_range_v2;
ALTER TABLE annotation RENAME TO annotation_v2;
DROP INDEX launch_by_step;

CREATE TABLE kernel_v3 (           -- one machine code of one function
  id              INTEGER PRIMARY KEY,
  mangled_name    TEXT NOT NULL,
  demangled_name  TEXT NOT NULL,
  normalised_name TEXT NOT NULL,   -- template arguments, literals and tile tokens taken out: a family
  class           TEXT NOT NULL,   -- gemm, attention, normalisation, elementwise, reduction, copy, communication, optimiser, embedding, classifier, other
  code_hash       TEXT,            -- of the machine code; NULL if not captured
  UNIQUE (mangled_name, code_hash)
) STRICT;
INSERT INTO kernel_v3 SELECT id, mangled_name, demangled_name, normalised_name, class, code_hash FROM kernel;
DROP TABLE kernel;
ALTER TABLE kernel_v3 RENAME TO kernel;

-- Of a step's rows, taken together: what is asked for most touches no launch. A time is usable if start_ns > 0
-- and end_ns >= start_ns.
ALTER TABLE step ADD COLUMN launches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN launches_without_time INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN kernel_time_ns INTEGER NOT NULL DEFAULT 0;    -- sum of its launches' durations
ALTER TABLE step ADD COLUMN kernel_start_ns INTEGER NOT NULL DEFAULT 0;   -- of the first kernel; 0: none has a usable time
ALTER TABLE step ADD COLUMN kernel_end_ns INTEGER NOT NULL DEFAULT 0;     -- of the last to end
ALTER TABLE step ADD COLUMN copies INTEGER NOT NULL DEFAULT 0;            -- memcpy and memset
ALTER TABLE step ADD COLUMN copy_start_ns INTEGER NOT NULL DEFAULT 0;     -- 0: none has a usable time
ALTER TABLE step ADD COLUMN copy_end_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE step ADD COLUMN sequence_hash INTEGER NOT NULL DEFAULT 0;     -- of (ordinal, kernel, grid, block) of its launches: equal for steps that launched the same
ALTER TABLE step ADD COLUMN first_launch_id INTEGER;  -- its launches' ids are from first to last; NULL: it has none
ALTER TABLE step ADD COLUMN last_launch_id INTEGER;
ALTER TABLE step ADD COLUMN first_range_id INTEGER;   -- its NVTX ranges' ids are from first to last; NULL: it has none
ALTER TABLE step ADD COLUMN last_range_id INTEGER;

CREATE TABLE launch_site (         -- what launches have in common, once: a kernel, how it is launched, and from where
  id                   INTEGER PRIMARY KEY,
  process_id           INTEGER NOT NULL REFERENCES process(id),
  device_id            INTEGER NOT NULL REFERENCES device(id),
  context_id           INTEGER NOT NULL,
  stream_id            INTEGER NOT NULL,
  graph_id             INTEGER,    -- NULL: not part of a CUDA graph
  graph_node_id        INTEGER,
  kernel_id            INTEGER NOT NULL REFERENCES kernel(id),
  thread_id            INTEGER,    -- the launching thread
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  cluster_x INTEGER, cluster_y INTEGER, cluster_z INTEGER,
  registers_per_thread INTEGER NOT NULL,
  static_smem_bytes    INTEGER NOT NULL,  -- a block
  dynamic_smem_bytes   INTEGER NOT NULL,  -- a block
  nvtx_path_id         INTEGER REFERENCES string(id) -- open ranges at launch, joined by " / "
) STRICT;

-- Of a launch, place is its id & 1023. What is expected of it follows from its place, so that its row holds small
-- numbers: zeros and ones take no room at all, others as few bytes as they need.
CREATE TABLE launch_chunk (        -- 1024 launches in a row: what is expected of them, and when they ran
  id                  INTEGER PRIMARY KEY,  -- launch_row.id >> 10 of its launches
  process_id          INTEGER,              -- of all of them; NULL: of several
  base_ns             INTEGER NOT NULL,     -- start expected on the GPU: base_ns + place * stride_ns
  base_correlation_id INTEGER NOT NULL,     -- base_correlation_id + place * correlation_stride
  begin_ns            INTEGER,     -- first start and last end of those with a usable time; NULL: none has one
  end_ns              INTEGER,
  stride_ns           INTEGER NOT NULL,
  correlation_stride  INTEGER NOT NULL,
  base_host_ns        INTEGER NOT NULL,     -- begin of the launching call: base_host_ns + place * host_stride_ns
  host_stride_ns      INTEGER NOT NULL,
  base_step_id        INTEGER NOT NULL,     -- this step
  base_ordinal        INTEGER NOT NULL      -- and in it base_ordinal + place
) STRICT;

CREATE TABLE launch_row (          -- one kernel execution; the view launch has it in plain columns
  id                 INTEGER PRIMARY KEY,   -- in order of arrival; a step's are together, but for few at its borders
  site_id            INTEGER NOT NULL REFERENCES launch_site(id),
  step_offset        INTEGER,      -- offsets are from what launch_chunk expects; NULL: outside any step
  ordinal_offset     INTEGER,      -- ordinal_in_step is 0-based, in order of launch; the key that joins steps
  start_offset_ns    INTEGER,      -- on the GPU; NULL: the driver gave no timestamp
  duration_ns        INTEGER NOT NULL,
  host_offset_ns     INTEGER,      -- begin of the launching call; NULL: not known
  host_duration_ns   INTEGER,      -- of the launching call; without its begin: from the start (from base_ns) to its end
  correlation_offset INTEGER NOT NULL
) STRICT;

-- Its launches are rows of launch_row now. The text of the table is changed because copying its rows would be half of
-- the migration's time (sqlite.org/lang_altertable.html, section 7, has the procedure).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'launch_v2', 'launch_row') WHERE type = 'table' AND name = 'launch_metric';
PRAGMA writable_schema = RESET;

CREATE TABLE site_total (          -- the launches of a site, taken together by the phase of their steps
  site_id        INTEGER NOT NULL REFERENCES launch_site(id),
  phase          TEXT NOT NULL,    -- as in step; '' outside any step
  launches       INTEGER NOT NULL,
  timed_launches INTEGER NOT NULL, -- with a usable time
  kernel_time_ns INTEGER NOT NULL, -- of those
  PRIMARY KEY (site_id, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE launch_sequence (     -- steps of one process, phase and sequence of launches with status ok; several steps
  id            INTEGER PRIMARY KEY,
  process_id    INTEGER NOT NULL REFERENCES process(id),
  phase         TEXT NOT NULL,
  sequence_hash INTEGER NOT NULL,  -- as in step
  steps         INTEGER NOT NULL
) STRICT;

CREATE TABLE ordinal_sum (         -- durations of the launches at one place of a sequence
  sequence_id        INTEGER NOT NULL REFERENCES launch_sequence(id),
  ordinal_in_step    INTEGER NOT NULL,
  launches           INTEGER NOT NULL,  -- with a usable time
  sum_ns             INTEGER NOT NULL,
  sum_of_squares_ns2 REAL NOT NULL,
  PRIMARY KEY (sequence_id, ordinal_in_step)
) STRICT, WITHOUT ROWID;

CREATE TABLE range_site (          -- what NVTX ranges have in common, once
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  thread_id  INTEGER NOT NULL,
  depth      INTEGER NOT NULL,     -- 0: outermost
  name_id    INTEGER NOT NULL REFERENCES string(id),
  path_id    INTEGER NOT NULL REFERENCES string(id),  -- names from the outermost, joined by " / "
  domain_id  INTEGER REFERENCES string(id)            -- NULL: the default domain
) STRICT;

CREATE TABLE range_chunk (         -- 1024 ranges in a row: what their times count from, and when they were
  id       INTEGER PRIMARY KEY,    -- range_row.id >> 10 of its ranges
  base_ns  INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,       -- first start
  end_ns   INTEGER                 -- last end; NULL: one was never closed
) STRICT;

CREATE TABLE range_row (           -- a push/pop or start/end range; the view nvtx_range has it in plain columns
  id              INTEGER PRIMARY KEY,
  site_id         INTEGER NOT NULL REFERENCES range_site(id),
  step_id         INTEGER REFERENCES step(id),  -- the step in which it began
  parent_offset   INTEGER,         -- id less that of the range it lies in; NULL: outermost
  start_offset_ns INTEGER NOT NULL,  -- from range_chunk.base_ns
  duration_ns     INTEGER,         -- NULL: never closed
  work_id         INTEGER REFERENCES declared_work(id)  -- what the program declares for it; NULL: nothing
) STRICT;

CREATE TABLE declared_work (       -- work that the program declares for ranges, once
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  bytes REAL,                      -- algorithmic minimum, read + written
  flops REAL
) STRICT;

CREATE TABLE range_work (          -- further work of ranges that have range_row.work_id already
  id       INTEGER PRIMARY KEY,
  range_id INTEGER NOT NULL REFERENCES range_row(id),
  work_id  INTEGER NOT NULL REFERENCES declared_work(id)
) STRICT;

CREATE TABLE thread (
  process_id INTEGER NOT NULL REFERENCES process(id),
  thread_id  INTEGER NOT NULL,     -- the operating system's
  name       TEXT NOT NULL,
  PRIMARY KEY (process_id, thread_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiler_overhead (   -- time that CUPTI says it cost
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  kind       TEXT NOT NULL,        -- CUpti_ActivityOverheadKind: driver compiler, buffer flush, instrumentation, resource, ... or its number
  thread_id  INTEGER,              -- NULL: of no thread in particular
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER NOT NULL
) STRICT;

CREATE TABLE clock_pair (          -- one instant on three clocks; several over a run, to interpolate between
  process_id   INTEGER NOT NULL REFERENCES process(id),
  time_ns      INTEGER NOT NULL,   -- on the capture's clock
  realtime_ns  INTEGER NOT NULL,   -- CLOCK_REALTIME
  monotonic_ns INTEGER NOT NULL,   -- CLOCK_MONOTONIC
  PRIMARY KEY (process_id, time_ns)
) STRICT, WITHOUT ROWID;

ALTER TABLE completeness ADD COLUMN strings_lost INTEGER NOT NULL DEFAULT 0;     -- names that found no room in the spool
ALTER TABLE completeness ADD COLUMN nvtx_unbalanced INTEGER NOT NULL DEFAULT 0;  -- NVTX calls that could not be followed: ends without a begin, nesting too deep, too many different paths
)sql";

/// Made when all rows are there.
inline constexpr const char kIndexesV3[] = R"sql(
CREATE INDEX IF NOT EXISTS memcpy_by_step ON memcpy(step_id);
CREATE INDEX IF NOT EXISTS memset_by_step ON memset(step_id);
CREATE INDEX IF NOT EXISTS work_by_range ON range_work(range_id);
)sql";

}  // namespace ridgeline::store
