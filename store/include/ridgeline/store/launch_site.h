// launch_site.h: what launches from one place of the program have in common.
#pragma once

#include <array>
#include <cstdint>

#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// Equal for launches that differ in their times, their step and their place in it only.
using LaunchSiteKey = std::array<std::int64_t, 21>;
[[nodiscard]] LaunchSiteKey launch_site_key(const Launch& launch);

}  // namespace ridgeline::store
