#include "ceilings/core/per_cycle.h"

#include <gtest/gtest.h>

#include "ridgeline/store/device_peaks.h"

namespace ridgeline::ceilings {
namespace {

TEST(CeilingPerCycle, IsWhatTheProfilerTakesForTheSameArchitectures) {
  for (const char* capability : {"8.0", "8.6", "8.9", "9.0", "10.0"}) {
    const auto theirs = store::operations_per_cycle(capability, "NVIDIA board");
    ASSERT_TRUE(theirs) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "fp32"), theirs->fp32) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "fp64"), theirs->fp64) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "fp64_tensor"), theirs->fp64_tensor) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "tf32"), theirs->tf32_tensor) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "fp16"), theirs->fp16_tensor) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "bf16"), theirs->bf16_tensor) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "fp8"), theirs->fp8_tensor) << capability;
    EXPECT_EQ(operations_per_cycle(capability, "int8"), theirs->int8_tensor) << capability;
  }
}

TEST(CeilingPerCycle, WhatIsNotKnownIsNothing) {
  EXPECT_EQ(operations_per_cycle("3.5", "fp32"), 0);
  EXPECT_EQ(operations_per_cycle("9.0", "fp4"), 0);
}

}  // namespace
}  // namespace ridgeline::ceilings
