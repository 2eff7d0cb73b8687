#include "session/devices.h"

namespace ridgeline::agent {

void Devices::start_profiler() {
  if (profiler_initialized_ || !session_.api->has_range_profiler) return;
  CUpti_Profiler_Initialize_Params p = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
  const CUptiResult result = session_.api->profiler_initialize(&p);
  profiler_initialized_ = result == CUPTI_SUCCESS;
  if (!profiler_initialized_) profiler_refusal_ = session_.api->error_text(result);
}

void Devices::describe(std::uint32_t device_id) {
  spool::DeviceRecord record{};
  std::string bus;
  if (!describe_device(session_.writer, nvml_, device_id, &record, &bus)) record.device_id = device_id;
  CUpti_Device_GetChipName_Params chip = {CUpti_Device_GetChipName_Params_STRUCT_SIZE};
  chip.deviceIndex = device_id;
  if (profiler_initialized_ && session_.api->device_get_chip_name(&chip) == CUPTI_SUCCESS &&
      chip.pChipName != nullptr)
    chips_[device_id] = chip.pChipName;
  record.chip_name = session_.writer.intern(chips_[device_id]);
  if (chips_[device_id].empty()) chips_[device_id] = "unknown";
  nvml_devices_[device_id] = nvml_.device(bus);
  session_.turns.name_device(device_id, record.uuid);
  if (session_.stalls) session_.stalls->set_device(record.sm_count, record.max_sm_hz);
  session_.budget.use_device(record.uuid);
  session_.writer.put(record);
}

void Devices::describe(bool profiler) {
  const std::uint64_t pending = pending_.exchange(0, std::memory_order_acq_rel);
  if (pending == 0) return;
  if (!nvml_tried_) {
    nvml_tried_ = true;
    std::string error;
    if (!nvml_.open(&error)) session_.message(Severity::info, spool::Topic::clocks_missing, error);
  }
  if (!versions_written_) {
    versions_written_ = true;
    if (const int v = cuda_driver_version(); v != 0)
      session_.write_version(spool::Component::cuda_driver, {}, v);
    if (const int v = cuda_runtime_version(); v != 0)
      session_.write_version(spool::Component::cuda_runtime, {}, v);
    if (const std::string v = nvml_.driver_version(); !v.empty())
      session_.write_version(spool::Component::kernel_driver, v, 0);
  }
  // It loads CUPTI's counter libraries, which the end of the program is made safe for only where they are used.
  if (session_.wants_counters() && profiler) start_profiler();
  if (session_.wants_counters() && !profiler && !profiler_initialized_)
    profiler_refusal_ = "a stream of the program always waited for the host, beside which it is not started";
  if (session_.stalls && !profiler_refusal_.empty())
    session_.stalls->rule_out("no stall reasons: CUPTI's profiler cannot start: " + profiler_refusal_);
  for (std::uint32_t id = 0; id < kMaxDevices; ++id)
    if ((pending >> id & 1) != 0 && chips_[id].empty()) describe(id);
}

void Devices::look_for_others() noexcept try {
  std::vector<std::uint32_t> pids;
  for (std::uint32_t id = 0; id < kMaxDevices; ++id) {
    if (nvml_devices_[id] == nullptr || (session_.device_launches.used() >> id & 1) == 0) continue;
    const std::vector<std::uint32_t> here = nvml_.other_processes(nvml_devices_[id]);
    pids.insert(pids.end(), here.begin(), here.end());
  }
  session_.others.seen(pids, session_.turns.others());
} catch (...) {  // without memory: nobody was seen
}

void Devices::sample_clocks(std::int64_t now_ns) noexcept {
  for (std::uint32_t id = 0; id < kMaxDevices; ++id) {
    if (nvml_devices_[id] == nullptr) continue;
    spool::ClockSampleRecord record{};
    record.time_ns = now_ns;
    record.device_id = id;
    if (nvml_.sample(nvml_devices_[id], &record)) session_.writer.put(record);
  }
}

}  // namespace ridgeline::agent
