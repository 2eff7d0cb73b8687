// What orders work on the devices: events, streams that wait, host functions, and the edges of graphs.
#include <unistd.h>

#include "agent_testing.h"
#include "cupti/launch_params.h"
#include "cupti/order_calls.h"
#include "cupti/wait_calls.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr CUpti_CallbackId kRecord = CUPTI_DRIVER_TRACE_CBID_cuEventRecord;
constexpr CUpti_CallbackId kWait = CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent;

CUstream stream(std::uintptr_t id) {
  return reinterpret_cast<CUstream>(id << 4);
}
CUevent event(std::uintptr_t handle) {
  return reinterpret_cast<CUevent>(handle);
}
std::uint32_t record_event(FakeProgram& program, CUevent of, CUstream on, CUresult result = CUDA_SUCCESS,
                           CUpti_CallbackId id = kRecord) {
  cuEventRecord_params params{of, on};
  return program.call_with(id, &params, result);
}
std::uint32_t wait_for(FakeProgram& program, CUstream on, CUevent of, CUpti_CallbackId id = kWait) {
  cuStreamWaitEvent_params params{on, of, 0};
  return program.call_with(id, &params);
}
CUstream make_stream(FakeProgram& program, std::uintptr_t id, unsigned flags, int priority = 0) {
  CUstream made = nullptr;
  cuStreamCreateWithPriority_params params{&made, flags, priority};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, &params, CUDA_SUCCESS,
                    [&] { made = stream(id); });
  return made;
}

TEST(Order, AnEventIsRecordedAndAnotherStreamWaitsForIt) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.push("step");
  const std::uint32_t recorded = record_event(program, event(0xe0), stream(20));
  const std::uint32_t waited = wait_for(program, stream(21), event(0xe0));
  program.pop();
  const auto c = program.contents();
  ASSERT_EQ(c.stream_calls.size(), 2u);
  const spool::StreamCallRecord& record = c.stream_calls[0];
  EXPECT_EQ(record.call, StreamCall::event_record);
  EXPECT_EQ(record.correlation_id, recorded);
  EXPECT_EQ(record.stream_id, 20u);
  EXPECT_EQ(record.context_id, 1u);
  EXPECT_EQ(record.event, 0xe0u);
  EXPECT_EQ(record.step_index, 0u);
  EXPECT_EQ(record.thread_id, static_cast<std::uint32_t>(gettid()));
  EXPECT_GT(record.time_ns, 0);
  EXPECT_EQ(c.stream_calls[1].call, StreamCall::event_wait);
  EXPECT_EQ(c.stream_calls[1].correlation_id, waited);
  EXPECT_EQ(c.stream_calls[1].stream_id, 21u);
  EXPECT_EQ(c.stream_calls[1].event, 0xe0u);
  ASSERT_EQ(c.windows.size(), 1u);
  EXPECT_NE(c.windows[0].header.flags & spool::kWindowHasStreamCalls, 0);
}

TEST(Order, EveryFormOfTheCallsCounts) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  record_event(program, event(1), nullptr);
  record_event(program, event(1), nullptr, CUDA_SUCCESS, CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz);
  cuEventRecordWithFlags_params flags{event(1), stream(9), 0};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags, &flags);
  flags.hStream = nullptr;
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz, &flags);
  wait_for(program, nullptr, event(1));
  wait_for(program, nullptr, event(1), CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz);
  std::vector<std::uint32_t> streams;
  for (const auto& call : program.contents().stream_calls) streams.push_back(call.stream_id);
  EXPECT_EQ(streams, (std::vector<std::uint32_t>{7, 8, 9, 8, 7, 8}));
  for (const CUpti_CallbackId id : event_callbacks()) EXPECT_NE(order_call(id), OrderCall::none) << id;
  for (const CUpti_CallbackId id : kLaunchCallbacks) {
    EXPECT_EQ(order_call(id), OrderCall::none) << id;
    EXPECT_FALSE(memory_call(id)) << id;
  }
  for (const CUpti_CallbackId id : wait_callbacks()) EXPECT_EQ(order_call(id), OrderCall::none) << id;
  EXPECT_EQ(order_call(CUPTI_DRIVER_TRACE_CBID_SIZE), OrderCall::none);
  EXPECT_FALSE(memory_call(CUPTI_DRIVER_TRACE_CBID_SIZE));
}

