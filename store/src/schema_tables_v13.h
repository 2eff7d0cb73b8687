// schema_tables_v13.h: DDL of version 13: what a collective is, and the ranks of one job in one capture
// (`ridgeline merge`).
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV13[] = R"sql(
CREATE TABLE communicator (        -- a group of ranks that a process made
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  hash       TEXT,                 -- the library's, equal on all its ranks and on no other group's; NULL: not known
  ranks      INTEGER,              -- how many it has; NULL: not known
  rank       INTEGER,              -- of the process, in it; NULL: not known
  name       TEXT                  -- given by the program; NULL: none
) STRICT;

CREATE TABLE collective (          -- what is known of a launch that communicates; nothing: it has no row
  launch_id       INTEGER PRIMARY KEY REFERENCES launch_row(id),
  communicator_id INTEGER REFERENCES communicator(id),  -- NULL: not known
  ordinal         INTEGER,         -- of the calls on the communicator since it was made; NULL: not known
  function        TEXT NOT NULL CHECK (function IN ('all_reduce','all_gather','reduce_scatter','broadcast','reduce','all_to_all','send_receive')),
  bytes           INTEGER,         -- of the whole array, of all ranks together; NULL: not known
  source          TEXT NOT NULL CHECK (source IN ('nvtx','plugin','program'))  -- who said so
) STRICT;

CREATE TABLE job_rank (            -- a rank of a merged job
  rank       INTEGER PRIMARY KEY,
  host       TEXT,                 -- NULL: not known
  program    TEXT NOT NULL,        -- its command line, numbers taken out: equal for all ranks
  world_size INTEGER,              -- ranks of the job; NULL: not known
  device     TEXT,
  file       TEXT NOT NULL,        -- the capture it came from, as it was given
  process_id INTEGER NOT NULL      -- in that capture
) STRICT;

CREATE TABLE job_clock (           -- where a host's clock stands against that of the lowest rank's host
  host       TEXT PRIMARY KEY,     -- or 'rank N' where hosts are not known
  status     TEXT NOT NULL CHECK (status IN ('reference','aligned','contradicts','unknown')),
  offset_ns  INTEGER,              -- at base_ns of its own clock: what must be taken from its times
  drift_ppb  REAL,                 -- further, for each 10^9 ns since base_ns
  base_ns    INTEGER,
  low_ns     INTEGER,              -- the true offset is offset_ns + low_ns to + high_ns, at any time of the recording
  high_ns    INTEGER,
  collectives INTEGER NOT NULL     -- that it rests on
) STRICT, WITHOUT ROWID;

CREATE TABLE job_communicator (
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL,           -- as in communicator; 'stream N': not known, one is taken for each stream
  ranks   INTEGER,                 -- NULL: not known
  name    TEXT
) STRICT;

CREATE TABLE job_site (            -- what calls have in common
  id              INTEGER PRIMARY KEY,
  communicator_id INTEGER NOT NULL REFERENCES job_communicator(id),
  function        TEXT,            -- as in collective; NULL: not known
  bytes           INTEGER          -- as in collective
) STRICT;

CREATE TABLE job_kernel (          -- kernels that compute
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE job_step (            -- a timeline step of a rank: where its time went, by its own clock
  rank          INTEGER NOT NULL REFERENCES job_rank(rank),
  step_index    INTEGER NOT NULL,
  start_ns      INTEGER NOT NULL,  -- of its first kernel
  duration_ns   INTEGER NOT NULL,  -- to the first kernel of the next step; of the last: to its own end
  compute_ns    INTEGER NOT NULL,  -- some kernel computed; this and the next three add up to the duration
  exposed_ns    INTEGER NOT NULL,  -- a collective ran and nothing computed beside it
  copy_ns       INTEGER NOT NULL,  -- a copy ran and neither
  idle_ns       INTEGER NOT NULL,  -- nothing ran
  communication_ns INTEGER NOT NULL,  -- some collective ran
  copy_beside_ns INTEGER NOT NULL, -- of exposed_ns: a copy ran
  launches      INTEGER NOT NULL,  -- that compute
  sm_clock_hz   REAL,              -- mean of its samples; without any of the ones before and after it; NULL: neither is near
  clock_samples INTEGER NOT NULL,  -- in the step
  PRIMARY KEY (rank, step_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_call (            -- a collective as one rank ran it
  rank            INTEGER NOT NULL REFERENCES job_rank(rank),
  step_index      INTEGER NOT NULL,
  position        INTEGER NOT NULL,  -- among those of its step, in order of their start
  site_id         INTEGER NOT NULL REFERENCES job_site(id),
  ordinal         INTEGER,           -- as in collective
  start_offset_ns INTEGER NOT NULL,  -- from job_step.start_ns
  duration_ns     INTEGER NOT NULL,
  kernels_before_end INTEGER NOT NULL,  -- kernels that compute, from the step's first, that began before its end
  hidden          TEXT,              -- lengths from its start, ns: nothing beside it, kernels beside it, nothing, …; NULL: none
  PRIMARY KEY (rank, step_index, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_kernel_step (     -- launches of a kernel in a step of a rank
  rank       INTEGER NOT NULL REFERENCES job_rank(rank),
  step_index INTEGER NOT NULL,
  kernel_id  INTEGER NOT NULL REFERENCES job_kernel(id),
  launches   INTEGER NOT NULL,
  blocks     INTEGER NOT NULL,     -- of their grids together
  time_ns    INTEGER NOT NULL,     -- sum of durations
  PRIMARY KEY (rank, step_index, kernel_id)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace ridgeline::store
