#include "ceilings.h"

#include "ridgeline/store/schema.h"

namespace ridgeline::store {

std::vector<Ceiling> read_ceilings(const Database& database) {
  std::vector<Ceiling> rows;
  if (database.scalar_int64("PRAGMA user_version") < kCeilingsAreMeasured) return rows;
  Statement row = database.prepare(
      "SELECT device_id, level, kind, state, read_share, value, unit, spread_ratio, sm_clock_hz, power_w,"
      " joules_each, conditions FROM ceiling ORDER BY device_id, level, kind, state");
  while (row.step()) {
    rows.push_back({row.int64(0), row.word<CeilingLevel>(1, "ceiling.level"), row.text(2),
                    row.word<CeilingState>(3, "ceiling.state"), row.optional_real(4), row.real(5),
                    row.text(6), row.optional_real(7), row.optional_real(8), row.optional_real(9),
                    row.optional_real(10), row.text(11)});
  }
  return rows;
}

}  // namespace ridgeline::store