TEST(Order, WhatFailedOrIsPartOfACaptureHasNoRecord) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  record_event(program, event(1), stream(9), CUDA_ERROR_INVALID_HANDLE);
  record_event(program, nullptr, stream(9));
  EXPECT_TRUE(program.contents().stream_calls.empty());
  EXPECT_EQ(cupti.capture_queries, 0) << "no capture is under way: nobody is asked";
  cuStreamBeginCapture_v2_params begin{stream(9), CU_STREAM_CAPTURE_MODE_GLOBAL};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  cupti.stream_captures = true;
  record_event(program, event(1), stream(9));
  wait_for(program, stream(10), event(1));
  cuLaunchHostFunc_params function{stream(9), nullptr, nullptr};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, &function);
  EXPECT_TRUE(program.contents().stream_calls.empty());
  EXPECT_EQ(cupti.capture_queries, 4) << "and one of the replay's for the host function";
}

TEST(Order, AStreamIsWrittenWithItsKindAndKnownWithoutAskingAgain) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.use_device(1);
  const CUstream made = make_stream(program, 33, CU_STREAM_NON_BLOCKING, -5);
  make_stream(program, 34, 0);
  program.use_device(0);  // events may be recorded on a stream whose context is not current
  const int asked = cupti.stream_queries;
  record_event(program, event(1), made);
  EXPECT_EQ(cupti.stream_queries, asked);
  const auto c = program.contents();
  ASSERT_EQ(c.streams.size(), 2u);
  EXPECT_EQ(c.streams[0].kind, StreamKind::non_blocking);
  EXPECT_EQ(c.streams[0].stream_id, 33u);
  EXPECT_EQ(c.streams[0].context_id, 2u);
  EXPECT_EQ(c.streams[0].priority, -5);
  EXPECT_EQ(c.streams[1].kind, StreamKind::blocking);
  ASSERT_EQ(c.stream_calls.size(), 1u);
  EXPECT_EQ(c.stream_calls[0].context_id, 2u);
  EXPECT_EQ(c.stream_calls[0].stream_id, 33u);
}

TEST(Order, ALaunchSaysOnceWhichStreamIsTheDefaultOne) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  program.launch("k");
  program.launch("k");
  for (const std::uint32_t device : {1, 0, 1, 0}) {  // in turn
    program.use_device(device);
    program.launch("k");
  }
  const auto c = program.contents();
  ASSERT_EQ(c.streams.size(), 2u);
  for (const auto& each : c.streams) {
    EXPECT_EQ(each.kind, StreamKind::legacy);
    EXPECT_EQ(each.stream_id, 7u);
  }
  EXPECT_EQ(c.streams[0].context_id, 1u);
  EXPECT_EQ(c.streams[1].context_id, 2u);
}

TEST(Order, AStreamThatCuptiDoesNotKnowIsCounted) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  cupti.stream_result = CUPTI_ERROR_INVALID_STREAM;
  record_event(program, event(1), stream(9));
  record_event(program, event(1), stream(9));
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  EXPECT_TRUE(c.stream_calls.empty());
  ASSERT_EQ(c.left_out.size(), 1u);
  EXPECT_EQ(c.left_out[0].what, LeftOut::stream_calls);
  EXPECT_EQ(c.left_out[0].count, 2u);
}

TEST(Order, HostFunctionsAndOtherHoldsSayWhatTheyAre) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_TIERS", "T0"}});
  ASSERT_TRUE(program.start());
  cuLaunchHostFunc_params function{stream(9), nullptr, nullptr};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, &function);
  cuStreamAddCallback_params added{stream(9), nullptr, nullptr, 0};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamAddCallback, &added);
  cuStreamWaitValue32_params value{};
  value.stream = stream(9);
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue32, &value);
  cuStreamBatchMemOp_params operations{};
  operations.stream = stream(9);
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamBatchMemOp, &operations);
  cuWaitExternalSemaphoresAsync_params semaphore{};
  semaphore.stream = stream(9);
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync, &semaphore);
  std::vector<StreamCall> calls;
  for (const auto& call : program.contents().stream_calls) {
    calls.push_back(call.call);
    EXPECT_EQ(call.stream_id, 9u);
  }
  EXPECT_EQ(calls, (std::vector<StreamCall>{StreamCall::host_function, StreamCall::host_callback,
                                            StreamCall::memory_wait, StreamCall::memory_operations,
                                            StreamCall::semaphore_wait}));
}

