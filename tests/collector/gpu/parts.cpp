// A library that CUDA loads into a program (CUDA_INJECTION64_PATH) and that uses as much of CUPTI as PARTS names, a
// word or several with '+': `subscriber`, `callback` (of launches, empty), `kernels` (their records, thrown away). What
// the agent adds to these is its own (tests/gpu/launch_cost.py).
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

bool use(void* cupti, const char* parts) {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  if (!find(cupti, "cuptiSubscribe", &subscribe) || !find(cupti, "cuptiEnableCallback", &enable_callback) ||
      !find(cupti, "cuptiActivityRegisterCallbacks", &register_callbacks) ||
      !find(cupti, "cuptiActivityEnable", &activity_enable))
    return false;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (subscribe(&subscriber, ignore_callback, nullptr) != CUPTI_SUCCESS) return false;
  if (std::strstr(parts, "callback") != nullptr)
    for (const CUpti_CallbackId id :
         {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
      if (enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id) != CUPTI_SUCCESS) return false;
  if (std::strstr(parts, "kernels") == nullptr) return true;
  return register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
         activity_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  const char* parts = std::getenv("PARTS");
  const char* path = std::getenv("PARTS_CUPTI");
  void* cupti = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (parts == nullptr || cupti == nullptr || !use(cupti, parts)) {
    std::fprintf(stderr, "agent_parts: CUPTI cannot be used: %s\n",
                 cupti == nullptr ? dlerror() : "it refuses");
    std::_Exit(3);  // a figure without what was asked for would be wrong
  }
  return 1;
}
