// What a launch is asked for, of whichever of the driver's calls.
#pragma once

#include <cstdint>

#include "cupti/cupti_api.h"

namespace ridgeline::agent {

struct LaunchArguments {
  const void* function = nullptr;      // the driver's handle; null for calls that launch none or several
  CUstream stream = CU_STREAM_LEGACY;  // the default streams by their special handles
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0;  // 0 for calls that carry no grid
};

}  // namespace ridgeline::agent
