// What the driver's launch calls carry.
#pragma once

#include <span>

#include "cupti/cupti_api.h"
#include "steps/sequence.h"

namespace ridgeline::agent {

/// Every driver call that launches kernels.
std::span<const CUpti_CallbackId> launch_callbacks() noexcept;
bool is_launch(CUpti_CallbackId id) noexcept;

inline bool is_graph_launch(CUpti_CallbackId id) {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

/// The stream of a launch, the default streams by their special handles.
CUstream stream_of(CUpti_CallbackId id, const void* params);

/// The driver's handle of the function that is launched; null for calls that launch none or several.
const void* function_of(CUpti_CallbackId id, const void* params) noexcept;

/// Leaves the entry's grid as it is for calls that do not carry one.
inline void grid_of(CUpti_CallbackId id, const void* params, SequenceEntry* entry) {
  if (params == nullptr) return;
  auto set = [&](unsigned x, unsigned y, unsigned z) {
    entry->grid_x = x;
    entry->grid_y = y;
    entry->grid_z = z;
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernel_params*>(params);
      return set(p.gridDimX, p.gridDimY, p.gridDimZ);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(params);
      if (p.config != nullptr) set(p.config->gridDimX, p.config->gridDimY, p.config->gridDimZ);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchCooperativeKernel_params*>(params);
      return set(p.gridDimX, p.gridDimY, p.gridDimZ);
    }
    default:
      return;
  }
}

}  // namespace ridgeline::agent
