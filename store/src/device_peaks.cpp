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
    {"7.0", {.fp64 = 64, .fp32 = 128, .fp16_tensor = 1024}},
    {"7.5", {.fp32 = 128, .fp16_tensor = 1024, .int8_tensor = 2048}},
    {"8.0",
     {.fp64 = 64,
      .fp64_tensor = 128,
      .fp32 = 128,
      .tf32_tensor = 1024,
      .fp16_tensor = 2048,
      .bf16_tensor = 2048,
      .int8_tensor = 4096}},
    {"8.6",
     {.fp64 = 4,
      .fp32 = 256,
      .tf32_tensor = 512,
      .fp16_tensor = 1024,
      .bf16_tensor = 1024,
      .int8_tensor = 2048}},
    {"8.9",
     {.fp64 = 4,
      .fp32 = 256,
      .tf32_tensor = 512,
      .fp16_tensor = 1024,
      .bf16_tensor = 1024,
      .fp8_tensor = 2048,
      .int8_tensor = 2048}},
    {"9.0",
     {.fp64 = 128,
      .fp64_tensor = 256,
      .fp32 = 256,
      .tf32_tensor = 2048,
      .fp16_tensor = 4096,
      .bf16_tensor = 4096,
      .fp8_tensor = 8192,
      .int8_tensor = 8192}},
    {"10.0",
     {.fp32 = 256, .tf32_tensor = 4096, .fp16_tensor = 8192, .bf16_tensor = 8192, .fp8_tensor = 16384}},
    {"10.3",
     {.fp32 = 256, .tf32_tensor = 4096, .fp16_tensor = 8192, .bf16_tensor = 8192, .fp8_tensor = 16384}},
    {"12.0", {.fp32 = 256, .tf32_tensor = 512, .fp16_tensor = 1024, .bf16_tensor = 1024, .fp8_tensor = 2048}},
};

struct QuantityRow {
  Quantity quantity;
  int OperationsPerCycle::*per_cycle;
};
constexpr QuantityRow kQuantities[] = {
    {Quantity::fp64_flops_per_s, &OperationsPerCycle::fp64},
    {Quantity::fp64_tensor_flops_per_s, &OperationsPerCycle::fp64_tensor},
    {Quantity::fp32_flops_per_s, &OperationsPerCycle::fp32},
    {Quantity::tf32_flops_per_s, &OperationsPerCycle::tf32_tensor},
    {Quantity::fp16_flops_per_s, &OperationsPerCycle::fp16_tensor},
    {Quantity::bf16_flops_per_s, &OperationsPerCycle::bf16_tensor},
    {Quantity::fp8_flops_per_s, &OperationsPerCycle::fp8_tensor},
    {Quantity::int8_ops_per_s, &OperationsPerCycle::int8_tensor},
};

// Data sheets and white papers, 10¹² dense operations a second; 0: the unit is absent. First match wins. Tensor
// figures are those that the sheets print with sparsity, halved. The sheets of the SXM boards of Hopper rest on two
// clocks: 1830 MHz for the tensor pipe (132 SMs × 4096 × 1830 MHz = 989.4 in BF16), 1980 MHz for the others.
struct DatasheetRow {
  std::string_view name_part;
  std::string_view also;  // a second part that must be there; "" if none
  double fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8;
  std::string_view tensor_clock;  // what the tensor figures rest on; "" if the sheet does not say
};
constexpr DatasheetRow kDatasheets[] = {
    {"H200", "NVL", 30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, ""},
    {"H200", "", 33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, "1830 MHz"},  // GH200 too
    {"H100", "NVL", 30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, ""},
    {"H100", "PCIe", 25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513, ""},
    {"H100", "80GB HBM3", 33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, "1830 MHz"},
    {"A100", "", 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, "1410 MHz"},
    {"NVIDIA A30", "", 5.2, 10.3, 10.3, 82, 165, 165, 0, 330, ""},
    {"NVIDIA A40", "", 0, 0, 37.4, 74.8, 149.7, 149.7, 0, 299.3, ""},
    {"L40S", "", 0, 0, 91.6, 183, 362.05, 362.05, 733, 733, ""},
    {"L40", "", 0, 0, 90.5, 90.5, 181.05, 181.05, 362, 362, ""},
    {"V100-SXM2", "", 7.8, 0, 15.7, 0, 125, 0, 0, 0, "1530 MHz"},
    {"Tesla T4", "", 0, 0, 8.1, 0, 65, 0, 0, 130, ""},
};

