// schedule.h: schedules as the command line says them.
#pragma once

#include <string_view>

#include "ridgeline/base/error.h"
#include "ridgeline/base/schedule.h"

namespace ridgeline::launch {

/// Failure: usage, naming the phase that is wrong and what can be written.
[[nodiscard]] Result<Schedule> read_schedule(std::string_view text);

}  // namespace ridgeline::launch
