// convert_v8.h: the migration to version 8, in which launches are kept as offsets from what their chunk expects.
#pragma once

#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// Whether launch_row is as versions 3 to 7 had it: with step_id, ordinal_in_step and host_lead_ns.
[[nodiscard]] bool has_launches_of_v3(const Database& database);

/// Rewrites launch_row and launch_chunk of versions 3 and 4; what version 3 is made of today has them already, and
/// versions 5 to 7 are read as they are.
void convert_to_v8(Database& database);

}  // namespace ridgeline::store
