#include "ridgeline/store/device_peaks.h"

#include <fmt/format.h>

#include <string>

namespace ridgeline::store {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

struct ArchitectureRow {
  std::string_view compute_capability;
  OperationsPerCycle operations;
};

// NVIDIA's architecture white papers, tensor throughput without sparsity: A100 312 TFLOP/s BF16 at 108 SMs
// and 1.41 GHz is 2048 an SM and cycle; H100 989 at 132 and 1.83 is 4096; B200 2250 at 148 and 1.85 is 8192.
constexpr ArchitectureRow kArchitectures[] = {
    {"7.0", {.fp32 = 128, .fp16_tensor = 1024}},
    {"7.5", {.fp32 = 128, .fp16_tensor = 1024}},
    {"8.0", {.fp32 = 128, .tf32_tensor = 1024, .fp16_tensor = 2048, .bf16_tensor = 2048}},
    {"8.6", {.fp32 = 256, .tf32_tensor = 512, .fp16_tensor = 1024, .bf16_tensor = 1024}},
    {"8.9", {.fp32 = 256, .tf32_tensor = 512, .fp16_tensor = 1024, .bf16_tensor = 1024, .fp8_tensor = 2048}},
    {"9.0", {.fp32 = 256, .tf32_tensor = 2048, .fp16_tensor = 4096, .bf16_tensor = 4096, .fp8_tensor = 8192}},
    {"10.0",
     {.fp32 = 256, .tf32_tensor = 4096, .fp16_tensor = 8192, .bf16_tensor = 8192, .fp8_tensor = 16384}},
    {"10.3",
     {.fp32 = 256, .tf32_tensor = 4096, .fp16_tensor = 8192, .bf16_tensor = 8192, .fp8_tensor = 16384}},
    {"12.0", {.fp32 = 256, .tf32_tensor = 512, .fp16_tensor = 1024, .bf16_tensor = 1024, .fp8_tensor = 2048}},
};

struct BandwidthRow {
  std::string_view name_part;
  std::string_view also;  // a second part that must be there; "" if none
  double bytes_per_s;
};

// The vendor's data sheets. First match wins: the more particular name stands first.
constexpr BandwidthRow kBandwidths[] = {
    {"GH200", "480GB", 4.0e12},
    {"GH200", "144G", 4.9e12},
    {"H200", "", 4.8e12},
    {"H100", "NVL", 3.9e12},
    {"H100", "PCIe", 2.0e12},
    {"H100", "80GB HBM3", 3.35e12},
    {"H800", "PCIe", 2.0e12},
    {"H800", "", 3.35e12},
    {"H20", "", 4.0e12},
    {"B200", "", 8.0e12},
    {"B300", "", 8.0e12},
    {"A100-SXM4-80GB", "", 2.039e12},
    {"A100 80GB PCIe", "", 1.935e12},
    {"A100-SXM4-40GB", "", 1.555e12},
    {"A100-PCIE-40GB", "", 1.555e12},
    {"V100", "", 0.9e12},
    {"A10G", "", 0.6e12},
    {"A30", "", 0.933e12},
    {"A40", "", 0.696e12},
    {"L40S", "", 0.864e12},
    {"L40", "", 0.864e12},
    {"Tesla T4", "", 0.32e12},
};

}  // namespace

std::optional<OperationsPerCycle> operations_per_cycle(std::string_view compute_capability,
                                                       std::string_view device_name) {
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.compute_capability != compute_capability) continue;
    OperationsPerCycle operations = row.operations;
    // GeForce boards accumulate in FP32 at half the rate of the professional boards of the same chip.
    if (contains(device_name, "GeForce")) {
      operations.tf32_tensor /= 2;
      operations.fp16_tensor /= 2;
      operations.bf16_tensor /= 2;
      operations.fp8_tensor /= 2;
    }
    return operations;
  }
  return std::nullopt;
}

std::optional<double> datasheet_dram_bytes_per_s(std::string_view device_name) {
  for (const BandwidthRow& row : kBandwidths) {
    if (contains(device_name, row.name_part) && contains(device_name, row.also)) return row.bytes_per_s;
  }
  return std::nullopt;
}

std::vector<DevicePeak> device_peaks(const Device& device, std::optional<std::int64_t> measured_sm_clock_hz) {
  std::vector<DevicePeak> peaks;
  const auto add = [&](std::string quantity, PeakSource source, double value, std::string detail) {
    peaks.push_back({.device_id = device.id,
                     .quantity = std::move(quantity),
                     .source = source,
                     .value = value,
                     .detail = std::move(detail)});
  };

  const std::optional<double> datasheet = datasheet_dram_bytes_per_s(device.name);
  std::optional<double> computed;
  std::string formula;
  if (device.max_memory_clock_hz.value_or(0) > 0 && device.memory_bus_bits.value_or(0) > 0) {
    computed = static_cast<double>(*device.max_memory_clock_hz) * *device.memory_bus_bits / 8 * 2;
    formula = fmt::format("{} MHz memory clock x {} bit bus / 8 x 2 = {:.4g} bytes/s",
                          *device.max_memory_clock_hz / 1'000'000, *device.memory_bus_bits, *computed);
  }
  if (datasheet) {
    add("dram_bytes_per_s", PeakSource::spec, *datasheet,
        "data sheet of " + device.name + (computed ? "; by its clock: " + formula : ""));
  } else if (computed) {
    add("dram_bytes_per_s", PeakSource::spec, *computed, formula);
  }

  const auto operations = operations_per_cycle(device.compute_capability.value_or(""), device.name);
  if (!operations || device.sm_count.value_or(0) <= 0) return peaks;
  const auto add_compute = [&](PeakSource source, std::int64_t clock_hz, const char* clock_name) {
    const auto one = [&](const char* quantity, int per_cycle) {
      if (per_cycle == 0) return;
      const double value = static_cast<double>(*device.sm_count) * per_cycle * static_cast<double>(clock_hz);
      add(quantity, source, value,
          fmt::format("{} SMs x {} dense FLOP per SM and cycle x {} MHz {}", *device.sm_count, per_cycle,
                      clock_hz / 1'000'000, clock_name));
    };
    one("fp32_flops_per_s", operations->fp32);
    one("tf32_flops_per_s", operations->tf32_tensor);
    one("fp16_flops_per_s", operations->fp16_tensor);
    one("bf16_flops_per_s", operations->bf16_tensor);
    one("fp8_flops_per_s", operations->fp8_tensor);
  };
  if (device.max_sm_clock_hz.value_or(0) > 0)
    add_compute(PeakSource::spec, *device.max_sm_clock_hz, "maximum SM clock");
  if (measured_sm_clock_hz.value_or(0) > 0)
    add_compute(PeakSource::clock, *measured_sm_clock_hz, "median SM clock measured");
  return peaks;
}

}  // namespace ridgeline::store
