// schema_tables.h: DDL of the schema, version by version. Every column says its meaning and unit.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV1[] = R"sql(
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
) STRICT;

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

CREATE TABLE kernel (
  id              INTEGER PRIMARY KEY,
  mangled_name    TEXT NOT NULL UNIQUE,
  demangled_name  TEXT NOT NULL,
  normalised_name TEXT NOT NULL,   -- template arguments, literals and tile tokens taken out: a family
  class           TEXT NOT NULL,   -- gemm, attention, normalisation, elementwise, reduction, copy, communication, optimiser, embedding, classifier, other
  code_hash       TEXT             -- of the machine code; NULL if not captured
) STRICT;

CREATE TABLE counter_configuration ( -- a set of counters collected in one pass
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,        -- R1, R2, ...
  pass_count INTEGER NOT NULL
) STRICT;

CREATE TABLE step (
  id               INTEGER PRIMARY KEY,
  process_id       INTEGER NOT NULL REFERENCES process(id),
  step_index       INTEGER NOT NULL,  -- 0-based, in order of time
  phase            TEXT NOT NULL CHECK (phase IN ('warmup','timeline','sample','replay','after')),
  host_start_ns    INTEGER,        -- the range's begin on the host
  host_end_ns      INTEGER,        -- NULL: the step was interrupted
  gpu_start_ns     INTEGER,        -- begin of its first kernel; of its first copy if it has none
  gpu_end_ns       INTEGER,        -- last GPU activity launched in the step
  configuration_id INTEGER REFERENCES counter_configuration(id),  -- replay steps: what was collected
  status           TEXT NOT NULL CHECK (status IN ('ok','mismatch','failed','interrupted')),
  reason           TEXT,           -- why not ok
  UNIQUE (process_id, step_index)
) STRICT;

CREATE TABLE nvtx_range (          -- push/pop and start/end ranges
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  thread_id  INTEGER NOT NULL,
  parent_id  INTEGER REFERENCES nvtx_range(id),
  depth      INTEGER NOT NULL,     -- 0: outermost
  name_id    INTEGER NOT NULL REFERENCES string(id),
  path_id    INTEGER NOT NULL REFERENCES string(id),  -- names from the outermost, joined by " / "
  domain_id  INTEGER REFERENCES string(id),           -- NULL: the default domain
  step_id    INTEGER REFERENCES step(id),
  start_ns   INTEGER NOT NULL,
  end_ns     INTEGER               -- NULL: never closed
) STRICT;

CREATE TABLE launch (              -- one kernel execution
  id                   INTEGER PRIMARY KEY,
  process_id           INTEGER NOT NULL REFERENCES process(id),
  device_id            INTEGER NOT NULL REFERENCES device(id),
  context_id           INTEGER NOT NULL,
  stream_id            INTEGER NOT NULL,
  correlation_id       INTEGER NOT NULL,
  graph_id             INTEGER,    -- NULL: not part of a CUDA graph
  graph_node_id        INTEGER,
  kernel_id            INTEGER NOT NULL REFERENCES kernel(id),
  start_ns             INTEGER NOT NULL,  -- on the GPU; 0: the driver gave no timestamp
  end_ns               INTEGER NOT NULL,
  host_start_ns        INTEGER,    -- the launching call
  host_end_ns          INTEGER,
  thread_id            INTEGER,    -- the launching thread
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  cluster_x INTEGER, cluster_y INTEGER, cluster_z INTEGER,
  registers_per_thread INTEGER NOT NULL,
  static_smem_bytes    INTEGER NOT NULL,  -- a block
  dynamic_smem_bytes   INTEGER NOT NULL,  -- a block
  step_id              INTEGER REFERENCES step(id),  -- NULL: outside any step
  ordinal_in_step      INTEGER,    -- 0-based, in order of launch; the key that joins steps
  nvtx_path_id         INTEGER REFERENCES string(id) -- open ranges at launch, joined by " / "
) STRICT;
CREATE INDEX launch_by_step ON launch(step_id, ordinal_in_step);

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
) STRICT;

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
) STRICT;

