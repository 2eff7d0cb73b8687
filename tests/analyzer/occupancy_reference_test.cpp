// Theoretical occupancy against cuda_occupancy.h, the calculator of the CUDA toolkit itself.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include "ridgeline/analyzer/ranking/occupancy.h"

namespace ridgeline::analyzer {
namespace {

struct Device {
  int major, minor, threads;
  std::size_t shared_kib;
};

std::int64_t reference(const Device& of, int threads, int registers, std::size_t shared_bytes) {
  cudaOccDeviceProp device;
  device.computeMajor = of.major;
  device.computeMinor = of.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = of.threads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerMultiprocessor = of.shared_kib * 1024;
  device.reservedSharedMemPerBlock = of.major >= 8 ? 1024 : 0;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerBlockOptin = device.sharedMemPerMultiprocessor - device.reservedSharedMemPerBlock;
  device.numSms = 1;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = 1024;
  function.numRegs = registers;
  function.sharedSizeBytes = 0;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = device.sharedMemPerBlockOptin;
  cudaOccDeviceState state;
  // What a device of Pascal would leave to L1 is left to shared memory here, as on all later ones.
  cudaOccResult result;
  const auto status =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared_bytes);
  EXPECT_EQ(status, CUDA_OCC_SUCCESS) << of.major << "." << of.minor;
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

TEST(OccupancyReference, SaysTheSameOfEveryShape) {
  const Device kDevices[] = {{7, 0, 2048, 96},   {7, 5, 1024, 64},   {8, 0, 2048, 164},  {8, 6, 1536, 100},
                             {8, 7, 1536, 164},  {8, 9, 1536, 100},  {9, 0, 2048, 228},  {10, 0, 2048, 228},
                             {10, 3, 2048, 228}, {11, 0, 1536, 228}, {12, 0, 1536, 100}, {12, 1, 1536, 100}};
  std::int64_t compared = 0;
  for (const Device& device : kDevices) {
    const std::string capability = std::to_string(device.major) + "." + std::to_string(device.minor);
    for (int threads = 1; threads <= 1024; threads += threads < 34 ? 1 : 31) {
      for (int registers = 0; registers <= 255; registers += registers < 64 ? 3 : 7) {
        for (const std::size_t shared :
             {0, 1, 127, 128, 129, 1000, 8192, 20000, 49152, 65000, 100000, 113 * 1024}) {
          if (shared > device.shared_kib * 1024 - (device.major >= 8 ? 1024 : 0)) continue;
          store::Launch launch;
          launch.block = {threads, 1, 1};
          launch.registers_per_thread = registers;
          launch.dynamic_smem_bytes = static_cast<std::int64_t>(shared);
          const auto occupancy = theoretical_occupancy(launch, capability);
          ASSERT_EQ(occupancy ? occupancy->blocks : 0, reference(device, threads, registers, shared))
              << capability << ": " << threads << " threads, " << registers << " registers, " << shared
              << " bytes";
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 100'000);
}

}  // namespace
}  // namespace ridgeline::analyzer