TEST(Order, AWaitOfTheHostSaysForWhat) {
  FakeCupti cupti;
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  cuEventSynchronize_params for_event{event(0xe1)};
  const std::uint32_t first =
      program.call(CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, 10'000, {}, CUDA_SUCCESS, &for_event);
  cuStreamSynchronize_params for_stream{stream(12)};
  const std::uint32_t second =
      program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, 10'000, {}, CUDA_SUCCESS, &for_stream);
  program.call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, 0, {}, CUDA_SUCCESS,
               &for_stream);  // waited for nothing
  program.call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 10'000);
  const auto c = program.contents();
  EXPECT_EQ(c.waits.size(), 3u);
  ASSERT_EQ(c.stream_calls.size(), 2u);
  EXPECT_EQ(c.stream_calls[0].call, StreamCall::event_awaited);
  EXPECT_EQ(c.stream_calls[0].event, 0xe1u);
  EXPECT_EQ(c.stream_calls[0].correlation_id, first);
  EXPECT_EQ(c.stream_calls[1].call, StreamCall::stream_awaited);
  EXPECT_EQ(c.stream_calls[1].stream_id, 12u);
  EXPECT_EQ(c.stream_calls[1].correlation_id, second);
}

TEST(Order, OutsideAWindowEventsHaveNoCallbackButStreamsAndGraphsHave) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_AFTER_MS", "3000"}, {"RIDGELINE_DURATION_MS", "1000"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (double t = 0; t < 1; t += 0.05) program.session().tick(cupti.clock_ns += 50'000'000);
  EXPECT_FALSE(cupti.enabled_calls.contains(kRecord));
  EXPECT_FALSE(cupti.enabled_calls.contains(kWait));
  for (const CUpti_CallbackId id : lasting_callbacks()) EXPECT_TRUE(cupti.enabled_calls.contains(id)) << id;
  record_event(program, event(1), stream(9));
  EXPECT_TRUE(program.contents().stream_calls.empty());
  for (double t = 0; t < 2.2; t += 0.05) program.session().tick(cupti.clock_ns += 50'000'000);
  EXPECT_TRUE(cupti.enabled_calls.contains(kRecord));
  record_event(program, event(1), stream(9));
  EXPECT_EQ(program.contents().stream_calls.size(), 1u);
}

TEST(Order, WithoutIdsOfStreamsAWindowSaysThatItHasNoOrder) {
  FakeCupti cupti;
  for (const CUpti_CallbackId id : event_callbacks()) cupti.refused_calls.insert(id);
  FakeProgram program(cupti);
  ASSERT_TRUE(program.start());
  const auto c = program.contents();
  ASSERT_EQ(c.windows.size(), 1u);
  EXPECT_EQ(c.windows[0].header.flags & spool::kWindowHasStreamCalls, 0);
  EXPECT_NE(c.windows[0].header.flags & spool::kWindowHasSynchronisation, 0);
}

class Graphs : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(program.start()); }
  void instantiate(std::uintptr_t graph, CUresult result = CUDA_SUCCESS,
                   const std::function<void()>& meanwhile = {}) {
    cuGraphInstantiateWithFlags_params params{nullptr, reinterpret_cast<CUgraph>(graph), 0};
    program.call_with(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &params, result, meanwhile);
  }
  FakeCupti cupti;
  FakeProgram program{cupti};
};

TEST_F(Graphs, NodesEdgesAndWhatTheInstantiationMadeOfThem) {
  cupti.graphs[0x10] = {{{1, CU_GRAPH_NODE_TYPE_KERNEL},
                         {2, CU_GRAPH_NODE_TYPE_KERNEL},
                         {3, CU_GRAPH_NODE_TYPE_HOST},
                         {4, CU_GRAPH_NODE_TYPE_CONDITIONAL}},
                        {{1, 2, 0}, {1, 3, 0}, {2, 4, 1}}};
  program.clone_node(1, 55);  // of cuGraphClone
  instantiate(0x10, CUDA_SUCCESS, [&] {
    program.clone_node(1, 101);
    program.clone_node(2, 102);
  });
  instantiate(0x10);
  const auto c = program.contents();
  ASSERT_EQ(c.graph_nodes.size(), 8u);
  EXPECT_EQ(c.graph_nodes[0].node_id, 1u);
  EXPECT_EQ(c.graph_nodes[0].graph, 1u);
  EXPECT_EQ(c.graph_nodes[0].kind, GraphNodeKind::kernel);
  EXPECT_EQ(c.graph_nodes[0].parent_id, 0u);
  EXPECT_EQ(c.graph_nodes[2].kind, GraphNodeKind::host);
  EXPECT_EQ(c.graph_nodes[3].kind, GraphNodeKind::conditional);
  EXPECT_EQ(c.graph_nodes[4].graph, 2u);
  ASSERT_EQ(c.graph_edges.size(), 6u);
  EXPECT_EQ(c.graph_edges[1].from_id, 1u);
  EXPECT_EQ(c.graph_edges[1].to_id, 3u);
  EXPECT_EQ(c.graph_edges[1].header.flags, 0);
  EXPECT_EQ(c.graph_edges[2].header.flags, spool::kProgrammaticEdge);
  ASSERT_EQ(c.clones.size(), 3u);
  EXPECT_EQ(c.clones[0].graph, 0u);
  EXPECT_EQ(c.clones[2].original_id, 2u);
  EXPECT_EQ(c.clones[2].node_id, 102u);
  EXPECT_EQ(c.clones[2].graph, 1u);
}

