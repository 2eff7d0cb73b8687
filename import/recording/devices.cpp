#include "recording/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/statistics.h"
#include "ridgeline/store/device_peaks.h"
#include "ridgeline/store/machine_ceilings.h"

namespace ridgeline::import {

store::Id RecordedDevices::add(store::Device device) {
  const std::string key = device.uuid ? *device.uuid : fmt::format("index {}", device.device_index);
  if (auto found = by_key_.find(key); found != by_key_.end()) return found->second.id;
  device.id = writer_.add(device);
  by_key_[key] = device;
  return device.id;
}

store::Id RecordedDevices::add_unknown(std::uint32_t device_index) {
  const std::string key = fmt::format("unknown {}", device_index);
  if (auto found = by_key_.find(key); found != by_key_.end()) return found->second.id;
  store::Device device;
  device.device_index = static_cast<int>(device_index);
  device.name = "unknown device";
  device.id = writer_.add(device);
  by_key_[key] = device;
  return device.id;
}

void RecordedDevices::add_counter_dram_peak(store::Id device_id, double bytes_per_s,
                                            std::int64_t duration_ns) {
  constexpr std::size_t kEnough = 100'000;  // for a median
  std::vector<CounterPeak>& values = counter_peaks_[device_id];
  if (values.size() < kEnough && bytes_per_s > 0) {
    values.push_back({bytes_per_s, static_cast<double>(std::max<std::int64_t>(duration_ns, 1))});
  }
}

void RecordedDevices::write_peaks() {
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

void RecordedDevices::write_ceilings(const std::string& directory,
                                     const std::map<std::string, double>& power_limits_w) {
  for (const auto& [key, device] : by_key_) {
    store::CeilingsWanted wanted{
        .uuid = device.uuid.value_or(""), .device = device.name, .power_limit_w = {}};
    if (const auto limit = power_limits_w.find(wanted.uuid); limit != power_limits_w.end())
      wanted.power_limit_w = limit->second;
    const auto machine = store::find_machine_ceilings(directory, wanted);
    if (!machine) continue;
    for (const store::Ceiling& ceiling : ceiling_rows(*machine, device)) writer_.add(ceiling);
  }
}

}  // namespace ridgeline::import
