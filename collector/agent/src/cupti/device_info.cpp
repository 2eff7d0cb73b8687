#include "cupti/device_info.h"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace ridgeline::agent {
namespace {

// NVML's numbers: stable since its first releases, declared here because its header ships with few toolkits.
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlClockMemory = 2;
constexpr int kNvmlTemperatureGpu = 0;

template <typename Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

// The driver is in the process already, or there is nothing to describe.
void* driver() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return library;
}

}  // namespace

bool Nvml::open(std::string* error) noexcept {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    *error = std::string("no clocks and power: NVML cannot be loaded (") +
             (why != nullptr ? why : "unknown reason") + "); it comes with the driver";
    return false;
  }
  find(library, "nvmlInit_v2", &init_);
  find(library, "nvmlSystemGetDriverVersion", &driver_version_);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", &handle_by_bus_id_);
  find(library, "nvmlDeviceGetClockInfo", &clock_);
  find(library, "nvmlDeviceGetMaxClockInfo", &max_clock_);
  find(library, "nvmlDeviceGetPowerUsage", &power_);
  find(library, "nvmlDeviceGetTemperature", &temperature_);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", &reasons_);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &processes_);
  if (processes_ == nullptr) find(library, "nvmlDeviceGetComputeRunningProcesses_v2", &processes_);
  if (reasons_ == nullptr) find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &reasons_);
  const int code = init_ != nullptr ? init_() : -1;
  if (code != kNvmlSuccess || handle_by_bus_id_ == nullptr) {
    *error = "no clocks and power: NVML refuses to start (" + std::to_string(code) + ")";
    return false;
  }
  ready_ = true;
  return true;
}

std::string Nvml::driver_version() const noexcept {
  char text[96] = {};
  if (!ready_ || driver_version_ == nullptr || driver_version_(text, sizeof text) != kNvmlSuccess) return {};
  return text;
}

void* Nvml::device(const std::string& pci_bus_id) const noexcept {
  Device device = nullptr;
  if (!ready_ || handle_by_bus_id_(pci_bus_id.c_str(), &device) != kNvmlSuccess) return nullptr;
  return device;
}

std::int64_t Nvml::max_sm_hz(void* device) const noexcept {
  unsigned mhz = 0;
  if (device == nullptr || max_clock_ == nullptr || max_clock_(device, kNvmlClockSm, &mhz) != kNvmlSuccess)
    return 0;
  return std::int64_t{mhz} * 1'000'000;
}

std::int64_t Nvml::max_memory_hz(void* device) const noexcept {
  unsigned mhz = 0;
  if (device == nullptr || max_clock_ == nullptr ||
      max_clock_(device, kNvmlClockMemory, &mhz) != kNvmlSuccess)
    return 0;
  return std::int64_t{mhz} * 1'000'000;
}

std::vector<std::uint32_t> Nvml::other_processes(void* device) const {
  constexpr unsigned kMax = 32;
  Process processes[kMax] = {};
  unsigned count = kMax;
  if (!ready_ || device == nullptr || processes_ == nullptr ||
      processes_(device, &count, processes) != kNvmlSuccess)
    return {};
  std::vector<std::uint32_t> others;
  for (unsigned i = 0; i < std::min(count, kMax); ++i)
    if (processes[i].pid != static_cast<unsigned>(getpid())) others.push_back(processes[i].pid);
  // In a container this process goes by another number in the list: one of them is it, and which cannot be told.
  const bool without_own = others.size() == std::min(count, kMax);
  if (without_own && others.size() <= 1) return {};
  return others;
}

bool Nvml::sample(void* device, spool::ClockSampleRecord* record) const noexcept {
  if (device == nullptr) return false;
  bool any = false;
  unsigned value = 0;
  if (clock_ != nullptr && clock_(device, kNvmlClockSm, &value) == kNvmlSuccess) {
    record->sm_hz = std::int64_t{value} * 1'000'000;
    any = true;
  }
  if (clock_ != nullptr && clock_(device, kNvmlClockMemory, &value) == kNvmlSuccess) {
    record->memory_hz = std::int64_t{value} * 1'000'000;
    any = true;
  }
  if (power_ != nullptr && power_(device, &value) == kNvmlSuccess) {
    record->power_mw = value;
    any = true;
  }
  if (temperature_ != nullptr && temperature_(device, kNvmlTemperatureGpu, &value) == kNvmlSuccess) {
    record->temperature_celsius = value;
    any = true;
  }
  unsigned long long reasons = 0;
  if (reasons_ != nullptr && reasons_(device, &reasons) == kNvmlSuccess) {
    record->throttle_reasons = reasons;
    any = true;
  }
  return any;
}

