#include "spool/capture_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/text.h"
#include "ridgeline/store/device_peaks.h"

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

store::Id CaptureDevices::add(const spool::Reader& reader, const spool::DeviceRecord& record) {
  const bool has_uuid =
      std::any_of(std::begin(record.uuid), std::end(record.uuid), [](auto byte) { return byte; });
  const std::string uuid = has_uuid ? uuid_text(record.uuid) : "";
  const std::string key = has_uuid ? uuid : fmt::format("index {}", record.device_id);
  if (auto found = by_key_.find(key); found != by_key_.end()) return found->second.id;
  store::Device device;
  device.device_index = static_cast<int>(record.device_id);
  device.name = one_line(reader.string_or(record.name, "unknown device"));
  if (has_uuid) device.uuid = uuid;
  if (const auto chip = reader.string(record.chip_name)) device.chip = one_line(*chip);
  if (record.compute_capability_major > 0) {
    device.compute_capability =
        fmt::format("{}.{}", record.compute_capability_major, record.compute_capability_minor);
  }
  device.sm_count = known(static_cast<int>(record.sm_count));
  device.max_sm_clock_hz = known(record.max_sm_hz);
  device.max_memory_clock_hz = known(record.max_memory_hz);
  device.memory_bus_bits = known(static_cast<int>(record.memory_bus_width_bits));
  device.memory_bytes = known(record.memory_bytes);
  device.l2_bytes = known(record.l2_bytes);
  device.id = writer_.add(device);
  by_key_[key] = device;
  return device.id;
}

store::Id CaptureDevices::add_unknown(std::uint32_t device_id) {
  const std::string key = fmt::format("unknown {}", device_id);
  if (auto found = by_key_.find(key); found != by_key_.end()) return found->second.id;
  store::Device device;
  device.device_index = static_cast<int>(device_id);
  device.name = "unknown device";
  device.id = writer_.add(device);
  by_key_[key] = device;
  return device.id;
}

void CaptureDevices::add_counter_dram_peak(store::Id device_id, double bytes_per_s,
                                           std::int64_t duration_ns) {
  constexpr std::size_t kEnough = 100'000;  // for a median
  std::vector<CounterPeak>& values = counter_peaks_[device_id];
  if (values.size() < kEnough && bytes_per_s > 0) {
    values.push_back({bytes_per_s, static_cast<double>(std::max<std::int64_t>(duration_ns, 1))});
  }
}

void CaptureDevices::write_peaks() {
  for (const auto& [key, device] : by_key_) {
    std::optional<std::int64_t> sm_clock_hz;
    if (auto clocks = clocks_.find(device.id); clocks != clocks_.end() && !clocks->second.empty()) {
      sm_clock_hz = upper_median(clocks->second);
    }
    for (const store::DevicePeak& peak : device_peaks(device, sm_clock_hz)) writer_.add(peak);
    const auto found = counter_peaks_.find(device.id);
    if (found == counter_peaks_.end() || found->second.empty()) continue;
    // The median by time: over kernels of a few microseconds the rate is off by several per cent.
    std::vector<CounterPeak>& values = found->second;
    std::sort(values.begin(), values.end(),
              [](const CounterPeak& a, const CounterPeak& b) { return a.bytes_per_s < b.bytes_per_s; });
    double left_ns = 0;
    for (const CounterPeak& each : values) left_ns += each.duration_ns;
    left_ns /= 2;
    auto middle = values.begin();
    while (middle + 1 != values.end() && (left_ns -= middle->duration_ns) > 0) ++middle;
    writer_.add(store::DevicePeak{
        .device_id = device.id,
        .quantity = Quantity::dram_bytes_per_s,
        .source = PeakSource::counter,
        .value = middle->bytes_per_s,
        .detail =
            fmt::format("dram__bytes.sum.peak_sustained_elapsed.per_second, median by time over {} launches",
                        values.size())});
  }
}

}  // namespace ridgeline::import
