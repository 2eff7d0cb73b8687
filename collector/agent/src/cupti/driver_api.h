// The few functions of the CUDA driver that the agent calls, as pointers: the driver is in the process
// already, and tests put their own in its place.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace ridgeline::agent {

/// CUgraphEdgeData, which headers before CUDA 12.3 lack.
struct GraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
#if CUDA_VERSION >= 12030
static_assert(sizeof(GraphEdgeData) == sizeof(CUgraphEdgeData));
#endif

struct DriverApi {
  decltype(&::cuCtxSynchronize) ctx_synchronize = nullptr;
  decltype(&::cuCtxPushCurrent) ctx_push_current = nullptr;
  decltype(&::cuCtxPopCurrent) ctx_pop_current = nullptr;
  decltype(&::cuStreamIsCapturing) stream_is_capturing = nullptr;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventRecord) event_record = nullptr;
  decltype(&::cuEventQuery) event_query = nullptr;
  decltype(&::cuMemAlloc) mem_alloc = nullptr;
  decltype(&::cuMemFree) mem_free = nullptr;
  decltype(&::cuMemcpyDtoDAsync) memcpy_dtod_async = nullptr;
  /// Of the delays that `record --intervene` asks for (tiers/delay_kernel.h).
  decltype(&::cuModuleLoadData) module_load_data = nullptr;
  decltype(&::cuModuleGetFunction) module_get_function = nullptr;
  decltype(&::cuLaunchKernel) launch_kernel = nullptr;
  decltype(&::cuCtxGetDevice) ctx_get_device = nullptr;
  decltype(&::cuDeviceGetAttribute) device_get_attribute = nullptr;
  /// Of graphs: null where the driver is older than 12.3, whose edges say no kind.
  decltype(&::cuGraphGetNodes) graph_get_nodes = nullptr;
  CUresult(CUDAAPI* graph_get_edges)(CUgraph, CUgraphNode*, CUgraphNode*, GraphEdgeData*,
                                     std::size_t*) = nullptr;
  decltype(&::cuGraphNodeGetType) graph_node_get_type = nullptr;
  decltype(&::cuGraphChildGraphNodeGetGraph) child_graph_of = nullptr;

  /// A launch into the stream becomes part of a graph, or may: the driver does not say. False where it cannot be asked.
  bool captures(CUstream stream) const noexcept {
    if (stream_is_capturing == nullptr) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return stream_is_capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
  }
  bool complete() const noexcept {
    return stream_is_capturing != nullptr && exchange_capture_mode != nullptr && event_create != nullptr &&
           event_record != nullptr && event_query != nullptr && mem_alloc != nullptr && mem_free != nullptr &&
           memcpy_dtod_async != nullptr && ctx_get_device != nullptr && device_get_attribute != nullptr;
  }
};

/// The driver of this process; members stay null where there is none.
DriverApi load_driver() noexcept;

/// Lets the calling thread make calls that another thread's stream capture would forbid, while it lives.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& driver) noexcept : driver_(driver) {
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&mode_);
  }
  ~RelaxedCapture() {
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace ridgeline::agent
