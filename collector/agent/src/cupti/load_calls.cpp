#include "cupti/load_calls.h"

#include <functional>
#include <string_view>

#include "ridgeline/counting/kind.h"

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

std::uint64_t load_key(CUpti_CallbackId id, const void* params) noexcept {
  if (params == nullptr) return 0;
  const auto of = [](const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); };
  const auto named = [&](const void* owner, const char* name) {
    return name == nullptr ? 0 : counting::mixed(of(owner), std::hash<std::string_view>{}(name));
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction: {
      const auto& p = *static_cast<const cuModuleGetFunction_params*>(params);
      return named(p.hmod, p.name);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute:
      return of(static_cast<const cuFuncGetAttribute_params*>(params)->hfunc);
    case CUPTI_DRIVER_TRACE_CBID_cuFuncSetAttribute:
      return of(static_cast<const cuFuncSetAttribute_params*>(params)->hfunc);
    case CUPTI_DRIVER_TRACE_CBID_cuFuncSetCacheConfig:
      return of(static_cast<const cuFuncSetCacheConfig_params*>(params)->hfunc);
    case CUPTI_DRIVER_TRACE_CBID_cuFuncGetModule:
      return of(static_cast<const cuFuncGetModule_params*>(params)->hfunc);
    case CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessor:
      return of(static_cast<const cuOccupancyMaxActiveBlocksPerMultiprocessor_params*>(params)->func);
    case CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
      return of(
          static_cast<const cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_params*>(params)->func);
    case CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxPotentialBlockSize:
      return of(static_cast<const cuOccupancyMaxPotentialBlockSize_params*>(params)->func);
#if CUDA_VERSION >= 12000
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel: {
      const auto& p = *static_cast<const cuLibraryGetKernel_params*>(params);
      return named(p.library, p.name);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction:
      return of(static_cast<const cuKernelGetFunction_params*>(params)->kernel);
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute:
      return of(static_cast<const cuKernelGetAttribute_params*>(params)->kernel);
    case CUPTI_DRIVER_TRACE_CBID_cuKernelSetAttribute:
      return of(static_cast<const cuKernelSetAttribute_params*>(params)->kernel);
#endif
#if CUDA_VERSION >= 12040
    case CUPTI_DRIVER_TRACE_CBID_cuFuncLoad:
      return of(static_cast<const cuFuncLoad_params*>(params)->function);
#endif
    default:
      return 0;
  }
}

bool SeenLoads::is_new(std::uint64_t key, std::uint32_t modules) noexcept {
  const std::uint64_t mark = counting::mixed(key, modules);
  std::atomic<std::uint64_t>& place = seen_[mark % seen_.size()];
  if (place.load(std::memory_order_relaxed) == mark) return false;
  place.store(mark, std::memory_order_relaxed);
  return true;
}

bool is_load(CUpti_CallbackId id) noexcept {
  return id < kIsLoad.size() && kIsLoad[id];
}

}  // namespace ridgeline::agent
