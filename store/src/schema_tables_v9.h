// schema_tables_v9.h: DDL of version 9, in which reasons are codes with values, the conversion moving the sentences of
// older captures there, and a kernel need not have a mangled name.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV9[] = R"sql(
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

CREATE TABLE kernel_v9 (           -- one machine code of one function
  id              INTEGER PRIMARY KEY,
  mangled_name    TEXT,            -- NULL: of a source that has the demangled one alone
  demangled_name  TEXT NOT NULL,
  normalised_name TEXT NOT NULL,   -- template arguments, literals and tile tokens taken out: a family
  class           TEXT NOT NULL,   -- gemm, attention, normalisation, elementwise, reduction, copy, communication, optimiser, embedding, classifier, other
  code_hash       TEXT,            -- of the machine code; NULL if not captured
  UNIQUE (mangled_name, code_hash)
) STRICT;
INSERT INTO kernel_v9 SELECT id, mangled_name, demangled_name, normalised_name, class, code_hash FROM kernel;
DROP TABLE kernel;
ALTER TABLE kernel_v9 RENAME TO kernel;

ALTER TABLE step ADD COLUMN reason_id INTEGER REFERENCES reason(id);          -- why not ok
ALTER TABLE tier_status ADD COLUMN reason_id INTEGER REFERENCES reason(id);   -- why it is what it is
ALTER TABLE message ADD COLUMN reason_id INTEGER REFERENCES reason(id);       -- what is said
ALTER TABLE pm_window ADD COLUMN reason_id INTEGER REFERENCES reason(id);     -- why not ok
ALTER TABLE stall_window ADD COLUMN reason_id INTEGER REFERENCES reason(id);  -- why not ok
)sql";

}  // namespace ridgeline::store
