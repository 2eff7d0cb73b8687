#include "ridgeline/store/device_peaks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "support/accepted_cases.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::accepted;

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

double peak(const std::vector<DevicePeak>& peaks, Quantity quantity, PeakSource source) {
  for (const DevicePeak& each : peaks) {
    if (each.quantity == quantity && each.source == source) return each.value;
  }
  return 0;
}

TEST(DevicePeaks, AgreeWithPublishedFigures) {
  const auto peaks = accepted(device_peaks(h100(), std::nullopt));
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::dram_bytes_per_s, PeakSource::spec), 3.35e12);
  EXPECT_NEAR(peak(peaks, Quantity::bf16_flops_per_s, PeakSource::spec), 989.4e12, 0.2e12);
  EXPECT_NEAR(peak(peaks, Quantity::fp8_flops_per_s, PeakSource::spec), 1978.9e12, 0.3e12);
  EXPECT_NEAR(peak(peaks, Quantity::tf32_flops_per_s, PeakSource::spec), 494.7e12, 0.1e12);
  Device a100 = h100();
  a100.name = "NVIDIA A100-SXM4-80GB";
  a100.compute_capability = "8.0";
  a100.sm_count = 108;
  a100.max_sm_clock_hz = 1'410'000'000;
  const auto older = accepted(device_peaks(a100, std::nullopt));
  EXPECT_NEAR(peak(older, Quantity::bf16_flops_per_s, PeakSource::spec), 312e12, 0.2e12);
  EXPECT_NEAR(peak(older, Quantity::fp32_flops_per_s, PeakSource::spec), 19.5e12, 0.05e12);
  EXPECT_EQ(peak(older, Quantity::fp8_flops_per_s, PeakSource::spec), 0);
  EXPECT_DOUBLE_EQ(peak(older, Quantity::dram_bytes_per_s, PeakSource::spec), 2.039e12);
}

// 1980 MHz is the highest clock of an H200, but not the one that its data sheet's tensor figures rest on.
TEST(DevicePeaks, TheDataSheetCountsNotTheHighestClock) {
  Device h200 = h100();
  h200.name = "NVIDIA H200";
  h200.max_sm_clock_hz = 1'980'000'000;
  const auto peaks = accepted(device_peaks(h200, std::nullopt));
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::bf16_flops_per_s, PeakSource::spec), 989.4e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::fp16_flops_per_s, PeakSource::spec), 989.4e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::tf32_flops_per_s, PeakSource::spec), 494.7e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::fp8_flops_per_s, PeakSource::spec), 1978.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::int8_ops_per_s, PeakSource::spec), 1978.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::fp32_flops_per_s, PeakSource::spec), 66.9e12);
  EXPECT_DOUBLE_EQ(peak(peaks, Quantity::fp64_tensor_flops_per_s, PeakSource::spec), 66.9e12);
  EXPECT_EQ(*datasheet_operations(h200, Quantity::bf16_flops_per_s)->detail,
            "data sheet of NVIDIA H200, dense at 1830 MHz");
  EXPECT_EQ(*datasheet_operations(h200, Quantity::fp32_flops_per_s)->detail,
            "data sheet of NVIDIA H200, dense");
  // The table's figures are those of the architecture at the sheet's clock.
  EXPECT_NEAR(accepted(operations_at_clock(h200, Quantity::bf16_flops_per_s, 1.83e9, ""))->value, 989.4e12,
              0.1e12);
  EXPECT_NEAR(accepted(operations_at_clock(h200, Quantity::fp32_flops_per_s, 1.98e9, ""))->value, 66.9e12,
              0.05e12);
  EXPECT_FALSE(accepted(operations_at_clock(h200, Quantity::l2_bytes_per_s, 1.98e9, "")).has_value());

  Device other = h200;
  other.name = "NVIDIA Hopper of another name";
  EXPECT_FALSE(accepted(datasheet_operations(other, Quantity::bf16_flops_per_s)).has_value());
  for (const DevicePeak& each : accepted(device_peaks(other, std::nullopt))) {
    if (each.quantity != Quantity::bf16_flops_per_s) continue;
    EXPECT_NEAR(each.value, 1070.5e12, 0.1e12);
    EXPECT_NE(each.detail->find("maximum SM clock: no data sheet"), std::string::npos) << *each.detail;
  }
}

