// What import makes of events, streams that wait, nodes of graphs and device memory.
#include "ridgeline/store/order.h"

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

class OrderImport : public Importer {
 protected:
  static store::Id process(const store::Capture& capture) { return capture.processes().at(0).id; }
  // A launch of a graph and its nodes.
  static void launch_graph(FakeSpool& spool, std::initializer_list<std::uint64_t> nodes) {
    spool::LaunchRecord call = spool.call(spool::kLaunchIsGraph);
    spool.put(call);
    for (const std::uint64_t node : nodes) {
      spool::KernelRecord kernel = spool.kernel_of(call);
      kernel.header.flags = spool::kGraphNode;
      kernel.graph_id = call.correlation_id;
      kernel.graph_node_id = node;
      spool.put(kernel);
    }
    spool.advance(3000);
  }
};

TEST_F(OrderImport, AWaitIsForTheNewestRecordBeforeItInTheOrderOfTheCalls) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::timeline);
  spool.launch();
  const std::uint32_t before = spool.order(StreamCall::event_wait, 9, 0xaa);
  const std::uint32_t first = spool.order(StreamCall::event_record, 7, 0xaa);
  const std::uint32_t waited = spool.order(StreamCall::event_wait, 9, 0xaa);
  const std::uint32_t other = spool.order(StreamCall::event_record, 7, 0xbb);
  const std::uint32_t second = spool.order(StreamCall::event_record, 8, 0xaa);
  const std::uint32_t again = spool.order(StreamCall::event_wait, 9, 0xaa);
  const std::uint32_t host = spool.order(StreamCall::event_awaited, 0, 0xbb);
  spool.end_step();
  spool.completeness();
  const store::Capture capture = import();
  const auto calls = store::Order(capture).calls(process(capture));
  ASSERT_EQ(calls.size(), 7u);
  std::map<std::int64_t, std::optional<std::int64_t>> sources;
  for (const auto& call : calls) sources[call.correlation_id] = call.source_id;
  EXPECT_EQ(sources[before], std::nullopt);
  EXPECT_EQ(sources[waited], first);
  EXPECT_EQ(sources[again], second);
  EXPECT_EQ(sources[host], other);
  EXPECT_EQ(sources[first], std::nullopt);
  EXPECT_EQ(calls[0].event, calls[1].event);
  EXPECT_NE(calls[3].event, calls[1].event);
  EXPECT_EQ(calls[0].step_id, capture.steps().at(0).id);
  EXPECT_EQ(calls.back().stream_id, std::nullopt) << "a thread waits for an event, whatever its stream";
  EXPECT_EQ(scalar(capture, "SELECT source_stream_id FROM v_stream_wait WHERE correlation_id = " +
                                std::to_string(again)),
            "8");
}

TEST_F(OrderImport, RecordsOfSeveralThreadsMayComeInAnyOrder) {
  FakeSpool spool(directory_.path());
  spool.launch();
  const auto put = [&](std::uint32_t correlation, StreamCall call) {
    spool::StreamCallRecord record{};
    record.correlation_id = correlation;
    record.time_ns = FakeSpool::kOrigin + correlation;
    record.event = 5;
    record.stream_id = 7;
    record.context_id = 1;
    record.call = call;
    record.step_index = spool::kNoStep;
    spool.put(record);
  };
  put(103, StreamCall::event_wait);
  put(104, StreamCall::event_record);
  put(102, StreamCall::event_record);
  put(101, StreamCall::event_record);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT source_correlation_id FROM v_stream_wait"), "102");
}

TEST_F(OrderImport, StreamsHoldsAndWhatWasLeftOutAreRows) {
  FakeSpool spool(directory_.path());
  spool.launch();
  spool.stream(7, StreamKind::legacy);
  spool.stream(14, StreamKind::non_blocking, -2);
  spool.order(StreamCall::host_function, 14);
  spool.order(StreamCall::memory_wait, 14);
  spool.order(static_cast<StreamCall>(77), 14);
  spool.stream(15, static_cast<StreamKind>(77));
  spool.left_out(LeftOut::memory_calls, 3);
  spool.left_out(LeftOut::memory_calls, 5);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT group_concat(stream_id || kind || priority) FROM v_stream"),
            "7legacy0,14non_blocking-2");
  EXPECT_EQ(scalar(capture, "SELECT group_concat(call) FROM v_host_function"), "host_function,memory_wait");
  const auto left_out = store::Order(capture).left_out();
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0].count, 5);
  EXPECT_EQ(scalar(capture, "SELECT host || ' ' || pid FROM v_process"), "host 4242");
}

