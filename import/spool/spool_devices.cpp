#include "spool/spool_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

std::string uuid_text(const std::uint8_t (&uuid)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

template <typename T>
std::optional<T> known(T value) {
  return value > 0 ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

store::Device device_of(const spool::Reader& reader, const spool::DeviceRecord& record) {
  store::Device device;
  device.device_index = static_cast<int>(record.device_id);
  device.name = one_line(reader.string_or(record.name, "unknown device"));
  if (std::any_of(std::begin(record.uuid), std::end(record.uuid), [](auto byte) { return byte; }))
    device.uuid = uuid_text(record.uuid);
  if (const auto chip = reader.string(record.chip_name)) device.chip = one_line(*chip);
  if (record.compute_capability_major > 0)
    device.compute_capability =
        fmt::format("{}.{}", record.compute_capability_major, record.compute_capability_minor);
  device.sm_count = known(static_cast<int>(record.sm_count));
  device.max_sm_clock_hz = known(record.max_sm_hz);
  device.max_memory_clock_hz = known(record.max_memory_hz);
  device.memory_bus_bits = known(static_cast<int>(record.memory_bus_width_bits));
  device.memory_bytes = known(record.memory_bytes);
  device.l2_bytes = known(record.l2_bytes);
  return device;
}

}  // namespace ridgeline::import
