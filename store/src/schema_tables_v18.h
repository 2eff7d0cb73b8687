// schema_tables_v18.h: DDL of version 18: of a collective what its elements are and how it is done, with who said so.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV18[] = R"sql(
ALTER TABLE collective ADD COLUMN bytes_source TEXT;         -- who said bytes: as source, which says it of the function and the communicator; NULL: bytes is, or the capture is older
ALTER TABLE collective ADD COLUMN element_type TEXT;         -- as in job_site; NULL: not known
ALTER TABLE collective ADD COLUMN element_type_source TEXT;  -- as source, or 'kernel': its name
ALTER TABLE collective ADD COLUMN channels INTEGER;          -- on which the rank sends and receives; NULL: not known
ALTER TABLE collective ADD COLUMN channels_source TEXT;      -- as source, or 'kernel': its grid, a block for each channel
ALTER TABLE collective ADD COLUMN algorithm TEXT;            -- ring, tree, collnet_direct, collnet_chain, nvls, nvls_tree, pat; NULL: not known
ALTER TABLE collective ADD COLUMN protocol TEXT;             -- ll, ll128, simple; NULL: not known
ALTER TABLE collective ADD COLUMN algorithm_source TEXT;     -- who said algorithm and protocol: as source; NULL: both are
ALTER TABLE job_site ADD COLUMN algorithm TEXT;              -- as in collective; NULL: not known, or calls differ
ALTER TABLE job_site ADD COLUMN protocol TEXT;               -- likewise
)sql";

}  // namespace ridgeline::store
