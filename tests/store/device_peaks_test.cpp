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

// 1980 MHz is the highest clock of an H200, but not the one that its data sheet's tensor figures rest on.
TEST(DevicePeaks, TheDataSheetCountsNotTheHighestClock) {
  Device h200 = h100();
  h200.name = "NVIDIA H200";
  h200.max_sm_clock_hz = 1'980'000'000;
  const auto peaks = device_peaks(h200, std::nullopt);
  EXPECT_DOUBLE_EQ(peak(peaks, "bf16_flops_per_s", PeakSource::spec), 989.4e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "fp16_flops_per_s", PeakSource::spec), 989.4e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "tf32_flops_per_s", PeakSource::spec), 494.7e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "fp8_flops_per_s", PeakSource::spec), 1978.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "int8_ops_per_s", PeakSource::spec), 1978.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "fp32_flops_per_s", PeakSource::spec), 66.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, "fp64_tensor_flops_per_s", PeakSource::spec), 66.9e12);
  EXPECT_EQ(*datasheet_operations(h200, "bf16_flops_per_s")->detail,
            "data sheet of NVIDIA H200, dense at 1830 MHz");
  EXPECT_EQ(*datasheet_operations(h200, "fp32_flops_per_s")->detail, "data sheet of NVIDIA H200, dense");
  // The table's figures are those of the architecture at the sheet's clock.
  EXPECT_NEAR(operations_at_clock(h200, "bf16_flops_per_s", 1.83e9, "")->value, 989.4e12, 0.1e12);
  EXPECT_NEAR(operations_at_clock(h200, "fp32_flops_per_s", 1.98e9, "")->value, 66.9e12, 0.05e12);
  EXPECT_FALSE(operations_at_clock(h200, "fp4_flops_per_s", 1.98e9, "").has_value());

  Device other = h200;
  other.name = "NVIDIA Hopper of another name";
  EXPECT_FALSE(datasheet_operations(other, "bf16_flops_per_s").has_value());
  for (const DevicePeak& each : device_peaks(other, std::nullopt)) {
    if (each.quantity != "bf16_flops_per_s") continue;
    EXPECT_NEAR(each.value, 1070.5e12, 0.1e12);
    EXPECT_NE(each.detail->find("maximum SM clock: no data sheet"), std::string::npos) << *each.detail;
  }
}

// What the data sheets say.
TEST(DevicePeaks, TheMostFittingNameGivesTheMemory) {
  const auto dram = [](const char* name) {
    Device device = h100();
    device.name = name;
    return peak(device_peaks(device, std::nullopt), "dram_bytes_per_s", PeakSource::spec);
  };
  EXPECT_DOUBLE_EQ(dram("NVIDIA H800"), 3.35e12);
  EXPECT_DOUBLE_EQ(dram("NVIDIA H800 PCIe"), 2.0e12);
  EXPECT_DOUBLE_EQ(dram("NVIDIA H100 PCIe"), 2.0e12);
  EXPECT_DOUBLE_EQ(dram("NVIDIA H100 NVL"), 3.9e12);
  EXPECT_DOUBLE_EQ(dram("NVIDIA H200"), 4.8e12);
  EXPECT_DOUBLE_EQ(dram("NVIDIA B200"), 8.0e12);
}

TEST(DevicePeaks, GeForceBoardsHaveHalfTheTensorRates) {
  Device board = h100();
  board.compute_capability = "8.9";
  board.name = "NVIDIA RTX 6000 Ada Generation";
  const auto professional = device_peaks(board, 2'000'000'000);
  board.name = "NVIDIA GeForce RTX 4090";
  const auto consumer = device_peaks(board, 2'000'000'000);
  for (const char* quantity : {"tf32_flops_per_s", "bf16_flops_per_s", "fp8_flops_per_s"}) {
    const double of_board = peak(professional, quantity, PeakSource::clock);
    EXPECT_GT(of_board, 0) << quantity;
    EXPECT_DOUBLE_EQ(peak(consumer, quantity, PeakSource::clock) * 2, of_board) << quantity;
  }
  EXPECT_DOUBLE_EQ(peak(consumer, "fp32_flops_per_s", PeakSource::clock),
                   peak(professional, "fp32_flops_per_s", PeakSource::clock));
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
  EXPECT_NEAR(peak(peaks, "bf16_flops_per_s", PeakSource::clock) * 2,
              peak(peaks, "bf16_flops_per_s", PeakSource::spec), 0.1e12);
}

}  // namespace
}  // namespace ridgeline::store
