// schema_tables_v16.h: DDL of version 16: what collectives cost the kernels that ran beside them.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV16[] = R"sql(
ALTER TABLE job_step ADD COLUMN beside_ns INTEGER;  -- so long kernels that compute ran beside collectives, each counted; NULL: not kept, as the next two
ALTER TABLE job_step ADD COLUMN beside_controlled_ns INTEGER;  -- of that, of launches with controls: launches of the same kind beside no collective
ALTER TABLE job_step ADD COLUMN beside_cost_ns REAL;  -- so much longer those launches took than their controls, with the step's part in how far the controls are off: its mean over the rank's steps is the cost, its spread the error; NULL: no launch has controls

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
)sql";

}  // namespace ridgeline::store
