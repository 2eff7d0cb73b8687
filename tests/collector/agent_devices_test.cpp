// A device's description and its clocks, on a machine of two cards with libraries of our own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cupti/device_info.h"
#include "cupti/device_launches.h"
#include "spool_testing.h"  // what a leak checker need not report
#include "support/temporary_directory.h"

namespace ridgeline::agent {
namespace {

class Devices : public ::testing::Test {
 protected:
  // Once loaded they answer to the names that the agent looks for.
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(RIDGELINE_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    ASSERT_NE(dlopen(RIDGELINE_FAKE_NVML, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }

  void SetUp() override {
    spool::Writer::Options options;
    options.directory = directory_.path();
    options.pid = 1;
    std::string error;
    writer_ = spool::Writer::create(options, &error);
    ASSERT_NE(writer_, nullptr) << error;
    ASSERT_TRUE(nvml_.open(&error)) << error;
  }
  void TearDown() override { unsetenv("CUDA_VISIBLE_DEVICES"); }

  struct Seen {
    spool::DeviceRecord device{};
    spool::ClockSampleRecord clocks{};
  };
  std::optional<Seen> see(std::uint32_t device_id) {
    Seen seen;
    std::string bus;
    if (!describe_device(*writer_, nvml_, device_id, &seen.device, &bus)) return std::nullopt;
    if (!nvml_.sample(nvml_.device(bus), &seen.clocks)) return std::nullopt;
    return seen;
  }

  ridgeline::testing::TemporaryDirectory directory_;
  spool::Writer* writer_ = nullptr;  // never destroyed, as in the agent
  Nvml nvml_;
};

constexpr std::int64_t kMhz = 1'000'000;

TEST_F(Devices, WithoutAChoiceTheyAreNumberedAsTheyAre) {
  const auto first = see(0), second = see(1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->device.uuid[0], 0x10);
  EXPECT_EQ(first->clocks.power_mw, 75'000u);
  EXPECT_EQ(second->device.uuid[0], 0x11);
  EXPECT_EQ(second->clocks.power_mw, 612'000u);
  EXPECT_FALSE(see(2));
}

TEST_F(Devices, DeviceZeroIsTheCardThatTheProgramSees) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const auto only = see(0);
  ASSERT_TRUE(only);
  EXPECT_EQ(only->device.device_id, 0u);
  EXPECT_EQ(only->device.uuid[0], 0x11);
  EXPECT_EQ(only->device.sm_count, 131u);
  EXPECT_EQ(only->device.max_sm_hz, 1755 * kMhz);
  EXPECT_EQ(only->clocks.sm_hz, 1500 * kMhz);
  EXPECT_EQ(only->clocks.power_mw, 612'000u);
  EXPECT_FALSE(see(1));
}

TEST_F(Devices, AnotherOrderIsFollowed) {
  setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  const auto first = see(0), second = see(1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->clocks.sm_hz, 1500 * kMhz);
  EXPECT_EQ(second->clocks.sm_hz, 345 * kMhz);
}

TEST_F(Devices, OthersOnACardAreThoseThatAreNotThisProcess) {
  EXPECT_EQ(nvml_.other_processes(nvml_.device("0000:1B:00.0")), (std::vector<std::uint32_t>{4711, 4712}));
  EXPECT_TRUE(nvml_.other_processes(nvml_.device("0000:3B:00.0")).empty())
      << "in a container the one that is listed may be this one";
  EXPECT_TRUE(nvml_.other_processes(nullptr).empty());
}

TEST_F(Devices, ACardThatNvmlDoesNotKnowHasNoClocks) {
  EXPECT_EQ(nvml_.device("0000:99:00.0"), nullptr);
  spool::ClockSampleRecord clocks{};
  EXPECT_FALSE(nvml_.sample(nullptr, &clocks));
}

// The first contexts and devices lie apart from the others.
TEST(DeviceLaunches, KnowTheLatestOfEachDeviceAndTheDeviceOfEachContext) {
  DeviceLaunches launches;
  for (std::uint32_t context = 0; context < 256; ++context) {
    EXPECT_EQ(launches.device_of(context), DeviceLaunches::kUnknown);
    launches.context_created(context, context % kMaxDevices);
  }
  launches.context_created(256, 3);  // one too many
  EXPECT_EQ(launches.device_of(256), DeviceLaunches::kUnknown);
  for (std::uint32_t context = 0; context < 256; ++context)
    EXPECT_EQ(launches.device_of(context), context % kMaxDevices);
  for (std::uint32_t device = 0; device < kMaxDevices; ++device) {
    EXPECT_EQ(launches.latest(device), 0u);
    EXPECT_EQ(launches.used(), (std::uint64_t{1} << device) - 1);
    launches.note(device, 1000 + device);
  }
  launches.note(kMaxDevices, 7);
  for (std::uint32_t device = 0; device < kMaxDevices; ++device)
    EXPECT_EQ(launches.latest(device), 1000 + device);
  EXPECT_EQ(launches.latest(kMaxDevices), 0u);
  EXPECT_EQ(launches.used(), ~std::uint64_t{0});
}

}  // namespace
}  // namespace ridgeline::agent
