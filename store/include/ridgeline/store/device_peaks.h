// device_peaks.h: the roofs of a device by its data sheet and by arithmetic on its clocks and widths.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// Dense floating-point operations one SM does in one cycle (a multiply-add counts 2). 0: the unit is absent.
struct OperationsPerCycle {
  int fp64 = 0;
  int fp64_tensor = 0;
  int fp32 = 0;  // the FMA pipe
  int tf32_tensor = 0;
  int fp16_tensor = 0;  // FP32 accumulate
  int bf16_tensor = 0;  // FP32 accumulate
  int fp8_tensor = 0;
  int int8_tensor = 0;
};

/// By compute capability ("9.0") and device name; nullopt for architectures the table does not know.
[[nodiscard]] std::optional<OperationsPerCycle> operations_per_cycle(std::string_view compute_capability,
                                                                     std::string_view device_name);

/// DRAM bytes a second that the vendor's data sheet states; nullopt if the table does not know the device.
[[nodiscard]] std::optional<double> datasheet_dram_bytes_per_s(std::string_view device_name);

/// Dense operations a second that the vendor's data sheet states, by quantity; `detail` says
/// which, and at which clock. nullopt if the table does not know the device or the device has no such unit.
[[nodiscard]] std::optional<DevicePeak> datasheet_operations(const Device& device, Quantity quantity);

/// Operations a second at an SM clock; `clock_name` says which clock it is. nullopt if the architecture is not
/// known or has no such unit. The source is `clock`.
[[nodiscard]] std::optional<DevicePeak> operations_at_clock(const Device& device, Quantity quantity,
                                                            double sm_clock_hz, std::string_view clock_name);

/// Peaks of source `spec`: dram_bytes_per_s and {fp64,fp64_tensor,fp32,tf32,fp16,bf16,fp8}_flops_per_s,
/// int8_ops_per_s, by the data sheet, else by the device's maximum clock; only those that its known properties give.
/// With the clock at which the SMs ran in the recording, also those operations at that clock (source `clock`).
/// detail says the formula.
[[nodiscard]] std::vector<DevicePeak> device_peaks(const Device& device,
                                                   std::optional<std::int64_t> measured_sm_clock_hz);

}  // namespace ridgeline::store