// What the data sheets say.
TEST(DevicePeaks, TheMostFittingNameGivesTheMemory) {
  const auto dram = [](const char* name) {
    Device device = h100();
    device.name = name;
    return peak(accepted(device_peaks(device, std::nullopt)), Quantity::dram_bytes_per_s, PeakSource::spec);
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
  const auto professional = accepted(device_peaks(board, 2'000'000'000));
  board.name = "NVIDIA GeForce RTX 4090";
  const auto consumer = accepted(device_peaks(board, 2'000'000'000));
  for (const Quantity quantity :
       {Quantity::tf32_flops_per_s, Quantity::bf16_flops_per_s, Quantity::fp8_flops_per_s}) {
    const double of_board = peak(professional, quantity, PeakSource::clock);
    EXPECT_GT(of_board, 0) << to_string(quantity);
    EXPECT_DOUBLE_EQ(peak(consumer, quantity, PeakSource::clock) * 2, of_board) << to_string(quantity);
  }
  EXPECT_DOUBLE_EQ(peak(consumer, Quantity::fp32_flops_per_s, PeakSource::clock),
                   peak(professional, Quantity::fp32_flops_per_s, PeakSource::clock));
}

TEST(DevicePeaks, UnknownDevicesGetWhatTheirClocksSay) {
  Device device = h100();
  device.name = "NVIDIA Something New";
  device.compute_capability = "99.0";
  const auto peaks = accepted(device_peaks(device, 1'000'000'000));
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_DOUBLE_EQ(peaks[0].value, 2.619e9 * 5120 / 8 * 2);
  device.max_memory_clock_hz.reset();
  EXPECT_TRUE(accepted(device_peaks(device, std::nullopt)).empty());
}

TEST(DevicePeaks, TheMeasuredClockGivesAPeakOfItsOwn) {
  const auto peaks = accepted(device_peaks(h100(), 915'000'000));
  EXPECT_NEAR(peak(peaks, Quantity::bf16_flops_per_s, PeakSource::clock) * 2,
              peak(peaks, Quantity::bf16_flops_per_s, PeakSource::spec), 0.1e12);
}

constexpr Quantity kOperations[] = {Quantity::fp64_flops_per_s, Quantity::fp64_tensor_flops_per_s,
                                    Quantity::fp32_flops_per_s, Quantity::tf32_flops_per_s,
                                    Quantity::fp16_flops_per_s, Quantity::bf16_flops_per_s,
                                    Quantity::fp8_flops_per_s,  Quantity::int8_ops_per_s};

// The vendor's published figures, 10^12 dense operations a second, follow from SMs and clock; 0: the unit is absent
// or the vendor prints no figure.
TEST(DevicePeaks, SmsTimesClockGiveThePublishedFigures) {
  struct Board {
    const char* name;
    const char* capability;
    std::int64_t sms;
    double clock_hz;
    double published[8];
  };
  const Board boards[] = {
      {"Tesla V100-SXM2-16GB", "7.0", 80, 1.530e9, {7.8, 0, 15.7, 0, 125, 0, 0, 0}},
      {"Tesla T4", "7.5", 40, 1.590e9, {0, 0, 8.1, 0, 65, 0, 0, 130}},
      {"NVIDIA A100-SXM4-80GB", "8.0", 108, 1.410e9, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624}},
      {"NVIDIA A40", "8.6", 84, 1.740e9, {0.585, 0, 37.4, 74.8, 149.7, 149.7, 0, 299.3}},
      {"NVIDIA RTX 6000 Ada Generation",
       "8.9",
       142,
       2.505e9,
       {1.423, 0, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5}},
      {"NVIDIA H100 80GB HBM3 (tensor)", "9.0", 132, 1.830e9, {0, 0, 0, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
      {"NVIDIA H100 80GB HBM3 (others)", "9.0", 132, 1.980e9, {33.5, 66.9, 66.9, 0, 0, 0, 0, 0}},
      {"NVIDIA B200", "10.0", 148, 1.850e9, {0, 0, 0, 1125, 2250, 2250, 4500, 0}},
      {"NVIDIA RTX PRO 6000 Blackwell", "12.0", 188, 2.617e9, {0, 0, 126, 251.9, 503.8, 503.8, 1007.6, 0}},
  };
  for (const Board& board : boards) {
    Device device;
    device.name = board.name;
    device.compute_capability = board.capability;
    device.sm_count = board.sms;
    for (std::size_t i = 0; i < std::size(kOperations); ++i) {
      if (board.published[i] == 0) continue;
      const auto peak = accepted(operations_at_clock(device, kOperations[i], board.clock_hz, ""));
      ASSERT_TRUE(peak.has_value()) << board.name << " " << to_string(kOperations[i]);
      EXPECT_NEAR(peak->value / (board.published[i] * 1e12), 1, 0.008)
          << board.name << " " << to_string(kOperations[i]);
      EXPECT_EQ(peak->source, PeakSource::clock);
      // Figures are rounded; units of an SM come in powers of two.
      const auto per_cycle = static_cast<std::uint64_t>(
          std::llround(peak->value / board.clock_hz / static_cast<double>(board.sms)));
      EXPECT_TRUE(std::has_single_bit(per_cycle))
          << board.name << " " << to_string(kOperations[i]) << " " << per_cycle;
    }
  }
  // Units that a chip does not have.
  const auto absent = [](const char* capability, Quantity quantity) {
    Device device;
    device.compute_capability = capability;
    device.sm_count = 100;
    return !accepted(operations_at_clock(device, quantity, 1e9, "")).has_value();
  };
  for (const Quantity quantity : {Quantity::tf32_flops_per_s, Quantity::bf16_flops_per_s,
                                  Quantity::fp8_flops_per_s, Quantity::int8_ops_per_s})
    EXPECT_TRUE(absent("7.0", quantity)) << to_string(quantity);
  for (const Quantity quantity : {Quantity::fp64_tensor_flops_per_s, Quantity::fp8_flops_per_s}) {
    EXPECT_TRUE(absent("8.6", quantity)) << to_string(quantity);
    EXPECT_TRUE(absent("7.5", quantity)) << to_string(quantity);
  }
  EXPECT_TRUE(absent("8.0", Quantity::fp8_flops_per_s));
  EXPECT_TRUE(absent("8.9", Quantity::fp64_tensor_flops_per_s));
}

// What the sheets say of boards by their names: memory in TB/s, then 10^12 operations a second as above.
TEST(DevicePeaks, BoardsHaveTheFiguresOfTheirDataSheets) {
  struct Board {
    const char* name;
    double memory;
    double operations[8];
  };
  const Board boards[] = {
      {"NVIDIA H200 NVL", 4.8, {30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
      {"NVIDIA GH200 480GB", 4.0, {33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
      {"NVIDIA GH200 144G HBM3e", 4.9, {33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
      {"NVIDIA H100 NVL", 3.9, {30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
      {"NVIDIA H100 PCIe", 2.0, {25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513}},
      {"NVIDIA H100 80GB HBM3", 3.35, {33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9}},
      {"NVIDIA A100-SXM4-80GB", 2.039, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624}},
      {"NVIDIA A100 80GB PCIe", 1.935, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624}},
      {"NVIDIA A100-SXM4-40GB", 1.555, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624}},
      {"NVIDIA A100-PCIE-40GB", 1.555, {9.7, 19.5, 19.5, 156, 312, 312, 0, 624}},
      {"NVIDIA A30", 0.933, {5.2, 10.3, 10.3, 82, 165, 165, 0, 330}},
      {"NVIDIA A40", 0.696, {0, 0, 37.4, 74.8, 149.7, 149.7, 0, 299.3}},
      {"NVIDIA L40S", 0.864, {0, 0, 91.6, 183, 362.05, 362.05, 733, 733}},
      {"NVIDIA L40", 0.864, {0, 0, 90.5, 90.5, 181.05, 181.05, 362, 362}},
      {"Tesla V100-SXM2-32GB", 0.9, {7.8, 0, 15.7, 0, 125, 0, 0, 0}},
      {"Tesla T4", 0.32, {0, 0, 8.1, 0, 65, 0, 0, 130}},
      {"NVIDIA H20", 4.0, {}},
      {"NVIDIA B300", 8.0, {}},
      {"NVIDIA A10G", 0.6, {}},
  };
  for (const Board& board : boards) {
    Device device;
    device.name = board.name;
    EXPECT_DOUBLE_EQ(accepted(datasheet_dram_bytes_per_s(board.name)).value_or(0), board.memory * 1e12)
        << board.name;
    for (std::size_t i = 0; i < std::size(kOperations); ++i) {
      const auto peak = accepted(datasheet_operations(device, kOperations[i]));
      EXPECT_DOUBLE_EQ(peak ? peak->value : 0, board.operations[i] * 1e12)
          << board.name << " " << to_string(kOperations[i]);
    }
  }
  EXPECT_FALSE(accepted(datasheet_dram_bytes_per_s("NVIDIA GeForce RTX 4090")).has_value());
}

}  // namespace
}  // namespace ridgeline::store
