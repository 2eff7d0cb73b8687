// Device memory that the program takes and returns.
#include "agent_testing.h"
#include "cupti/order_calls.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

std::uint32_t allocate(FakeProgram& program, CUdeviceptr address, std::size_t bytes,
                       CUresult result = CUDA_SUCCESS) {
  CUdeviceptr made = 0;
  cuMemAlloc_v2_params params{&made, bytes};
  return program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &params, result, [&] { made = address; });
}
std::uint32_t release(FakeProgram& program, CUdeviceptr address) {
  cuMemFree_v2_params params{address};
  return program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, &params);
}

TEST(Memory, AnAllocationAndItsReturnNameTheSameAddress) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.use_device(1);
  program.create_context();
  const std::uint32_t taken = allocate(program, 0x7000, 4096);
  const std::uint32_t returned = release(program, 0x7000);
  release(program, 0);
  allocate(program, 0x8000, 1, CUDA_ERROR_OUT_OF_MEMORY);
  const auto c = program.contents();
  ASSERT_EQ(c.memory.size(), 2u);
  EXPECT_EQ(c.memory[0].call, MemoryCall::allocate);
  EXPECT_EQ(c.memory[0].correlation_id, taken);
  EXPECT_EQ(c.memory[0].address, 0x7000u);
  EXPECT_EQ(c.memory[0].bytes, 4096);
  EXPECT_EQ(c.memory[0].device_id, 1u);
  EXPECT_EQ(c.memory[1].call, MemoryCall::free);
  EXPECT_EQ(c.memory[1].correlation_id, returned);
  EXPECT_EQ(c.memory[1].address, 0x7000u);
  EXPECT_EQ(c.memory[1].bytes, 0);
}

TEST(Memory, EachWayToTakeMemorySaysItsBytes) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  CUdeviceptr made = 0x9000;
  std::size_t pitch = 512;
  cuMemAllocPitch_v2_params pitched{&made, &pitch, 500, 10, 4};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, &pitched);
  cuMemAllocManaged_params managed{&made, 77, 1};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, &managed);
  cuMemAllocAsync_params ordered{&made, 88, nullptr};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz, &ordered);
  cuMemAllocFromPoolAsync_params pooled{&made, 99, nullptr, nullptr};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, &pooled);
  CUmemGenericAllocationHandle handle = 5;
  CUmemAllocationProp prop{};
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 3};
  cuMemCreate_params physical{&handle, 1u << 21, &prop, 0};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &physical);
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &physical);  // memory of the host
  cuMemFreeAsync_params freed{0x9000, nullptr};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, &freed);
  cuMemRelease_params returned{5};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemRelease, &returned);
  std::vector<std::pair<MemoryCall, std::int64_t>> calls;
  const auto c = program.contents();
  for (const auto& call : c.memory) calls.emplace_back(call.call, call.bytes);
  EXPECT_EQ(calls, (std::vector<std::pair<MemoryCall, std::int64_t>>{{MemoryCall::allocate, 5120},
                                                                     {MemoryCall::allocate_managed, 77},
                                                                     {MemoryCall::allocate_async, 88},
                                                                     {MemoryCall::allocate_async, 99},
                                                                     {MemoryCall::allocate_physical, 1 << 21},
                                                                     {MemoryCall::free_async, 0},
                                                                     {MemoryCall::free_physical, 0}}));
  EXPECT_EQ(c.memory[4].device_id, 3u);
}

TEST(Memory, IntoACaptureNothingIsTakenYet) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const auto stream = reinterpret_cast<CUstream>(0x90);
  cuStreamBeginCapture_v2_params begin{stream, CU_STREAM_CAPTURE_MODE_GLOBAL};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  cupti.stream_captures = true;
  CUdeviceptr made = 0x9000;
  cuMemAllocAsync_params ordered{&made, 88, stream};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, &ordered);
  EXPECT_TRUE(program.contents().memory.empty());
}

TEST(Memory, OutsideAWindowItIsRecordedToo) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_WAIT", "1"}}, true);
  ASSERT_TRUE(program.start());
  allocate(program, 0x7000, 4096);
  EXPECT_EQ(program.contents().memory.size(), 1u);
}

TEST(Memory, BeyondTheLimitCallsAreCounted) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  for (std::uint32_t i = 0; i < MemoryRecorder::kMaxRecords + 3; ++i) allocate(program, 0x7000, 16);
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  EXPECT_EQ(c.memory.size(), MemoryRecorder::kMaxRecords);
  ASSERT_EQ(c.left_out.size(), 1u);
  EXPECT_EQ(c.left_out[0].what, LeftOut::memory_calls);
  EXPECT_EQ(c.left_out[0].count, 3u);
}

}  // namespace
}  // namespace ridgeline::agent