CREATE TABLE metric (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,    -- the vendor's, verbatim
  label   TEXT NOT NULL,           -- what a person reads
  unit    TEXT NOT NULL,           -- bytes, ns, ratio, percent, ...; as the counter reports it
  meaning TEXT NOT NULL
) STRICT;

CREATE TABLE launch_metric (       -- a measured value of one launch
  launch_id    INTEGER NOT NULL REFERENCES launch(id),
  metric_id    INTEGER NOT NULL REFERENCES metric(id),
  tier         TEXT NOT NULL CHECK (tier IN ('T0','T1','T2','T3')),
  value        REAL NOT NULL,      -- in metric.unit
  error        REAL,               -- standard error, same unit; NULL: exact count or unknown
  sample_count INTEGER,            -- T1: samples used
  PRIMARY KEY (launch_id, metric_id, tier)
) STRICT, WITHOUT ROWID;

CREATE TABLE pm_sample (           -- T1: periodic samples of a whole device
  device_id INTEGER NOT NULL REFERENCES device(id),
  time_ns   INTEGER NOT NULL,      -- end of the sample
  metric_id INTEGER NOT NULL REFERENCES metric(id),
  value     REAL NOT NULL,
  PRIMARY KEY (device_id, metric_id, time_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE ceiling (             -- roofs measured by micro-benchmarks
  device_id  INTEGER NOT NULL REFERENCES device(id),
  level      TEXT NOT NULL,        -- dram, l2, l1, compute
  precision  TEXT NOT NULL,        -- bf16, fp32, ...; "" for memory levels
  spec       REAL,                 -- bytes or operations a second
  measured   REAL,
  conditions TEXT,                 -- sizes, duration, clock and power during the measurement
  PRIMARY KEY (device_id, level, precision)
) STRICT;

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
) STRICT;

CREATE TABLE tier_status (         -- which tier ran, and if not, why
  process_id INTEGER NOT NULL REFERENCES process(id),
  tier       TEXT NOT NULL CHECK (tier IN ('T0','T1','T2','T3')),
  status     TEXT NOT NULL CHECK (status IN ('ok','partial','refused','failed','not_requested')),
  reason     TEXT,                 -- one line, with what to do
  PRIMARY KEY (process_id, tier)
) STRICT;

CREATE TABLE message (             -- what the collector had to say
  id         INTEGER PRIMARY KEY,
  process_id INTEGER REFERENCES process(id),
  time_ns    INTEGER,
  severity   TEXT NOT NULL CHECK (severity IN ('info','warning','error')),
  text       TEXT NOT NULL
) STRICT;

CREATE TABLE annotation (          -- work that the program declares for a range
  id            INTEGER PRIMARY KEY,
  nvtx_range_id INTEGER NOT NULL REFERENCES nvtx_range(id),
  name          TEXT NOT NULL,
  bytes         REAL,              -- algorithmic minimum, read + written
  flops         REAL
) STRICT;
)sql";

/// Version 2: in-situ samples, further phases and tiers, recording windows. `step` is made anew because the
/// list of phases is a constraint of it.
inline constexpr const char kTablesV2[] = R"sql(
CREATE TABLE step_v2 (
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
  reason           TEXT,           -- why not ok
  source           TEXT NOT NULL DEFAULT 'nvtx' CHECK (source IN ('nvtx','period','window')),  -- what marks the step: a range of the program, the period of its launches, or the recording window as a whole
  UNIQUE (process_id, step_index)
) STRICT;
INSERT INTO step_v2 SELECT id, process_id, step_index, phase, host_start_ns, host_end_ns, gpu_start_ns, gpu_end_ns,
  configuration_id, status, reason, 'nvtx' FROM step;
DROP TABLE step;
ALTER TABLE step_v2 RENAME TO step;

ALTER TABLE launch_metric ADD COLUMN concurrent INTEGER NOT NULL DEFAULT 0;  -- T1; 1: other kernels ran on the device for a good part of the launch, and the value is of all of them

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
  reason            TEXT
) STRICT;

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
) STRICT;

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
  reason           TEXT
) STRICT;

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
)sql";

}  // namespace ridgeline::store
