// What orders work on devices, and memory: written, read, seen through the views, and taken into a part.
#include "ridgeline/store/order.h"

#include "ridgeline/store/capture_part.h"
#include "ridgeline/store/database.h"
#include "store/capture_testing.h"
#include "store/round_trip_testing.h"
#include "support/opened_capture.h"

namespace ridgeline::store::testing {
namespace {

using ridgeline::testing::held;

OrderingCall call_of(Id process, std::int64_t correlation, StreamCall call) {
  OrderingCall row;
  row.process_id = process;
  row.correlation_id = correlation;
  row.call = call;
  row.thread_id = 11;
  row.time_ns = 1000 + correlation;
  row.context_id = 1;
  row.stream_id = 7;
  return row;
}

class OrderRows : public RoundTrip {
 protected:
  std::string one(const Capture& capture, const std::string& sql) {
    const auto table = capture.query(sql);
    if (!table.ok()) return table.failure().message;
    std::string text;
    for (const auto& row : table.value().rows)
      for (const Value& value : row)
        text += std::holds_alternative<std::int64_t>(value)
                    ? std::to_string(std::get<std::int64_t>(value)) + ' '
                : std::holds_alternative<std::string>(value) ? std::get<std::string>(value) + ' '
                                                             : "- ";
    return text;
  }
};

TEST_F(OrderRows, EveryFieldIsReadBack) {
  const Id step = add_step(0);
  OrderingCall written = call_of(process_, 5, StreamCall::event_wait);
  written.event = 3;
  written.source_id = 4;
  written.step_id = step;
  writer_->add(call_of(process_, 4, StreamCall::event_record));
  writer_->add(written);
  OrderingCall awaited = call_of(other_process_, 6, StreamCall::event_awaited);
  awaited.stream_id = awaited.context_id = std::nullopt;
  writer_->add(awaited);
  writer_->add(Stream{process_, 1, 7, StreamKind::legacy, -3});
  writer_->add(GraphNode{process_, 21, 2, GraphNodeKind::host, 20});
  writer_->add(GraphNode{process_, 20, 2, GraphNodeKind::graph, {}});
  writer_->add(GraphEdge{process_, 20, 21, true});
  MemoryUse use{process_, 8, MemoryCall::free, 11, 2000, device_, 512, 7, 1024, step};
  writer_->add(use);
  writer_->add(LeftOutCount{process_, LeftOut::graph_nodes, 9});
  writer_->set_host(process_, "alpha");
  writer_->set_host(other_process_, "alpha");
  writer_->add(RecordingWindow{.process_id = process_, .start_ns = 1, .stream_calls = true});
  Memcpy copy;
  copy.process_id = process_;
  copy.device_id = device_;
  copy.graph_node_id = 33;
  writer_->add(copy);
  const Capture capture = finished();
  const Order order(capture);
  ASSERT_TRUE(order.recorded());
  {
    const auto calls = order.calls(process_);
    ASSERT_EQ(calls.size(), 2u);
    const OrderingCall& read = calls[1];
    EXPECT_SAME(process_id);
    EXPECT_SAME(correlation_id);
    EXPECT_SAME(call);
    EXPECT_SAME(thread_id);
    EXPECT_SAME(time_ns);
    EXPECT_SAME(context_id);
    EXPECT_SAME(stream_id);
    EXPECT_SAME(event);
    EXPECT_SAME(source_id);
    EXPECT_SAME(step_id);
  }
  EXPECT_EQ(order.calls(process_, {5, 5}).size(), 1u);
  EXPECT_EQ(order.calls(other_process_).at(0).stream_id, std::nullopt);
  EXPECT_EQ(order.call_counts(),
            (std::map<StreamCall, std::int64_t>{
                {StreamCall::event_record, 1}, {StreamCall::event_wait, 1}, {StreamCall::event_awaited, 1}}));
  const Stream stream = order.streams(process_).at(0);
  EXPECT_EQ(stream.kind, StreamKind::legacy);
  EXPECT_EQ(stream.priority, -3);
  const GraphNode node = order.graph_nodes(process_).at(1);
  EXPECT_EQ(node.node_id, 21);
  EXPECT_EQ(node.graph, 2);
  EXPECT_EQ(node.kind, GraphNodeKind::host);
  EXPECT_EQ(node.parent_node_id, 20);
  const GraphEdge edge = order.graph_edges(process_).at(0);
  EXPECT_EQ(edge.from_node_id, 20);
  EXPECT_EQ(edge.to_node_id, 21);
  EXPECT_TRUE(edge.programmatic);
  EXPECT_EQ(order.graph_edge_count(), 1);
  {
    const MemoryUse& written_use = use;
    const MemoryUse read = order.memory(process_).at(0);
    EXPECT_EQ(read.correlation_id, written_use.correlation_id);
    EXPECT_EQ(read.call, written_use.call);
    EXPECT_EQ(read.thread_id, written_use.thread_id);
    EXPECT_EQ(read.time_ns, written_use.time_ns);
    EXPECT_EQ(read.device_id, written_use.device_id);
    EXPECT_EQ(read.bytes, written_use.bytes);
    EXPECT_EQ(read.allocation_id, written_use.allocation_id);
    EXPECT_EQ(read.allocated_bytes, written_use.allocated_bytes);
    EXPECT_EQ(read.step_id, written_use.step_id);
  }
  EXPECT_EQ(order.left_out().at(0).count, 9);
  EXPECT_EQ(order.hosts(), (std::map<Id, std::string>{{process_, "alpha"}, {other_process_, "alpha"}}));
  EXPECT_TRUE(capture.recording_windows().at(0).stream_calls);
  EXPECT_EQ(capture.memcpys().at(0).graph_node_id, 33);
  EXPECT_TRUE(capture.verify().damage.empty());
}

TEST_F(OrderRows, AnOlderCaptureHasNoneAndIsReadAsItIs) {
  Memcpy copy;
  copy.process_id = process_;
  copy.device_id = device_;
  writer_->add(copy);
  writer_->finish();
  writer_.reset();
  {
    Database database(path_, OpenMode::read_write);
    for (const char* view : {"v_collective", "v_copied_collective", "v_memory_use", "v_graph_edge",
                             "v_host_function", "v_stream_wait", "v_stream", "v_process"})
      database.execute(std::string("DROP VIEW ") + view);
    drop_order(database);
    database.execute("DELETE FROM table_rows; PRAGMA user_version = 9");
  }
  Result<Capture> opened = held(Capture::open(path_));
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  const Order order(opened.value());
  EXPECT_FALSE(order.recorded());
  EXPECT_TRUE(order.streams(process_).empty());
  EXPECT_TRUE(order.calls(process_).empty());
  EXPECT_TRUE(order.call_counts().empty());
  EXPECT_TRUE(order.graph_nodes(process_).empty());
  EXPECT_TRUE(order.graph_edges(process_).empty());
  EXPECT_TRUE(order.memory(process_).empty());
  EXPECT_TRUE(order.memory_peaks().empty());
  EXPECT_TRUE(order.left_out().empty());
  EXPECT_TRUE(order.hosts().empty());
  EXPECT_EQ(opened.value().memcpys().at(0).graph_node_id, std::nullopt);
}

TEST_F(OrderRows, ACollectiveIsNumberedOnItsStreamInTheOrderOfItsLaunches) {
  Launch launch = some_launch();
  launch.kernel_id = writer_->kernel_id("_Z20ncclDevKernel_SendRecvv");
  const auto add = [&](std::int64_t correlation, std::int64_t stream, std::int64_t start) {
    launch.correlation_id = correlation;
    launch.stream_id = stream;
    launch.start_ns = start;
    launch.end_ns = start + 10;
    writer_->add(launch);
  };
  add(5, 7, 2000);
  add(6, 8, 1000);
  add(7, 7, 3000);
  launch.kernel_id = kernel_;
  add(8, 7, 4000);
  writer_->set_host(process_, "alpha");
  EXPECT_EQ(one(finished(), "SELECT stream_id, ordinal, start_ns, host FROM v_collective ORDER BY start_ns"),
            "8 0 1000 alpha 7 0 2000 alpha 7 1 3000 alpha ");
}

TEST_F(OrderRows, AnAmountThatIsImpossibleIsDamage) {
  writer_->add(MemoryUse{process_, 8, MemoryCall::allocate, 11, 2000, device_, 512, {}, -1024, {}});
  const Capture capture = finished();
  EXPECT_THROW((void)Order(capture).memory(process_), Error);
  EXPECT_THROW((void)Order(capture).memory_peaks(), Error);
}

TEST_F(OrderRows, APartHasTheCallsOfItsTimeAndTheRecordsTheyWaitFor) {
  Launch launch = some_launch(2000);
  writer_->add(launch);
  writer_->add(call_of(process_, 4, StreamCall::event_record));  // at 1004, long before
  OrderingCall wait = call_of(process_, 900, StreamCall::event_wait);
  wait.source_id = 4;
  writer_->add(wait);                                               // at 1900
  writer_->add(call_of(process_, 5000, StreamCall::event_record));  // at 6000
  writer_->add(MemoryUse{process_, 1, MemoryCall::allocate, 11, 10, device_, 512, {}, 512, {}});
  writer_->add(GraphNode{process_, 20, 2, GraphNodeKind::kernel, {}});
  writer_->set_host(process_, "alpha");
  writer_->add(LeftOutCount{process_, LeftOut::memory_calls, 2});
  const Capture whole = finished();
  const std::string part = directory_.file("part.ridge");
  ASSERT_TRUE(write_part(whole, {1900, 2500}, part).ok());
  const Result<Capture> opened = held(Capture::open(part));
  ASSERT_TRUE(opened.ok());
  const Order order(opened.value());
  std::vector<std::int64_t> kept;
  for (const auto& call : order.calls(process_)) kept.push_back(call.correlation_id);
  EXPECT_EQ(kept, (std::vector<std::int64_t>{4, 900}));
  EXPECT_EQ(order.memory(process_).size(), 1u);
  EXPECT_EQ(order.graph_nodes(process_).size(), 1u);
  EXPECT_EQ(order.hosts().at(process_), "alpha");
  EXPECT_EQ(order.left_out().size(), 1u);
}

}  // namespace
}  // namespace ridgeline::store::testing
