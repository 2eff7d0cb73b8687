#include "cupti/driver_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace ridgeline::agent {

DriverApi load_driver() noexcept {
  DriverApi d;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return d;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
  };
  find("cuCtxSynchronize", &d.ctx_synchronize);
  find("cuCtxPushCurrent_v2", &d.ctx_push_current);
  find("cuCtxPopCurrent_v2", &d.ctx_pop_current);
  find("cuStreamIsCapturing", &d.stream_is_capturing);
  find("cuThreadExchangeStreamCaptureMode", &d.exchange_capture_mode);
  find("cuEventCreate", &d.event_create);
  find("cuEventRecord", &d.event_record);
  find("cuEventQuery", &d.event_query);
  find("cuMemAlloc_v2", &d.mem_alloc);
  find("cuMemFree_v2", &d.mem_free);
  find("cuMemcpyDtoDAsync_v2", &d.memcpy_dtod_async);
  find("cuModuleLoadData", &d.module_load_data);
  find("cuModuleGetFunction", &d.module_get_function);
  find("cuLaunchKernel", &d.launch_kernel);
  find("cuCtxGetDevice", &d.ctx_get_device);
  find("cuDeviceGetAttribute", &d.device_get_attribute);
  find("cuGraphGetNodes", &d.graph_get_nodes);
  find("cuGraphGetEdges_v2", &d.graph_get_edges);
  find("cuGraphNodeGetType", &d.graph_node_get_type);
  find("cuGraphChildGraphNodeGetGraph", &d.child_graph_of);
  return d;
}

}  // namespace ridgeline::agent
