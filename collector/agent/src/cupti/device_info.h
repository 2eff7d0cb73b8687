// Describes devices and samples their clocks: the CUDA driver's queries and NVML, both found at run time.
// All calls happen on the agent's own thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// NVML as far as the agent uses it; absent functions leave zeros.
class Nvml {
 public:
  /// Loads libnvidia-ml.so.1. False with one line in `error` if it is absent or refuses.
  bool open(std::string* error) noexcept;
  bool is_open() const noexcept { return ready_; }
  std::string driver_version() const noexcept;
  /// Handle of a device by PCI bus id ("0000:1b:00.0"); null if unknown.
  void* device(const std::string& pci_bus_id) const noexcept;
  std::int64_t max_sm_hz(void* device) const noexcept;
  std::int64_t max_memory_hz(void* device) const noexcept;
  /// Processes that have a context on the device, without this one, as far as NVML tells: none inside many a container.
  std::vector<std::uint32_t> other_processes(void* device) const;
  /// Fills clocks, power, temperature and reasons; what fails stays 0. False if nothing could be read.
  bool sample(void* device, spool::ClockSampleRecord* record) const noexcept;

 private:
  using Device = void*;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*driver_version_)(char*, unsigned) = nullptr;
  int (*handle_by_bus_id_)(const char*, Device*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*max_clock_)(Device, int, unsigned*) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  int (*reasons_)(Device, unsigned long long*) = nullptr;
  struct Process {  // nvmlProcessInfo_t
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
  };
  int (*processes_)(Device, unsigned*, Process*) = nullptr;
};

/// Fills everything but chip_name. False if the driver cannot be asked. `pci_bus_id` receives the bus id.
bool describe_device(spool::Writer& writer, const Nvml& nvml, std::uint32_t device_id,
                     spool::DeviceRecord* record, std::string* pci_bus_id) noexcept;

/// cuDriverGetVersion, 0 if unknown.
int cuda_driver_version() noexcept;
/// cudaRuntimeGetVersion of a shared CUDA runtime in the process, 0 if there is none.
int cuda_runtime_version() noexcept;

}  // namespace ridgeline::agent
