#include "cupti/launch_params.h"

#include <array>

namespace ridgeline::agent {
namespace {

constexpr CUpti_CallbackId kLaunchCallbacks[] = {
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

// By callback id: asked first at every callback, so a look-up and no search.
constexpr auto kIsLaunch = [] {
  std::array<bool, CUPTI_DRIVER_TRACE_CBID_SIZE> launches{};
  for (const CUpti_CallbackId id : kLaunchCallbacks) launches[id] = true;
  return launches;
}();

}  // namespace

std::span<const CUpti_CallbackId> launch_callbacks() noexcept {
  return kLaunchCallbacks;
}

bool is_launch(CUpti_CallbackId id) noexcept {
  return id < kIsLaunch.size() && kIsLaunch[id];
}

const void* function_of(CUpti_CallbackId id, const void* params) noexcept {
  if (params == nullptr) return nullptr;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
      return static_cast<const cuLaunch_params*>(params)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
      return static_cast<const cuLaunchGrid_params*>(params)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
      return static_cast<const cuLaunchGridAsync_params*>(params)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return static_cast<const cuLaunchKernel_params*>(params)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return static_cast<const cuLaunchKernelEx_params*>(params)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return static_cast<const cuLaunchCooperativeKernel_params*>(params)->f;
    default:
      return nullptr;
  }
}

CUstream stream_of(CUpti_CallbackId id, const void* params) {
  CUstream stream = nullptr;
  bool per_thread = false;
  if (params != nullptr) switch (id) {
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        stream = static_cast<const cuLaunchKernel_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const auto& p = *static_cast<const cuLaunchKernelEx_params*>(params);
        if (p.config != nullptr) stream = p.config->hStream;
        break;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        stream = static_cast<const cuLaunchCooperativeKernel_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
        per_thread = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        stream = static_cast<const cuGraphLaunch_params*>(params)->hStream;
        break;
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
        stream = static_cast<const cuLaunchGridAsync_params*>(params)->hStream;
        break;
      default:
        break;
    }
  if (stream != nullptr) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

}  // namespace ridgeline::agent
