#include "cupti/load_calls.h"

#include <array>

namespace ridgeline::agent {
namespace {

constexpr CUpti_CallbackId kLoadCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
    CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuFuncSetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuFuncSetCacheConfig,
    CUPTI_DRIVER_TRACE_CBID_cuFuncGetModule,
    CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessor,
    CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxPotentialBlockSize,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphUpload,
    CUPTI_DRIVER_TRACE_CBID_cuGraphUpload_ptsz,
#if CUDA_VERSION >= 12000
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuKernelSetAttribute,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
#endif
#if CUDA_VERSION >= 12040
    CUPTI_DRIVER_TRACE_CBID_cuFuncLoad,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams,
#endif
};

// By callback id: asked at every callback, so a look-up and no search.
constexpr auto kIsLoad = [] {
  std::array<bool, CUPTI_DRIVER_TRACE_CBID_SIZE> is{};
  for (const CUpti_CallbackId id : kLoadCalls) is[id] = true;
  return is;
}();

}  // namespace

std::span<const CUpti_CallbackId> load_callbacks() noexcept {
  return kLoadCalls;
}

bool is_load(CUpti_CallbackId id) noexcept {
  return id < kIsLoad.size() && kIsLoad[id];
}

}  // namespace ridgeline::agent
