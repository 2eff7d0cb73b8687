#include "convert_v8.h"

namespace ridgeline::store {

namespace {

// Nothing is expected of these launches: their offsets are what they are, in a private copy that needs no
// small numbers.
constexpr const char* kConvertLaunches = R"sql(
ALTER TABLE launch_chunk ADD COLUMN stride_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launch_chunk ADD COLUMN correlation_stride INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launch_chunk ADD COLUMN base_host_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launch_chunk ADD COLUMN host_stride_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launch_chunk ADD COLUMN base_step_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE launch_chunk ADD COLUMN base_ordinal INTEGER NOT NULL DEFAULT 0;
CREATE TABLE launch_row_v8 (
  id                 INTEGER PRIMARY KEY,
  site_id            INTEGER NOT NULL REFERENCES launch_site(id),
  step_offset        INTEGER,
  ordinal_offset     INTEGER,
  start_offset_ns    INTEGER,
  duration_ns        INTEGER NOT NULL,
  host_offset_ns     INTEGER,
  host_duration_ns   INTEGER,
  correlation_offset INTEGER NOT NULL
) STRICT;
INSERT INTO launch_row_v8
SELECT r.id, r.site_id, r.step_id, r.ordinal_in_step - (r.id & 1023), r.start_offset_ns, r.duration_ns,
       c.base_ns + coalesce(r.start_offset_ns, 0) - r.host_lead_ns, r.host_duration_ns, r.correlation_offset
FROM launch_row r JOIN launch_chunk c ON c.id = r.id >> 10 ORDER BY r.id;
DROP TABLE launch_row;
ALTER TABLE launch_row_v8 RENAME TO launch_row;
)sql";

}  // namespace

bool has_launches_of_v3(const Database& database) {
  return database.scalar_int64(
             "SELECT count(*) FROM pragma_table_info('launch_row') WHERE name = 'host_lead_ns'") > 0;
}

void convert_to_v8(Database& database) {
  if (has_launches_of_v3(database)) database.execute(kConvertLaunches);
}

}  // namespace ridgeline::store