int cuda_driver_version() noexcept {
  int version = 0;
  decltype(&::cuDriverGetVersion) get = nullptr;
  if (driver() == nullptr) return 0;
  find(driver(), "cuDriverGetVersion", &get);
  return get != nullptr && get(&version) == CUDA_SUCCESS ? version : 0;
}

int cuda_runtime_version() noexcept {
  int (*get)(int*) = nullptr;
  int version = 0;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      find(library, "cudaRuntimeGetVersion", &get);
      if (get != nullptr && get(&version) == 0) return version;
    }
  return 0;
}

bool describe_device(spool::Writer& writer, const Nvml& nvml, std::uint32_t device_id,
                     spool::DeviceRecord* record, std::string* pci_bus_id) noexcept {
  if (driver() == nullptr) return false;
  CUresult (*get)(CUdevice*, int) = nullptr;
  CUresult (*get_name)(char*, int, CUdevice) = nullptr;
  CUresult (*get_uuid)(CUuuid*, CUdevice) = nullptr;
  CUresult (*total_memory)(std::size_t*, CUdevice) = nullptr;
  CUresult (*attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*bus_id)(char*, int, CUdevice) = nullptr;
  find(driver(), "cuDeviceGet", &get);
  find(driver(), "cuDeviceGetName", &get_name);
  find(driver(), "cuDeviceGetUuid_v2", &get_uuid);
  find(driver(), "cuDeviceTotalMem_v2", &total_memory);
  find(driver(), "cuDeviceGetAttribute", &attribute);
  find(driver(), "cuDeviceGetPCIBusId", &bus_id);
  CUdevice device = 0;
  if (get == nullptr || attribute == nullptr || get(&device, static_cast<int>(device_id)) != CUDA_SUCCESS)
    return false;
  record->device_id = device_id;
  char text[256] = {};
  if (get_name != nullptr && get_name(text, sizeof text - 1, device) == CUDA_SUCCESS)
    record->name = writer.intern(text);
  CUuuid uuid{};
  if (get_uuid != nullptr && get_uuid(&uuid, device) == CUDA_SUCCESS)
    std::memcpy(record->uuid, uuid.bytes, sizeof record->uuid);
  std::size_t bytes = 0;
  if (total_memory != nullptr && total_memory(&bytes, device) == CUDA_SUCCESS)
    record->memory_bytes = static_cast<std::int64_t>(bytes);
  char bus[64] = {};
  if (bus_id != nullptr && bus_id(bus, sizeof bus - 1, device) == CUDA_SUCCESS) {
    *pci_bus_id = bus;
    record->pci_bus_id = writer.intern(bus);
  }
  auto value = [&](CUdevice_attribute which) {
    int v = 0;
    return attribute(&v, which, device) == CUDA_SUCCESS && v > 0 ? static_cast<std::uint32_t>(v) : 0u;
  };
  record->compute_capability_major = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  record->compute_capability_minor = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  record->sm_count = value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  record->memory_bus_width_bits = value(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  record->l2_bytes = value(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  record->max_threads_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  record->max_shared_memory_per_sm_bytes = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  record->max_registers_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  record->max_shared_memory_per_block_bytes = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  void* nvml_device = nvml.device(*pci_bus_id);
  record->max_sm_hz = nvml.max_sm_hz(nvml_device);
  record->max_memory_hz = nvml.max_memory_hz(nvml_device);
  if (record->max_sm_hz == 0) record->max_sm_hz = std::int64_t{value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)} * 1000;
  if (record->max_memory_hz == 0)
    record->max_memory_hz = std::int64_t{value(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)} * 1000;
  return true;
}

}  // namespace ridgeline::agent
