// What NCCL says of its collectives, beside the launches and ranges of the thread.
#include <limits>
#include <thread>

#include "agent_testing.h"
#include "nccl/profiler_events.h"
#include "nccl_events.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

LaunchedCollective all_reduce() {
  LaunchedCollective collective;
  collective.communicator = 0xc0ffee;
  collective.function = "AllReduce";
  collective.element_type = "ncclFloat32";
  collective.algorithm = "RING";
  collective.protocol = "SIMPLE";
  collective.count = 1000;
  collective.channels = 24;
  return collective;
}

class CollectivesOfNccl : public ::testing::Test {
 protected:
  CollectivesOfNccl() : program_(cupti_) {
    program_.start();
    program_.create_context();
  }
  CollectiveRecorder& nccl() { return program_.session().collectives(); }
  FakeCupti cupti_;
  FakeProgram program_;
};

TEST_F(CollectivesOfNccl, AreOfTheLaunchBeforeThemInTheSameRange) {
  program_.push("ncclAllReduce");
  const std::uint32_t launch = program_.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  nccl().launched(all_reduce());
  program_.pop();
  const auto c = program_.contents();
  ASSERT_EQ(c.details.size(), 1U);
  const spool::CollectiveDetailRecord& detail = c.details[0];
  EXPECT_EQ(detail.correlation_id, launch);
  EXPECT_EQ(detail.communicator, 0xc0ffeeU);
  EXPECT_EQ(detail.call_range_id, 0U);
  EXPECT_EQ(detail.message_bytes, 4000U);
  EXPECT_EQ(detail.channels, 24U);
  EXPECT_EQ(c.text(detail.function), "AllReduce");
  EXPECT_EQ(c.text(detail.element_type), "ncclFloat32");
  EXPECT_EQ(c.text(detail.algorithm), "RING");
  EXPECT_EQ(c.text(detail.protocol), "SIMPLE");
}

TEST_F(CollectivesOfNccl, OfAnotherRangesLaunchOrAFailedOneNothingIsSaid) {
  program_.push("ncclGroupEnd");
  program_.launch("nccl", 1, CUDA_ERROR_LAUNCH_FAILED);
  nccl().launched(all_reduce());
  program_.launch("nccl");
  program_.push("inner");
  nccl().launched(all_reduce());
  program_.pop();
  program_.pop();
  program_.launch("nccl");  // in no range
  nccl().launched(all_reduce());
  EXPECT_TRUE(program_.contents().details.empty());
}

TEST_F(CollectivesOfNccl, CapturedLaunchesHaveThem) {
  program_.push("ncclGroupEnd");
  const std::uint32_t captured = program_.launch("nccl", 1, CUDA_SUCCESS, true);
  nccl().launched(all_reduce());
  program_.launch("graph", 1, CUDA_SUCCESS, false, true);  // a launch of a graph is none of theirs
  nccl().launched(all_reduce());
  program_.pop();
  const auto c = program_.contents();
  ASSERT_EQ(c.details.size(), 2U);
  EXPECT_EQ(c.details[0].correlation_id, captured);
  EXPECT_EQ(c.details[1].correlation_id, captured);
}

// By the time it launches a gather or broadcast NCCL counts bytes.
TEST_F(CollectivesOfNccl, TheTypeOfMovedBytesIsThatOfTheCall) {
  LaunchedCollective gather = all_reduce();
  gather.function = "AllGather";
  gather.element_type = "ncclInt8";
  program_.push("ncclAllGather");
  const std::uint64_t range = 1;
  program_.launch("nccl");
  nccl().launched(gather);
  gather.call = nccl().called("ncclBfloat16");
  ASSERT_NE(gather.call, 0U);
  nccl().launched(gather);
  program_.pop();
  const auto c = program_.contents();
  ASSERT_EQ(c.details.size(), 2U);
  EXPECT_EQ(c.details[0].element_type, 0U) << "without a call nobody knows";
  EXPECT_EQ(c.text(c.details[1].element_type), "ncclBfloat16");
  EXPECT_EQ(c.details[1].call_range_id, range);
  EXPECT_EQ(c.details[1].message_bytes, 1000U) << "counted as they are moved";
}

