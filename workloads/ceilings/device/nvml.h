// nvml.h: what the driver says of the GPU: power, energy, clocks, who else is there. It reads; it sets nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ridgeline::ceilings {

/// NVML of one device, loaded when it is made: it comes with the driver, not with the toolkit. Without it every
/// answer is empty. Not for several threads at once.
class Nvml {
 public:
  /// `pci_bus_id`: as CUDA has it.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool there() const { return device_ != nullptr; }
  [[nodiscard]] std::optional<double> joules() const;  // since the driver was loaded
  [[nodiscard]] std::optional<double> power_limit_w() const;
  [[nodiscard]] std::optional<double> max_sm_clock_hz() const;
  [[nodiscard]] std::optional<double> max_memory_clock_hz() const;
  [[nodiscard]] std::optional<double> application_sm_clock_hz() const;
  [[nodiscard]] std::optional<int> temperature_c() const;
  [[nodiscard]] std::optional<int> memory_temperature_c() const;
  [[nodiscard]] std::optional<bool> ecc() const;
  [[nodiscard]] std::string driver_version() const;
  /// Processes that compute on the device and that the driver shows: in a container it may show none.
  [[nodiscard]] std::optional<int> processes() const;
  /// Of the last second or so.
  [[nodiscard]] std::optional<int> utilisation_percent() const;
  /// NVML's bit mask; 0: nothing holds the clock.
  [[nodiscard]] unsigned long long throttle_reasons() const;

 private:
  struct Functions;
  void* library_ = nullptr;
  void* device_ = nullptr;
  Functions* functions_ = nullptr;
};

/// "power limit", "heat" …; idle and the application's own clocks are none.
[[nodiscard]] std::vector<std::string> throttle_words(unsigned long long reasons);

}  // namespace ridgeline::ceilings
