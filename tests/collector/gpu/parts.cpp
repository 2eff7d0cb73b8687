// A library that CUDA loads into a program (CUDA_INJECTION64_PATH) and that uses as much of CUPTI as PARTS names, a
// word or several with '+': `subscriber`, `callback` (of launches, empty), `kernels` (their records, thrown away). What
// the agent adds to these is its own (tests/gpu/launch_cost.py). The program may change the parts as it runs by calling
// use_parts(): so they are compared within one process, whose speed drifts less than that of two.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr std::size_t kBufferBytes = 512 * 1024;

void CUPTIAPI ignore_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;
}
void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

struct Cupti {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  decltype(&cuptiActivityDisable) activity_disable = nullptr;
  decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
  CUpti_SubscriberHandle subscriber = nullptr;
  bool buffers = false, callback = false, kernels = false;  // what is on
};
Cupti g_cupti;

bool start(void* library) {
  Cupti& c = g_cupti;
  return find(library, "cuptiSubscribe", &c.subscribe) &&
         find(library, "cuptiEnableCallback", &c.enable_callback) &&
         find(library, "cuptiActivityRegisterCallbacks", &c.register_callbacks) &&
         find(library, "cuptiActivityEnable", &c.activity_enable) &&
         find(library, "cuptiActivityDisable", &c.activity_disable) &&
         find(library, "cuptiActivityFlushAll", &c.activity_flush_all) &&
         c.subscribe(&c.subscriber, ignore_callback, nullptr) == CUPTI_SUCCESS;
}

bool use(const char* parts) {
  Cupti& c = g_cupti;
  const bool callback = std::strstr(parts, "callback") != nullptr;
  const bool kernels = std::strstr(parts, "kernels") != nullptr;
  if (callback != c.callback) {
    for (const CUpti_CallbackId id :
         {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
      if (c.enable_callback(callback ? 1 : 0, c.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id) != CUPTI_SUCCESS)
        return false;
    c.callback = callback;
  }
  if (kernels == c.kernels) return true;
  if (!c.buffers && c.register_callbacks(give_buffer, take_buffer) != CUPTI_SUCCESS) return false;
  c.buffers = true;
  const CUptiResult switched = kernels ? c.activity_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                                       : c.activity_disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (!kernels) c.activity_flush_all(0);
  c.kernels = kernels;
  return switched == CUPTI_SUCCESS;
}

}  // namespace

/// Between two synchronisations of the program, on any thread. 0 if CUPTI refuses.
extern "C" __attribute__((visibility("default"))) int use_parts(const char* parts) {
  return g_cupti.subscriber != nullptr && use(parts) ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  const char* parts = std::getenv("PARTS");
  const char* path = std::getenv("PARTS_CUPTI");
  void* cupti = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (parts == nullptr || cupti == nullptr || !start(cupti) || !use(parts)) {
    std::fprintf(stderr, "agent_parts: CUPTI cannot be used: %s\n",
                 cupti == nullptr ? dlerror() : "it refuses");
    std::_Exit(3);  // a figure without what was asked for would be wrong
  }
  return 1;
}
