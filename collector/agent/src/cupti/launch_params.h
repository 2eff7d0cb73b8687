// What the driver's launch calls carry.
#pragma once

#include "cupti/cupti_api.h"
#include "cupti/launch_arguments.h"

namespace ridgeline::agent {

/// Every driver call that launches kernels.
inline constexpr CUpti_CallbackId kLaunchCallbacks[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

inline bool is_graph_launch(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

/// arguments_of() of every call but cuLaunchKernel(), by which most launches go: their way has no code for the others.
LaunchArguments rare_arguments_of(CUpti_CallbackId id, const void* params) noexcept;

inline CUstream named_stream(CUstream stream, bool per_thread) noexcept {
  if (stream != nullptr) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/// What a call that launches carries. `params` null: nothing is known of it.
inline LaunchArguments arguments_of(CUpti_CallbackId id, const void* params) noexcept {
  if (params != nullptr &&
      (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel || id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz)) {
    const auto& p = *static_cast<const cuLaunchKernel_params*>(params);
    return {p.f, named_stream(p.hStream, id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz), p.gridDimX,
            p.gridDimY, p.gridDimZ};
  }
  return rare_arguments_of(id, params);
}

}  // namespace ridgeline::agent
