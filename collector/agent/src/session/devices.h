// The devices that the program uses: their records, what chips they are, their clocks. The agent's thread,
// apart from note().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cupti/device_info.h"
#include "cupti/device_launches.h"
#include "session/session_state.h"

namespace ridgeline::agent {

class Devices {
 public:
  explicit Devices(SessionState& parts) : session_(parts) {}

  /// A context was made on this device. Any thread.
  void note(std::uint32_t device_id) noexcept {
    if (device_id < kMaxDevices) pending_.fetch_or(1ull << device_id, std::memory_order_release);
  }
  /// Writes a record of each device that was noted since, and the versions of the drivers once. Starts
  /// CUPTI's profiler, which tells what chip a device has; why it cannot be started is in profiler_refusal()
  /// then.
  /// Without `profiler` it is not started: a stream of the program waits for the host all the time.
  void describe(bool profiler);
  /// A device was noted since.
  bool due() const noexcept { return pending_.load(std::memory_order_relaxed) != 0; }
  /// "GH100"; "unknown" if CUPTI cannot tell; empty before the device is described.
  const std::string& chip(std::uint32_t device_id) const noexcept {
    static const auto* const none = new std::string;  // leaked: its end would be an exit handler of its own
    return device_id < kMaxDevices ? chips_[device_id] : *none;
  }
  /// Empty: it was started, or not tried yet.
  const std::string& profiler_refusal() const noexcept { return profiler_refusal_; }
  /// Clocks, power, temperature of each device, by NVML.
  void sample_clocks(std::int64_t now_ns) noexcept;
  /// Whether other processes are on the devices (tiers/other_processes.h).
  void look_for_others() noexcept;

 private:
  void start_profiler();
  void describe(std::uint32_t device_id);

  SessionState& session_;
  std::atomic<std::uint64_t> pending_{0};  // a bit a device
  Nvml nvml_;
  bool nvml_tried_ = false;
  bool versions_written_ = false;
  bool profiler_initialized_ = false;
  std::string profiler_refusal_;
  std::string chips_[kMaxDevices];
  void* nvml_devices_[kMaxDevices] = {};
};

}  // namespace ridgeline::agent