double figure(const DatasheetRow& row, Quantity quantity) {
  const std::pair<Quantity, double> figures[] = {
      {Quantity::fp64_flops_per_s, row.fp64}, {Quantity::fp64_tensor_flops_per_s, row.fp64_tensor},
      {Quantity::fp32_flops_per_s, row.fp32}, {Quantity::tf32_flops_per_s, row.tf32},
      {Quantity::fp16_flops_per_s, row.fp16}, {Quantity::bf16_flops_per_s, row.bf16},
      {Quantity::fp8_flops_per_s, row.fp8},   {Quantity::int8_ops_per_s, row.int8}};
  for (const auto& [name, value] : figures) {
    if (name == quantity) return value * 1e12;
  }
  return 0;
}

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
    {"NVIDIA A30", "", 0.933e12},
    {"NVIDIA A40", "", 0.696e12},
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

std::optional<DevicePeak> datasheet_operations(const Device& device, Quantity quantity) {
  for (const DatasheetRow& row : kDatasheets) {
    if (!contains(device.name, row.name_part) || !contains(device.name, row.also)) continue;
    const double value = figure(row, quantity);
    if (value <= 0) return std::nullopt;
    std::string detail = "data sheet of " + device.name + ", dense";
    const bool tensor = quantity != Quantity::fp32_flops_per_s && quantity != Quantity::fp64_flops_per_s &&
                        quantity != Quantity::fp64_tensor_flops_per_s;
    if (tensor && !row.tensor_clock.empty()) detail += " at " + std::string(row.tensor_clock);
    return DevicePeak{.device_id = device.id,
                      .quantity = quantity,
                      .source = PeakSource::spec,
                      .value = value,
                      .detail = std::move(detail)};
  }
  return std::nullopt;
}

std::optional<DevicePeak> operations_at_clock(const Device& device, Quantity quantity, double sm_clock_hz,
                                              std::string_view clock_name) {
  const auto operations = operations_per_cycle(device.compute_capability.value_or(""), device.name);
  if (!operations || device.sm_count.value_or(0) <= 0 || !(sm_clock_hz > 0)) return std::nullopt;
  for (const QuantityRow& row : kQuantities) {
    const int per_cycle = (*operations).*row.per_cycle;
    if (row.quantity != quantity || per_cycle == 0) continue;
    return DevicePeak{.device_id = device.id,
                      .quantity = quantity,
                      .source = PeakSource::clock,
                      .value = static_cast<double>(*device.sm_count) * per_cycle * sm_clock_hz,
                      .detail = fmt::format("{} SMs x {} dense operations per SM and cycle x {:.0f} MHz {}",
                                            *device.sm_count, per_cycle, sm_clock_hz / 1e6, clock_name)};
  }
  return std::nullopt;
}

std::vector<DevicePeak> device_peaks(const Device& device, std::optional<std::int64_t> measured_sm_clock_hz) {
  std::vector<DevicePeak> peaks;
  const auto add = [&](Quantity quantity, PeakSource source, double value, std::string detail) {
    peaks.push_back({.device_id = device.id,
                     .quantity = quantity,
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
    add(Quantity::dram_bytes_per_s, PeakSource::spec, *datasheet,
        "data sheet of " + device.name + (computed ? "; by its clock: " + formula : ""));
  } else if (computed) {
    add(Quantity::dram_bytes_per_s, PeakSource::spec, *computed, formula);
  }

  for (const QuantityRow& row : kQuantities) {
    if (auto sheet = datasheet_operations(device, row.quantity)) {
      peaks.push_back(*std::move(sheet));
    } else if (auto most = operations_at_clock(device, row.quantity,
                                               static_cast<double>(device.max_sm_clock_hz.value_or(0)),
                                               "maximum SM clock: no data sheet of the device is known")) {
      most->source = PeakSource::spec;
      peaks.push_back(*std::move(most));
    }
    if (auto ran =
            operations_at_clock(device, row.quantity, static_cast<double>(measured_sm_clock_hz.value_or(0)),
                                "median SM clock of the recorded steps"))
      peaks.push_back(*std::move(ran));
  }
  return peaks;
}

}  // namespace ridgeline::store