TEST_F(OrderImport, EdgesAreOfTheNodesThatRan) {
  FakeSpool spool(directory_.path());
  // Instantiated: the clones run. 3 is empty, and nothing runs for it.
  spool.graph_node(1, 1, GraphNodeKind::kernel);
  spool.graph_node(1, 2, GraphNodeKind::kernel);
  spool.graph_node(1, 3, GraphNodeKind::empty);
  spool.graph_edge(1, 1, 3);
  spool.graph_edge(1, 3, 2, spool::kProgrammaticEdge);
  for (const std::uint64_t node : {1, 2, 3}) spool.graph_clone(1, node, 100 + node);
  // Instantiated anew, and never launched.
  spool.graph_node(2, 1, GraphNodeKind::kernel);
  spool.graph_edge(2, 1, 3);
  for (const std::uint64_t node : {1, 2, 3}) spool.graph_clone(2, node, 200 + node);
  // A CUPTI that names the program's own nodes.
  spool.graph_node(3, 31, GraphNodeKind::kernel);
  spool.graph_node(3, 32, GraphNodeKind::kernel);
  spool.graph_edge(3, 31, 32);
  spool.begin_step(0, Phase::timeline);
  launch_graph(spool, {101, 102});
  launch_graph(spool, {31, 32});
  spool.end_step();
  spool.completeness();
  const store::Capture capture = import();
  const auto nodes = store::Order(capture).graph_nodes(process(capture));
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0].node_id, 31);
  EXPECT_EQ(nodes[2].node_id, 101);
  EXPECT_EQ(nodes[4].kind, GraphNodeKind::empty);
  EXPECT_EQ(
      scalar(capture,
             "SELECT group_concat(from_node_id || from_kind || to_node_id || to_kind || programmatic, ' ')"
             " FROM (SELECT * FROM v_graph_edge ORDER BY to_node_id)"),
      "31kernel32kernel0 103empty102kernel1 101kernel103empty0");
}

TEST_F(OrderImport, ANodeThatWasMadeInSeveralTurnsIsFollowedToTheProgramsOwn) {
  FakeSpool spool(directory_.path());
  spool.graph_node(1, 1, GraphNodeKind::kernel);
  spool.graph_node(1, 2, GraphNodeKind::kernel);
  spool.graph_edge(1, 1, 2);
  for (const std::uint64_t node : {1, 2}) {
    spool.graph_clone(1, node, 50 + node);
    spool.graph_clone(0, 50 + node, 100 + node);  // after the instantiation
  }
  spool.graph_clone(0, 77, 77);  // of itself
  launch_graph(spool, {101, 102, 77});
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT from_node_id || ' ' || to_node_id FROM v_graph_edge"), "101 102");
}

// The inner graph's node 5 was built first; 2 is its copy in node 1. What runs is said to be made of 5.
TEST_F(OrderImport, ANodeInsideANodeIsJoinedByWhatBothWereMadeOf) {
  FakeSpool spool(directory_.path());
  spool.graph_clone(0, 5, 2);
  spool.graph_node(1, 1, GraphNodeKind::graph);
  spool.graph_node(1, 2, GraphNodeKind::kernel, 1);
  spool.graph_node(1, 3, GraphNodeKind::kernel);
  spool.graph_edge(1, 1, 3);
  spool.graph_clone(1, 1, 11);
  spool.graph_clone(1, 5, 12);
  spool.graph_clone(1, 3, 13);
  launch_graph(spool, {12, 13});
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT parent_node_id FROM graph_node WHERE node_id = 12"), "11");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM graph_node"), "3");
}

TEST_F(OrderImport, TwoCopiesOfOneGraphInsideAnotherAreNotToldApart) {
  FakeSpool spool(directory_.path());
  spool.graph_clone(0, 5, 2);
  spool.graph_clone(0, 5, 4);
  spool.graph_node(1, 1, GraphNodeKind::graph);
  spool.graph_node(1, 2, GraphNodeKind::kernel, 1);
  spool.graph_node(1, 3, GraphNodeKind::graph);
  spool.graph_node(1, 4, GraphNodeKind::kernel, 3);
  spool.graph_clone(1, 5, 12);
  spool.graph_clone(1, 5, 14);
  spool.graph_node(1, 6, GraphNodeKind::kernel);
  spool.graph_clone(1, 6, 16);
  launch_graph(spool, {12, 14, 16});
  const store::Capture capture = import();
  EXPECT_EQ(
      scalar(capture, "SELECT group_concat(node_id) FROM (SELECT node_id FROM graph_node ORDER BY node_id)"),
      "1,2,3,4,16");
}

