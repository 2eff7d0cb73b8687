-- A history as version 1 made it: examples of old files are made with this.
PRAGMA application_id = 1380403284;
PRAGMA user_version = 1;
CREATE TABLE run (                 -- a recording
  id       INTEGER PRIMARY KEY,
  start_ns INTEGER NOT NULL,       -- Unix epoch
  host     TEXT NOT NULL,
  gpu      TEXT NOT NULL,          -- model
  gpu_uuid TEXT NOT NULL,
  driver   TEXT NOT NULL,
  cuda     TEXT NOT NULL,
  policy   TEXT NOT NULL,          -- of the clocks, as the user calls it
  command  TEXT NOT NULL,
  git_commit TEXT NOT NULL,        -- "" unknown
  dirty    INTEGER NOT NULL,
  UNIQUE (host, start_ns, command, gpu_uuid)
) STRICT;
CREATE TABLE series (              -- what values are of
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE        -- step, or place: kernel
) STRICT;
CREATE TABLE value (
  run_id    INTEGER NOT NULL REFERENCES run(id),
  series_id INTEGER NOT NULL REFERENCES series(id),
  ns        REAL NOT NULL,         -- of one step, median over the run
  PRIMARY KEY (run_id, series_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE accepted (            -- changes that are meant
  git_commit TEXT NOT NULL,
  series     TEXT NOT NULL,        -- "" all
  reason     TEXT NOT NULL,
  PRIMARY KEY (git_commit, series)
) STRICT, WITHOUT ROWID;
