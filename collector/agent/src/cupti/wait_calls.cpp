#include "cupti/wait_calls.h"

#include <array>
#include <cstdint>

namespace ridgeline::agent {
namespace {

struct WaitCall {
  CUpti_CallbackId id;
  SynchronisationCall call;
};

// Copies within the device do not make the host wait, nor do fills of device memory.
constexpr WaitCall kWaitCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, SynchronisationCall::device},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, SynchronisationCall::stream},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, SynchronisationCall::stream},
    {CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, SynchronisationCall::event},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2_ptds, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2_ptds, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2_ptds, SynchronisationCall::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, SynchronisationCall::copy_to_device},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds, SynchronisationCall::copy_to_device},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, SynchronisationCall::copy_to_host},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds, SynchronisationCall::copy_to_host},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, SynchronisationCall::async_copy_to_device},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz, SynchronisationCall::async_copy_to_device},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, SynchronisationCall::async_copy_to_host},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz, SynchronisationCall::async_copy_to_host},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, SynchronisationCall::free_device},
    {CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost, SynchronisationCall::free_host},
#if CUDA_VERSION >= 13000
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, SynchronisationCall::device},
#endif
};

constexpr auto kIds = [] {
  std::array<CUpti_CallbackId, std::size(kWaitCalls)> ids{};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = kWaitCalls[i].id;
  return ids;
}();

// By callback id, 0: none. Asked at every callback, so a look-up and no search.
constexpr auto kCallOfId = [] {
  std::array<std::uint8_t, CUPTI_DRIVER_TRACE_CBID_SIZE> calls{};
  for (const WaitCall& wait : kWaitCalls) calls[wait.id] = static_cast<std::uint8_t>(wait.call);
  return calls;
}();

}  // namespace

std::span<const CUpti_CallbackId> wait_callbacks() noexcept {
  return kIds;
}

std::optional<SynchronisationCall> wait_call(CUpti_CallbackId id) noexcept {
  if (id >= kCallOfId.size() || kCallOfId[id] == 0) return std::nullopt;
  return static_cast<SynchronisationCall>(kCallOfId[id]);
}

}  // namespace ridgeline::agent
