// convert_v3.h: the part of the migration to version 3 that SQL cannot do.
#pragma once

#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// Moves launches, ranges and annotations from the tables of version 2 (*_v2) into the compact ones, makes
/// the sums, and drops the old tables. Ids stay as they are.
void convert_to_v3(Database& database);

}  // namespace ridgeline::store
