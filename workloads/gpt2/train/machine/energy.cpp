#include "gpt2/train/machine/energy.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace ridgeline::gpt2 {
namespace {

constexpr int kBusIdLength = 32;

// NVML comes with the driver and not with the toolkit, so that a build does not need it.
template <typename Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

EnergyCounter::EnergyCounter() {
  int (*init)() = nullptr;
  int (*handle_by_bus_id)(const char*, void**) = nullptr;
  char bus_id[kBusIdLength] = "";
  int device = 0;
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  if (!find(library_, "nvmlInit_v2", &init) ||
      !find(library_, "nvmlDeviceGetHandleByPciBusId_v2", &handle_by_bus_id) ||
      !find(library_, "nvmlShutdown", &shutdown_) || init() != 0) {
    shutdown_ = nullptr;
    return;
  }
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus_id, kBusIdLength, device) != cudaSuccess ||
      handle_by_bus_id(bus_id, &device_) != 0)
    return;
  find(library_, "nvmlDeviceGetTotalEnergyConsumption", &energy_);
}

EnergyCounter::~EnergyCounter() {
  if (shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

std::optional<double> EnergyCounter::read_joules() const {
  unsigned long long millijoules = 0;
  if (energy_ == nullptr || energy_(device_, &millijoules) != 0) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

}  // namespace ridgeline::gpt2
