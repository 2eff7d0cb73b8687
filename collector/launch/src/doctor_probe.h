// doctor_probe.h: looks at the driver's libraries for the doctor. Each probe runs in a child process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::launch {

struct ProbedGpu {
  std::string name;
  std::string compute_capability;  // "9.0"
  std::int64_t memory_bytes = 0;
};

struct CudaProbe {
  bool library_found = false;  // libcuda.so.1 loads
  std::string problem;         // one line; "" if all went well
  int driver_version = 0;      // 13000 = CUDA 13.0
  std::vector<ProbedGpu> gpus;
};
[[nodiscard]] CudaProbe probe_cuda();

/// Version of the kernel driver by NVML ("580.159.03"); nullopt: libnvidia-ml.so.1 is missing or refuses.
[[nodiscard]] std::optional<std::string> probe_nvml();

/// CUPTI's API version (130001 = 13.0.1); nullopt: the library does not load.
[[nodiscard]] std::optional<std::int64_t> probe_cupti(const std::string& path);

/// Who may use the counters, by what the system says; nothing is tried on the GPU.
struct CounterPermission {
  std::optional<bool> admin_only;  // RmProfilingAdminOnly; nullopt: the driver's parameters cannot be read
  bool is_root = false;            // effective user id 0
  bool has_sys_admin = false;      // CAP_SYS_ADMIN is effective
};
[[nodiscard]] CounterPermission probe_counter_permission();
/// For tests: the text of /proc/driver/nvidia/params and of /proc/self/status.
[[nodiscard]] CounterPermission counter_permission_from(const std::optional<std::string>& driver_parameters,
                                                        const std::string& process_status, bool is_root);

/// Other tools in the way: what was seen, one line each. `exclusive`: two cannot work at once.
struct OtherTool {
  std::string text;
  bool exclusive = false;
};
[[nodiscard]] std::vector<OtherTool> probe_other_tools();

}  // namespace ridgeline::launch
