// What all migrations together make of an empty file, as statements. The migrations alter and replace tables,
// and SQLite then reads the whole schema again, which takes longer than writing a small capture.
//
// Written by `RIDGELINE_ACCEPT_TABLES=1 build/tests/test_store --gtest_filter='Migrate.*'`, never by hand: after a
// migration is added.
#pragma once

namespace ridgeline::store {

inline constexpr const char kNewestTables[] = R"sql(
CREATE TABLE string (              -- interned text
  id    INTEGER PRIMARY KEY,
  value TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE run (                 -- the recording; exactly one row
  id                INTEGER PRIMARY KEY CHECK (id = 1),
  command_line      TEXT NOT NULL, -- the recorded program and its arguments, shell-quoted
  working_directory TEXT,
  git_commit        TEXT,          -- of the working directory; NULL outside a repository
  git_dirty         INTEGER,       -- 1: tracked files differed from that commit
  host_name         TEXT,
  os                TEXT,
  ridgeline_version TEXT NOT NULL,
  clock             TEXT NOT NULL, -- the clock of every *_ns column, e.g. "cupti" (ns since the Unix epoch)
  start_ns          INTEGER,
  end_ns            INTEGER,       -- NULL: the recording was interrupted
  exit_status       INTEGER,       -- of the program; NULL if unknown or killed by a signal
  exit_signal       INTEGER,       -- NULL: not killed by a signal
  schedule          TEXT,          -- as given or defaulted, e.g. "warmup=5,timeline=10,replay=4"
  step_range        TEXT           -- name of the NVTX range that marks a step
) STRICT;
CREATE TABLE environment_variable ( -- what the program's behaviour may depend on (CUDA_*, NCCL_*, ...)
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
CREATE TABLE version (             -- versions of what took part: driver, cuda_runtime, cupti, cublas, cudnn, nccl
  component TEXT PRIMARY KEY,
  version   TEXT NOT NULL
) STRICT;
CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  pid         INTEGER NOT NULL,    -- operating-system process id
  parent_pid  INTEGER,
  command     TEXT,
  rank        INTEGER,             -- of a distributed job, if the program says one
  start_ns    INTEGER,
  end_ns      INTEGER              -- NULL: no orderly end was seen
, node_id INTEGER REFERENCES node(id)) STRICT;
CREATE TABLE device (
  id                    INTEGER PRIMARY KEY,
  device_index          INTEGER NOT NULL,  -- CUDA ordinal
  name                  TEXT NOT NULL,
  uuid                  TEXT,
  chip                  TEXT,              -- e.g. GH100
  compute_capability    TEXT,              -- "9.0"
  sm_count              INTEGER,
  max_sm_clock_hz       INTEGER,
  max_memory_clock_hz   INTEGER,
  memory_bus_bits       INTEGER,
  memory_bytes          INTEGER,
  l2_bytes              INTEGER
) STRICT;
CREATE TABLE device_peak (         -- a roof: the most of a quantity a device can do
  device_id INTEGER NOT NULL REFERENCES device(id),
  quantity  TEXT NOT NULL,         -- dram_bytes_per_s, l2_bytes_per_s, bf16_flops_per_s, fp32_flops_per_s, ...
  source    TEXT NOT NULL CHECK (source IN ('spec','clock','measured','counter')),
  value     REAL NOT NULL,         -- in the quantity's unit
  detail    TEXT,                  -- formula, datasheet or conditions
  PRIMARY KEY (device_id, quantity, source)
) STRICT;
CREATE TABLE clock_sample (        -- NVML, about 10 Hz
  device_id        INTEGER NOT NULL REFERENCES device(id),
  time_ns          INTEGER NOT NULL,
  sm_clock_hz      INTEGER,
  memory_clock_hz  INTEGER,
  power_mw         INTEGER,        -- milliwatt
  temperature_c    INTEGER,        -- degrees Celsius
  throttle_reasons INTEGER,        -- NVML bit mask; 0 none
  PRIMARY KEY (device_id, time_ns)
) STRICT, WITHOUT ROWID;
CREATE TABLE counter_configuration ( -- a set of counters collected in one pass
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,        -- R1, R2, ...
  pass_count INTEGER NOT NULL
) STRICT;
CREATE TABLE memcpy (
  id             INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL REFERENCES process(id),
  device_id      INTEGER NOT NULL REFERENCES device(id),
  context_id     INTEGER NOT NULL,
  stream_id      INTEGER NOT NULL,
  correlation_id INTEGER NOT NULL,
  kind           TEXT NOT NULL,    -- HtoD, DtoH, DtoD, PtoP, HtoH, unknown
  bytes          INTEGER NOT NULL,
  start_ns       INTEGER NOT NULL,
  end_ns         INTEGER NOT NULL,
  step_id        INTEGER REFERENCES step(id),
  nvtx_path_id   INTEGER REFERENCES string(id)
, graph_node_id INTEGER) STRICT;
CREATE TABLE memset (
  id             INTEGER PRIMARY KEY,
  process_id     INTEGER NOT NULL REFERENCES process(id),
  device_id      INTEGER NOT NULL REFERENCES device(id),
  context_id     INTEGER NOT NULL,
  stream_id      INTEGER NOT NULL,
  correlation_id INTEGER NOT NULL,
  bytes          INTEGER NOT NULL,
  start_ns       INTEGER NOT NULL,
  end_ns         INTEGER NOT NULL,
  step_id        INTEGER REFERENCES step(id),
  nvtx_path_id   INTEGER REFERENCES string(id)
, graph_node_id INTEGER) STRICT;
CREATE TABLE metric (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,    -- the vendor's, verbatim
  label   TEXT NOT NULL,           -- what a person reads
  unit    TEXT NOT NULL,           -- bytes, ns, ratio, percent, ...; as the counter reports it
  meaning TEXT NOT NULL
) STRICT;
CREATE TABLE launch_metric (       -- a measured value of one launch
  launch_id    INTEGER NOT NULL REFERENCES "launch_row"(id),
  metric_id    INTEGER NOT NULL REFERENCES metric(id),
  tier         TEXT NOT NULL CHECK (tier IN ('T0','T1','T2','T3')),
  value        REAL NOT NULL,      -- in metric.unit
  error        REAL,               -- standard error, same unit; NULL: exact count or unknown
  sample_count INTEGER, concurrent INTEGER NOT NULL DEFAULT 0,            -- T1: samples used
  PRIMARY KEY (launch_id, metric_id, tier)
) STRICT, WITHOUT ROWID;
CREATE TABLE pm_sample (           -- T1: periodic samples of a whole device
  device_id INTEGER NOT NULL REFERENCES device(id),
  time_ns   INTEGER NOT NULL,      -- end of the sample
  metric_id INTEGER NOT NULL REFERENCES metric(id),
  value     REAL NOT NULL,
  PRIMARY KEY (device_id, metric_id, time_ns)
) STRICT, WITHOUT ROWID;
CREATE TABLE completeness (        -- one row a process: what was seen against what was recorded
  process_id            INTEGER PRIMARY KEY REFERENCES process(id),
  launches_seen         INTEGER NOT NULL,  -- kernel launches the driver API was asked for (outside graphs)
  kernel_records        INTEGER NOT NULL,  -- of those, kernel records received
  graph_launches        INTEGER NOT NULL,  -- graph launches seen
  graph_kernel_records  INTEGER NOT NULL,
  profiler_records      INTEGER NOT NULL,  -- the profiler's own kernels, filtered out
  dropped_records       INTEGER NOT NULL,  -- by the driver, for want of buffers
  lost_spool_records    INTEGER NOT NULL,  -- not written: disk full or limits
  zero_timestamps       INTEGER NOT NULL,  -- kernel records without a time
  truncated_bytes       INTEGER NOT NULL   -- unreadable tail of the spool
, strings_lost INTEGER NOT NULL DEFAULT 0, nvtx_unbalanced INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE tier_status (         -- which tier ran, and if not, why
  process_id INTEGER NOT NULL REFERENCES process(id),
  tier       TEXT NOT NULL CHECK (tier IN ('T0','T1','T2','T3')),
  status     TEXT NOT NULL CHECK (status IN ('ok','partial','refused','failed','not_requested')),
  reason_id INTEGER REFERENCES reason(id),                 -- one line, with what to do
  PRIMARY KEY (process_id, tier)
) STRICT;
CREATE TABLE message (             -- what the collector had to say
  id         INTEGER PRIMARY KEY,
  process_id INTEGER REFERENCES process(id),
  time_ns    INTEGER,
  severity   TEXT NOT NULL CHECK (severity IN ('info','warning','error')),
  reason_id INTEGER REFERENCES reason(id)) STRICT;
CREATE TABLE "step" (
  id               INTEGER PRIMARY KEY,
  process_id       INTEGER NOT NULL REFERENCES process(id),
  step_index       INTEGER NOT NULL,  -- 0-based, in order of time
  phase            TEXT NOT NULL CHECK (phase IN ('warmup','timeline','sample','replay','cold','stalls','flops','after')),
  host_start_ns    INTEGER,        -- the range's begin on the host
  host_end_ns      INTEGER,        -- NULL: the step was interrupted
  gpu_start_ns     INTEGER,        -- begin of its first kernel; of its first copy if it has none
  gpu_end_ns       INTEGER,        -- last GPU activity launched in the step
  configuration_id INTEGER REFERENCES counter_configuration(id),  -- replay and cold steps: what was collected
  status           TEXT NOT NULL CHECK (status IN ('ok','mismatch','failed','interrupted')),
  source           TEXT NOT NULL DEFAULT 'nvtx' CHECK (source IN ('nvtx','period','window')), launches INTEGER NOT NULL DEFAULT 0, launches_without_time INTEGER NOT NULL DEFAULT 0, kernel_time_ns INTEGER NOT NULL DEFAULT 0, kernel_start_ns INTEGER NOT NULL DEFAULT 0, kernel_end_ns INTEGER NOT NULL DEFAULT 0, copies INTEGER NOT NULL DEFAULT 0, copy_start_ns INTEGER NOT NULL DEFAULT 0, copy_end_ns INTEGER NOT NULL DEFAULT 0, sequence_hash INTEGER NOT NULL DEFAULT 0, first_launch_id INTEGER, last_launch_id INTEGER, first_range_id INTEGER, last_range_id INTEGER, reason_id INTEGER REFERENCES reason(id),  -- what marks the step: a range of the program, the period of its launches, or the recording window as a whole
  UNIQUE (process_id, step_index)
) STRICT;
CREATE TABLE pm_window (           -- T1: a stretch of time with periodic samples
  id                INTEGER PRIMARY KEY,
  process_id        INTEGER NOT NULL REFERENCES process(id),
  device_id         INTEGER NOT NULL REFERENCES device(id),
  first_step_index  INTEGER,       -- steps it was meant to cover
  last_step_index   INTEGER,
  interval_ns       INTEGER NOT NULL,  -- between two samples
  start_ns          INTEGER,       -- first sample's start
  end_ns            INTEGER,       -- last sample's end
  sample_count      INTEGER NOT NULL,
  buffer_bytes      INTEGER NOT NULL,  -- hardware buffer
  overflow          INTEGER NOT NULL,  -- 1: samples end before the window does: the buffer was full or the program ended; reason says which
  clock_shift_ns    INTEGER,       -- added to the samples' times to fit the kernels'; already applied in pm_sample
  shift_correlation REAL,          -- of kernels running with SMs active, at that shift; 0..1
  status            TEXT NOT NULL CHECK (status IN ('ok','overflow','failed')),
  reason_id INTEGER REFERENCES reason(id)) STRICT;
CREATE TABLE tier_coverage (       -- how much of the steps' kernel time a tier has values for
  process_id     INTEGER NOT NULL REFERENCES process(id),
  tier           TEXT NOT NULL CHECK (tier IN ('T1','T2','T3')),
  metric_id      INTEGER NOT NULL REFERENCES metric(id),
  kernel_time_ns INTEGER NOT NULL, -- of the steps of that tier
  covered_ns     INTEGER NOT NULL, -- of kernels with a value
  PRIMARY KEY (process_id, tier, metric_id)
) STRICT;
CREATE TABLE replay_exclusion (    -- kernels that replay steps ran without measuring them
  process_id INTEGER NOT NULL REFERENCES process(id),
  kernel_id  INTEGER NOT NULL REFERENCES kernel(id),
  reason     TEXT NOT NULL,        -- name, user, concurrent, time-out, cooperative
  PRIMARY KEY (process_id, kernel_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE graph_metric (        -- a counter of a whole graph launch of a replay step
  step_id        INTEGER NOT NULL REFERENCES step(id),
  correlation_id INTEGER NOT NULL, -- of the graph launch
  metric_id      INTEGER NOT NULL REFERENCES metric(id),
  tier           TEXT NOT NULL CHECK (tier IN ('T2','T3')),
  value          REAL NOT NULL,    -- in metric.unit
  PRIMARY KEY (step_id, correlation_id, metric_id, tier)
) STRICT, WITHOUT ROWID;
CREATE TABLE recording_window (    -- when the timeline was on; kernels outside are not recorded
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER,              -- NULL: to the end of the recording
  cause      TEXT NOT NULL         -- what opened it: start, delay, signal
, synchronisation INTEGER NOT NULL DEFAULT 0, stream_calls INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE stall_window (        -- T3: steps whose program counters were sampled
  id               INTEGER PRIMARY KEY,
  process_id       INTEGER NOT NULL REFERENCES process(id),
  device_id        INTEGER NOT NULL REFERENCES device(id),
  first_step_index INTEGER NOT NULL,
  last_step_index  INTEGER NOT NULL,
  period_cycles    INTEGER NOT NULL,  -- of each SM, between two samples of it
  samples          INTEGER NOT NULL,  -- of the program's kernels
  dropped_samples  INTEGER NOT NULL,  -- by the hardware
  foreign_samples  INTEGER NOT NULL,  -- of kernels that are not the program's own
  status           TEXT NOT NULL CHECK (status IN ('ok','overflow','failed')),
  reason_id INTEGER REFERENCES reason(id)) STRICT;
CREATE TABLE stall_sample (        -- T3: samples of the program counter
  kernel_id    INTEGER NOT NULL REFERENCES kernel(id),
  pc_offset    INTEGER NOT NULL,   -- bytes from the function's start
  reason_id    INTEGER NOT NULL REFERENCES string(id),  -- stall reason: the vendor's name, verbatim
  samples      INTEGER NOT NULL,
  PRIMARY KEY (kernel_id, pc_offset, reason_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE source_line (         -- source of an instruction, as far as the machine code says
  kernel_id INTEGER NOT NULL REFERENCES kernel(id),
  pc_offset INTEGER NOT NULL,
  file_id   INTEGER REFERENCES string(id),
  line      INTEGER,
  PRIMARY KEY (kernel_id, pc_offset)
) STRICT, WITHOUT ROWID;
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
, tokens REAL, samples REAL, m INTEGER, n INTEGER, k INTEGER) STRICT;
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
CREATE INDEX memcpy_by_step ON memcpy(step_id);
CREATE INDEX memset_by_step ON memset(step_id);
CREATE INDEX work_by_range ON range_work(range_id);
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
CREATE TABLE table_rows (          -- what each table held when the capture was finished; empty: it never was, or by an older Ridgeline
  name   TEXT PRIMARY KEY,
  rows   INTEGER NOT NULL,
  digest INTEGER                   -- of all values, whatever the rows' order; NULL: of a table that is large or has sums elsewhere
) STRICT, WITHOUT ROWID;
CREATE TABLE reason (              -- why something is missing, refused or as it is; each stands once
  id        INTEGER PRIMARY KEY,
  parent_id INTEGER REFERENCES reason(id),  -- that this one explains further; below it: by id
  code      TEXT NOT NULL,         -- none_given: a sentence alone, of a version without codes or of another source
  text      TEXT                   -- the source's own words, verbatim; NULL: code and values say all
) STRICT;
CREATE TABLE reason_value (        -- what a reason's sentence is made with
  reason_id INTEGER NOT NULL REFERENCES reason(id),
  position  INTEGER NOT NULL,      -- from 0
  name      TEXT NOT NULL,         -- a unit stands in it, as everywhere; a count has none
  value     ANY,                   -- number or text
  PRIMARY KEY (reason_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE "kernel" (           -- one machine code of one function
  id              INTEGER PRIMARY KEY,
  mangled_name    TEXT,            -- NULL: of a source that has the demangled one alone
  demangled_name  TEXT NOT NULL,
  normalised_name TEXT NOT NULL,   -- template arguments, literals and tile tokens taken out: a family
  class           TEXT NOT NULL,   -- gemm, attention, normalisation, elementwise, reduction, copy, communication, optimiser, embedding, classifier, other
  code_hash       TEXT,            -- of the machine code; NULL if not captured
  UNIQUE (mangled_name, code_hash)
) STRICT;
CREATE TABLE node (                -- a host that took part
  id        INTEGER PRIMARY KEY,
  host_name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE stream (              -- streams whose making was seen, and default streams that were used
  process_id INTEGER NOT NULL REFERENCES process(id),
  context_id INTEGER NOT NULL,
  stream_id  INTEGER NOT NULL,     -- of its context, as in launch
  kind       TEXT NOT NULL CHECK (kind IN ('blocking','non_blocking','legacy','per_thread')),  -- blocking ones and the legacy stream wait for each other
  priority   INTEGER NOT NULL,     -- as the program gave it: lower goes first; 0: it gave none
  PRIMARY KEY (process_id, context_id, stream_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE stream_call (         -- a call of the host that orders streams, outside of captures
  process_id        INTEGER NOT NULL REFERENCES process(id),
  correlation_id    INTEGER NOT NULL,  -- counts the calls of a process: what has a lower one was given before
  call_id           INTEGER NOT NULL REFERENCES string(id),  -- event_record, event_wait, host_function, host_callback, memory_wait, memory_operations, semaphore_wait, event_awaited, stream_awaited
  thread_id         INTEGER NOT NULL,
  time_ns           INTEGER NOT NULL,  -- the call had returned
  context_id        INTEGER,           -- of the stream; NULL: of no stream
  stream_id         INTEGER,
  event             INTEGER,           -- a number for each event of a process; NULL: of none. A destroyed event's may be used again
  source_id         INTEGER,           -- event_wait, event_awaited: correlation_id of the event_record waited for; NULL: none was recorded before
  step_id           INTEGER REFERENCES step(id),
  PRIMARY KEY (process_id, correlation_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE graph_node (          -- a node of a CUDA graph that was launched
  process_id     INTEGER NOT NULL REFERENCES process(id),
  node_id        INTEGER NOT NULL, -- graph_node_id of launches and copies
  graph          INTEGER NOT NULL, -- instantiations of a process are numbered
  kind_id        INTEGER NOT NULL REFERENCES string(id),  -- kernel, copy, set, host, graph, empty, event_wait, event_record, semaphore_signal, semaphore_wait, allocation, free, memory_operations, conditional
  parent_node_id INTEGER,          -- the node of kind graph whose graph it is in; NULL: of the outermost graph
  PRIMARY KEY (process_id, node_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE graph_edge (          -- a node of a graph that follows another
  process_id   INTEGER NOT NULL REFERENCES process(id),
  to_node_id   INTEGER NOT NULL,
  from_node_id INTEGER NOT NULL,
  programmatic INTEGER NOT NULL,   -- 1: it may begin before the other has ended
  PRIMARY KEY (process_id, to_node_id, from_node_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_call (         -- a call that took device memory or returned it
  process_id      INTEGER NOT NULL REFERENCES process(id),
  correlation_id  INTEGER NOT NULL,
  call_id         INTEGER NOT NULL REFERENCES string(id),  -- allocate, allocate_managed, allocate_async, allocate_physical, free, free_async, free_physical
  thread_id       INTEGER NOT NULL,
  time_ns         INTEGER NOT NULL,  -- the call had returned; in the order of a stream it may take effect later
  device_id       INTEGER NOT NULL REFERENCES device(id),
  bytes           INTEGER,           -- taken or returned; NULL: returned is what was taken before the recording
  allocation_id   INTEGER,           -- returned: correlation_id of the call that took it
  allocated_bytes INTEGER NOT NULL,  -- of the process on that device afterwards, of what was seen
  step_id         INTEGER REFERENCES step(id),
  PRIMARY KEY (process_id, correlation_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE left_out (            -- what has no row for want of room or knowledge
  process_id INTEGER NOT NULL REFERENCES process(id),
  what       TEXT NOT NULL CHECK (what IN ('stream_calls','graph_nodes','memory_calls')),
  count      INTEGER NOT NULL,
  PRIMARY KEY (process_id, what)
) STRICT, WITHOUT ROWID;
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
, bytes_source TEXT, element_type TEXT, element_type_source TEXT, channels INTEGER, channels_source TEXT, algorithm TEXT, protocol TEXT, algorithm_source TEXT) STRICT;
CREATE TABLE job_rank (            -- a rank of a merged job
  rank       INTEGER PRIMARY KEY,
  host       TEXT,                 -- NULL: not known
  program    TEXT NOT NULL,        -- its command line, numbers taken out: equal for all ranks
  world_size INTEGER,              -- ranks of the job; NULL: not known
  device     TEXT,
  file       TEXT NOT NULL,        -- the capture it came from, as it was given
  process_id INTEGER NOT NULL      -- in that capture
, step_source TEXT) STRICT;
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
, element_type TEXT, blocks INTEGER, algorithm TEXT, protocol TEXT, copies INTEGER) STRICT;
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
  clock_samples INTEGER NOT NULL, beside_ns INTEGER, beside_controlled_ns INTEGER, beside_cost_ns REAL,  -- in the step
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
  hidden          TEXT, ready_offset_ns INTEGER,              -- lengths from its start, ns: nothing beside it, kernels beside it, nothing, …; NULL: none
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
CREATE TABLE job_traffic (         -- what a rank's device moved over its links, in its sampled steps
  rank                  INTEGER NOT NULL REFERENCES job_rank(rank),
  site_id               INTEGER REFERENCES job_site(id),  -- while such collectives ran; NULL: in whole steps
  count                 INTEGER NOT NULL,  -- steps or collectives; of these those that ran for four samples with no other beside them
  time_ns               INTEGER NOT NULL,  -- of them together, as the bytes
  nvlink_sent_bytes     REAL,              -- data without its protocol; NULL: not sampled, as the others
  nvlink_received_bytes REAL,
  pcie_received_bytes   REAL,
  pcie_sent_bytes       REAL,
  UNIQUE (rank, site_id)
) STRICT;
CREATE TABLE job_interference (    -- launches of a kernel that computes beside collectives, in all timeline steps of a rank
  rank          INTEGER NOT NULL REFERENCES job_rank(rank),
  kernel_id     INTEGER NOT NULL REFERENCES job_kernel(id),
  function      TEXT,              -- of the collective that a launch is longest beside, as in collective; NULL: not known
  launches      INTEGER NOT NULL,  -- beside such a collective
  compared      INTEGER NOT NULL,  -- of these, with controls
  controls      INTEGER NOT NULL,  -- launches of the same kinds beside no collective
  beside_ns     INTEGER NOT NULL,  -- the launches ran so long beside collectives, together
  controlled_ns INTEGER NOT NULL,  -- of that, those with controls
  cost_ns       REAL NOT NULL,     -- so much longer these took than their controls
  UNIQUE (rank, kernel_id, function)
) STRICT;
CREATE TABLE collective_copy (     -- what is known of a copy between devices that is a collective, or a part of one; nothing: it has no row
  memcpy_id       INTEGER PRIMARY KEY REFERENCES memcpy(id),
  first_memcpy_id INTEGER NOT NULL REFERENCES memcpy(id),  -- of the same call: equal in all its copies
  communicator_id INTEGER REFERENCES communicator(id),  -- NULL: not known
  function        TEXT NOT NULL CHECK (function IN ('all_gather','all_to_all')),
  bytes           INTEGER,         -- of the whole array of the call, of all ranks together; NULL: not known
  source          TEXT NOT NULL CHECK (source IN ('nvtx','plugin','program'))  -- who said so
, ordinal INTEGER) STRICT;
)sql";

}  // namespace ridgeline::store