TEST_F(Graphs, AGraphInAGraphHasItsNodeForParent) {
  cupti.graphs[0x10] = {{{1, CU_GRAPH_NODE_TYPE_GRAPH}}, {}};
  cupti.graphs[0x20] = {{{7, CU_GRAPH_NODE_TYPE_MEMCPY}, {8, CU_GRAPH_NODE_TYPE_MEMSET}}, {{7, 8, 0}}};
  cupti.child_graphs[1] = 0x20;
  instantiate(0x10);
  const auto c = program.contents();
  ASSERT_EQ(c.graph_nodes.size(), 3u);
  EXPECT_EQ(c.graph_nodes[0].kind, GraphNodeKind::graph);
  EXPECT_EQ(c.graph_nodes[1].node_id, 7u);
  EXPECT_EQ(c.graph_nodes[1].parent_id, 1u);
  EXPECT_EQ(c.graph_nodes[2].kind, GraphNodeKind::set);
  EXPECT_EQ(c.graph_edges.size(), 1u);
}

TEST_F(Graphs, AFailedInstantiationIsNotReadAndACircleOfGraphsEnds) {
  cupti.graphs[0x10] = {{{1, CU_GRAPH_NODE_TYPE_GRAPH}}, {}};
  cupti.child_graphs[1] = 0x10;
  instantiate(0x10, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cupti.graph_questions, 0);
  instantiate(0x10);
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  EXPECT_EQ(c.graph_nodes.size(), GraphRecorder::kDeepest + 1);
  ASSERT_EQ(c.left_out.size(), 1u);
  EXPECT_EQ(c.left_out[0].what, LeftOut::graph_nodes);
  EXPECT_EQ(c.left_out[0].count, 1u);
}

TEST_F(Graphs, AGraphOfTooManyEdgesIsLeftOutWhole) {
  auto& dense = cupti.graphs[0x10];
  dense.nodes = {{1, CU_GRAPH_NODE_TYPE_KERNEL}, {2, CU_GRAPH_NODE_TYPE_KERNEL}};
  dense.edges.assign(GraphRecorder::kMaxEdges + 1, {1, 2, 0});
  instantiate(0x10);
  dense.edges.assign(1, {1, 2, 0});
  instantiate(0x10);
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  EXPECT_EQ(c.graph_nodes.size(), 2u);
  EXPECT_EQ(c.graph_edges.size(), 1u);
  ASSERT_EQ(c.left_out.size(), 1u);
  EXPECT_EQ(c.left_out[0].count, 2u);
}

TEST_F(Graphs, BeyondTheirNumberNodesAreCountedAndNotRead) {
  auto& large = cupti.graphs[0x10].nodes;
  large.assign(GraphRecorder::kMaxNodes + 1, {1, CU_GRAPH_NODE_TYPE_KERNEL});
  cupti.graphs[0x20] = {{{5, CU_GRAPH_NODE_TYPE_KERNEL}}, {}};
  instantiate(0x10);
  instantiate(0x20);
  program.session().at_exit(spool::EndReason::exit);
  const auto c = program.contents();
  ASSERT_EQ(c.graph_nodes.size(), 1u);
  EXPECT_EQ(c.graph_nodes[0].node_id, 5u);
  ASSERT_EQ(c.left_out.size(), 1u);
  EXPECT_EQ(c.left_out[0].count, GraphRecorder::kMaxNodes + 1u);
}

}  // namespace
}  // namespace ridgeline::agent
