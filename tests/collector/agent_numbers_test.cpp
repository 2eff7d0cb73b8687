// Numbers of CUPTI's that the launcher has without its headers.
#include <cupti.h>
#include <gtest/gtest.h>

#include "tracing_loop.h"

namespace ridgeline::agent::testing {
namespace {

TEST(CuptiNumbers, OfTheLauncherAreThoseOfTheHeaders) {
  EXPECT_EQ(launch::cupti_numbers::kDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(launch::cupti_numbers::kLaunchKernel, unsigned{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel});
  EXPECT_EQ(launch::cupti_numbers::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

}  // namespace
}  // namespace ridgeline::agent::testing