TEST_F(OrderImport, TheOneNodeThatNothingIsKnownOfIsTheOneThatIsLeft) {
  FakeSpool spool(directory_.path());
  spool.graph_node(1, 1, GraphNodeKind::graph);
  spool.graph_node(1, 2, GraphNodeKind::kernel, 1);
  spool.graph_node(1, 3, GraphNodeKind::kernel);
  spool.graph_clone(1, 3, 13);
  launch_graph(spool, {12, 13});
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT parent_node_id FROM graph_node WHERE node_id = 12"), "1");
}

TEST_F(OrderImport, ANodeInsideANodeKeepsItsParentAndACopyItsNode) {
  FakeSpool spool(directory_.path());
  spool.graph_node(1, 1, GraphNodeKind::graph);
  spool.graph_node(1, 2, GraphNodeKind::copy, 1);
  spool.graph_clone(1, 1, 11);
  spool.graph_clone(1, 2, 12);
  spool.launch();
  spool::MemcpyRecord copy{};
  copy.header.flags = spool::kGraphNode;
  copy.correlation_id = spool.next_correlation();
  copy.kind = spool::MemcpyKind::device_to_device;
  copy.start_ns = FakeSpool::kOrigin + spool.now();
  copy.end_ns = copy.start_ns + 10;
  copy.graph_node_id = 12;
  spool.put(copy);
  const store::Capture capture = import();
  EXPECT_EQ(scalar(capture, "SELECT parent_node_id FROM graph_node WHERE node_id = 12"), "11");
  EXPECT_EQ(scalar(capture, "SELECT graph_node_id FROM memcpy"), "12");
}

TEST_F(OrderImport, MemoryAddsUpByDeviceAndWhatIsReturnedIsWhatWasTaken) {
  FakeSpool spool(directory_.path());
  spool.launch();
  const std::uint32_t taken = spool.memory(MemoryCall::allocate, 0x1000, 100);
  spool.memory(MemoryCall::allocate_async, 0x2000, 50);
  spool.memory(MemoryCall::allocate, 0x3000, 7, 1);
  const std::uint32_t returned =
      spool.memory(MemoryCall::free, 0x1000, 0, 1);  // with the other context current
  spool.memory(MemoryCall::free, 0x9999);            // taken before the recording
  spool.memory(MemoryCall::allocate, 0x2000, 20);    // its return was not seen
  spool.memory(MemoryCall::allocate, 0x4000, INT64_MAX);
  spool.memory(MemoryCall::allocate, 0x5000, -1);
  const store::Capture capture = import();
  const auto uses = store::Order(capture).memory(process(capture));
  ASSERT_EQ(uses.size(), 6u);
  const store::Id device = uses[0].device_id;
  EXPECT_EQ(uses[1].allocated_bytes, 150);
  EXPECT_NE(uses[2].device_id, device);
  EXPECT_EQ(uses[2].allocated_bytes, 7);
  EXPECT_EQ(uses[3].correlation_id, returned);
  EXPECT_EQ(uses[3].device_id, device);
  EXPECT_EQ(uses[3].bytes, 100);
  EXPECT_EQ(uses[3].allocation_id, taken);
  EXPECT_EQ(uses[3].allocated_bytes, 50);
  EXPECT_EQ(uses[4].bytes, std::nullopt);
  EXPECT_EQ(uses[4].allocated_bytes, 50);
  EXPECT_EQ(uses[5].allocated_bytes, 20);
  const auto peaks = store::Order(capture).memory_peaks();
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].peak_bytes, 150);
  EXPECT_EQ(peaks[0].last_bytes, 20);
  EXPECT_EQ(peaks[0].calls, 5);
  EXPECT_EQ(scalar(capture, "SELECT group_concat(coalesce(change_bytes, 'none')) FROM v_memory_use"),
            "100,50,7,-100,none,20");
}

TEST_F(OrderImport, AWindowSaysWhetherStreamsWereRecordedInIt) {
  FakeSpool spool(directory_.path());
  spool::RecordingWindowRecord window{};
  window.header.flags = spool::kWindowHasStreamCalls;
  window.time_ns = FakeSpool::kOrigin + spool.now();
  window.edge = spool::WindowEdge::open;
  window.cause = WindowCause::start;
  spool.put(window);
  spool.launch();
  const auto windows = import().recording_windows();
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_TRUE(windows[0].stream_calls);
  EXPECT_FALSE(windows[0].synchronisation);
}

}  // namespace
}  // namespace ridgeline::import::testing