// Kernels that need a thread of the host's: the driver's thread tells of the call with every launch of its graph.
TEST_F(CollectivesOfNccl, OnAnotherThreadTheyAreOfTheCallAndAreSaidOnce) {
  LaunchedCollective collective = all_reduce();
  LaunchedCollective other = all_reduce();
  program_.push("ncclAllReduce");
  collective.call = nccl().called("ncclFloat32");
  program_.launch("nccl");
  program_.pop();
  program_.push("ncclAllReduce");
  other.call = nccl().called("ncclFloat16");
  program_.pop();
  std::thread([&] {
    nccl().launched(all_reduce());  // of no call and no launch
    for (int launch = 0; launch < 3; ++launch) {
      nccl().launched(collective);
      nccl().launched(other);
    }
  }).join();
  const auto c = program_.contents();
  ASSERT_EQ(c.details.size(), 2U);
  EXPECT_EQ(c.details[0].correlation_id, 0U);
  EXPECT_EQ(c.details[0].call_range_id, 1U);
  EXPECT_EQ(c.details[1].call_range_id, 2U);
  EXPECT_EQ(c.text(c.details[1].element_type), "ncclFloat16");
}

TEST_F(CollectivesOfNccl, OfEachVersionTheFieldsAreWhereNcclHasThem) {
  using testing::kNcclHash;
  using testing::nccl_collective;
  using testing::NcclEvent;
  for (const int version : {3, 4, 5}) {
    SCOPED_TRACE(version);
    program_.push("ncclReduceScatter");
    void* call = nullptr;
    if (version == 5) {
      NcclEvent begins = testing::nccl_call("ncclFloat16");
      call = nccl::on_event(program_.session(), kNcclHash, *static_cast<nccl::EventV5*>(begins.data()));
    }
    const std::uint32_t launch = program_.launch("nccl");
    NcclEvent event = nccl_collective(version, {.function = "ReduceScatter", .type = "ncclFloat16"}, call);
    void* handle = nullptr;
    if (version == 3)
      handle = nccl::on_event(program_.session(), *static_cast<nccl::EventV3*>(event.data()));
    else if (version == 4)
      handle = nccl::on_event(program_.session(), kNcclHash, *static_cast<nccl::EventV4*>(event.data()));
    else
      handle = nccl::on_event(program_.session(), kNcclHash, *static_cast<nccl::EventV5*>(event.data()));
    EXPECT_EQ(handle, nullptr);
    program_.pop();
    const auto c = program_.contents();
    ASSERT_FALSE(c.details.empty());
    const spool::CollectiveDetailRecord& detail = c.details.back();
    EXPECT_EQ(detail.correlation_id, launch);
    EXPECT_EQ(detail.communicator, kNcclHash);
    EXPECT_EQ(detail.message_bytes, 512U);
    EXPECT_EQ(detail.channels, version == 3 ? 0U : 16U) << "of version 3 it is the most that it may have";
    EXPECT_EQ(c.text(detail.function), "ReduceScatter");
    EXPECT_EQ(c.text(detail.element_type), "ncclFloat16");
    EXPECT_EQ(c.text(detail.algorithm), "NVLS");
    EXPECT_EQ(c.text(detail.protocol), "LL128");
  }
}

TEST_F(CollectivesOfNccl, WhatCannotBeCountedHasNoBytes) {
  program_.push("ncclAllReduce");
  program_.launch("nccl");
  LaunchedCollective large = all_reduce();
  large.count = std::numeric_limits<std::uint64_t>::max();
  nccl().launched(large);
  LaunchedCollective unknown;
  unknown.element_type = "ncclFloat4";
  unknown.count = 8;
  nccl().launched(unknown);
  program_.pop();
  const auto c = program_.contents();
  ASSERT_EQ(c.details.size(), 2U);
  EXPECT_EQ(c.details[0].message_bytes, 0U);
  EXPECT_EQ(c.details[1].message_bytes, 0U);
  EXPECT_EQ(c.details[1].function, 0U);
}

TEST_F(CollectivesOfNccl, OutsideRangesAndAfterTheEndNothingIsSaid) {
  EXPECT_EQ(nccl().called("ncclFloat32"), 0U) << "in no range";
  program_.push("ncclAllReduce");
  program_.launch("nccl");
  program_.session().at_exit(spool::EndReason::exit);
  EXPECT_EQ(nccl().called("ncclFloat32"), 0U);
  nccl().launched(all_reduce());
  EXPECT_TRUE(program_.contents().details.empty());
}

}  // namespace
}  // namespace ridgeline::agent
