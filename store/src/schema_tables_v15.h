// schema_tables_v15.h: DDL of version 15: what went over the links of a job's ranks.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV15[] = R"sql(
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
)sql";

}  // namespace ridgeline::store
