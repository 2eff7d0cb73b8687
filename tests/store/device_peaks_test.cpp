#include "ridgeline/store/device_peaks.h"

#include <gtest/gtest.h>

namespace ridgeline::store {
namespace {

Device h100() {
  Device device;
  device.id = 1;
  device.name = "NVIDIA H100 80GB HBM3";
  device.compute_capability = "9.0";
  device.sm_count = 132;
  device.max_sm_clock_hz = 1'830'000'000;
  device.max_memory_clock_hz = 2'619'000'000;
  device.memory_bus_bits = 5120;
  return device;
}

double peak(const std::vector<DevicePeak>& peaks, const std::string& quantity, PeakSource source) {
  for (const DevicePeak& each : peaks) {
    if (each.quantity == quantity && each.source == source) return each.value;
  }
  return 0;
}

TEST(DevicePeaks, AgreeWithPublishedFigures) {
  const auto peaks = device_peaks(h100(), std::nullopt);
  EXPECT_DOUBLE_EQ(peak(peaks, "dram_bytes_per_s", PeakSource::spec), 3.35e12);
  EXPECT_NEAR(peak(peaks, "bf16_flops_per_s", PeakSource::spec), 989.4e12, 0.2e12);
  EXPECT_NEAR(peak(peaks, "fp8_flops_per_s", PeakSource::spec), 1978.9e12, 0.3e12);
  EXPECT_NEAR(peak(peaks, "tf32_flops_per_s", PeakSource::spec), 494.7e12, 0.1e12);
  Device a100 = h100();
  a100.name = "NVIDIA A100-SXM4-80GB";
  a100.compute_capability = "8.0";
  a100.sm_count = 108;
  a100.max_sm_clock_hz = 1'410'000'000;
  const auto older = device_peaks(a100, std::nullopt);
  EXPECT_NEAR(peak(older, "bf16_flops_per_s", PeakSource::spec), 312e12, 0.2e12);
  EXPECT_NEAR(peak(older, "fp32_flops_per_s", PeakSource::spec), 19.5e12, 0.05e12);
  EXPECT_EQ(peak(older, "fp8_flops_per_s", PeakSource::spec), 0);
  EXPECT_DOUBLE_EQ(peak(older, "dram_bytes_per_s", PeakSource::spec), 2.039e12);
}

TEST(DevicePeaks, UnknownDevicesGetWhatTheirClocksSay) {
  Device device = h100();
  device.name = "NVIDIA Something New";
  device.compute_capability = "99.0";
  const auto peaks = device_peaks(device, 1'000'000'000);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_DOUBLE_EQ(peaks[0].value, 2.619e9 * 5120 / 8 * 2);
  device.max_memory_clock_hz.reset();
  EXPECT_TRUE(device_peaks(device, std::nullopt).empty());
}

TEST(DevicePeaks, TheMeasuredClockGivesAPeakOfItsOwn) {
  const auto peaks = device_peaks(h100(), 915'000'000);
  EXPECT_DOUBLE_EQ(peak(peaks, "bf16_flops_per_s", PeakSource::clock) * 2,
                   peak(peaks, "bf16_flops_per_s", PeakSource::spec));
}

}  // namespace
}  // namespace ridgeline::store
