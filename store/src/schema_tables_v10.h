// schema_tables_v10.h: DDL of version 10: what orders work on devices beside streams, memory over time, and hosts.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV10[] = R"sql(
CREATE TABLE node (                -- a host that took part
  id        INTEGER PRIMARY KEY,
  host_name TEXT NOT NULL UNIQUE
) STRICT;
ALTER TABLE process ADD COLUMN node_id INTEGER REFERENCES node(id);  -- where it ran; NULL: not known

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

ALTER TABLE memcpy ADD COLUMN graph_node_id INTEGER;  -- NULL: not part of a CUDA graph
ALTER TABLE memset ADD COLUMN graph_node_id INTEGER;  -- NULL: not part of a CUDA graph
ALTER TABLE recording_window ADD COLUMN stream_calls INTEGER NOT NULL DEFAULT 0;  -- 1: what orders streams is recorded in it
)sql";

}  // namespace ridgeline::store
