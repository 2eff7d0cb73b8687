// gap_view_sql.h: the columns of v_gap. It is a table of the query's own, for a view cannot hold what the analyzer
// concludes.
#pragma once

namespace ridgeline::queries {

inline constexpr const char kGapView[] = R"sql(
CREATE TEMP TABLE v_gap (          -- one row a stretch of a timeline step in which a device did nothing
  process_id         INTEGER NOT NULL,
  device_id          INTEGER NOT NULL,
  step_index         INTEGER,          -- of the step in whose time it begins; NULL: the recording has no steps
  start_ns           INTEGER NOT NULL,
  end_ns             INTEGER NOT NULL,
  duration_ns        INTEGER NOT NULL,
  cause              TEXT NOT NULL,    -- launch_bound, host_bound, synchronisation, queued, unknown, tail
  synchronisation_ns INTEGER NOT NULL, -- of it the thread that ended it spent in calls that wait for the device
  wait               TEXT,             -- the call that took most of that; NULL: there was none
  thread_id          INTEGER,          -- that made the call which ended it; NULL: not known
  thread             TEXT,             -- its name; NULL: it has none
  launch_before_id   INTEGER,          -- the launch that it follows; NULL: a copy, a memset or nothing
  kernel_before      TEXT,
  launch_after_id    INTEGER,          -- the launch that ended it, likewise
  kernel_after       TEXT,
  nvtx_path          TEXT              -- of the ranges in which that was launched
);
)sql";

}  // namespace ridgeline::queries
