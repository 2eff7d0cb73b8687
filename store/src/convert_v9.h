// convert_v9.h: the migration to version 9, in which reasons are codes with values.
#pragma once

#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// The sentences of older captures become reasons of the code none_given.
void convert_to_v9(Database& database);

}  // namespace ridgeline::store
