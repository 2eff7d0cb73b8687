#include "cupti/launch_params.h"

namespace ridgeline::agent {

LaunchArguments rare_arguments_of(CUpti_CallbackId id, const void* params) noexcept {
  if (params == nullptr) return {};
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
      return {static_cast<const cuLaunch_params*>(params)->f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
      return {static_cast<const cuLaunchGrid_params*>(params)->f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync: {
      const auto& p = *static_cast<const cuLaunchGridAsync_params*>(params);
      return {p.f, named_stream(p.hStream, false)};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(params);
      const bool per_thread = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz;
      if (p.config == nullptr) return {p.f, named_stream(nullptr, per_thread)};
      return {p.f, named_stream(p.config->hStream, per_thread), p.config->gridDimX, p.config->gridDimY,
              p.config->gridDimZ};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchCooperativeKernel_params*>(params);
      return {p.f, named_stream(p.hStream, id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz),
              p.gridDimX, p.gridDimY, p.gridDimZ};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      return {nullptr, named_stream(static_cast<const cuGraphLaunch_params*>(params)->hStream,
                                    id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz)};
    default:
      return {};
  }
}

}  // namespace ridgeline::agent
