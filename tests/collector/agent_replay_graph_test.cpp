// Step replay against a fake CUPTI: CUDA graphs, counted as a whole and kernel by kernel.
#include "replay_testing.h"

namespace ridgeline::agent {
namespace {

using spool::CounterStatus;
using testing::FakeCupti;
using testing::FakeProgram;
using testing::measured;
using testing::Ready;
using testing::step;

TEST(Replay, CountsGraphLaunchesAsAWholeAndKernelsInTurn) {
  FakeCupti cupti;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "timeline=1,replay=2"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  std::uint32_t second[3] = {};
  for (int i = 0; i < 3; ++i) {
    cupti.log.clear();
    program.push("step");
    program.launch("k1");
    program.launch("", 1, CUDA_SUCCESS, false, true);
    second[i] = program.launch("", 1, CUDA_SUCCESS, false, true);
    program.launch("k2");
    program.pop();
    program.tick();
    if (i == 1) {
      EXPECT_EQ(cupti.log, (std::vector<std::string>{"start ranges", "k1", "graph", "graph", "k2", "stop"}));
    }
  }
  EXPECT_EQ(cupti.log, (std::vector<std::string>{"start kernels", "k1", "stop", "graph", "graph",
                                                 "start kernels", "k2", "stop"}));
  EXPECT_EQ(cupti.pushes, 2);
  EXPECT_EQ(cupti.pops, 2);
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  for (const auto& s : c.counter_steps) {
    EXPECT_EQ(s.status, CounterStatus::ok) << c.text(s.reason);
    EXPECT_EQ(s.config_id, 1u);
  }
  ASSERT_EQ(c.graph_values.size(), 4u);
  EXPECT_EQ(c.graph_values[0].kernel, spool::kWholeGraph);
  EXPECT_EQ(c.graph_values[3].graph_launch, 1u);
  EXPECT_EQ(c.graph_values[3].correlation_id, second[1]);
  EXPECT_EQ(c.graph_values[3].value, 101);
  ASSERT_EQ(c.values.size(), 4u) << "the kernels beside the graphs are counted one by one";
  EXPECT_EQ(c.values[2].step_ordinal, 1u);
  EXPECT_EQ(c.values[2].step_index, 2u);
}

TEST(Replay, CountsNoGraphOnceOneHasANodeThatWaitsForTheHost) {
  FakeCupti cupti;
  FakeProgram program(cupti,
                      {{"RIDGELINE_SCHEDULE", "timeline=1,replay=2"}, {"RIDGELINE_METRICS_R1", "a,b"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  CUpti_GraphData node{};  // as CUPTI reports it, the type may be any
  node.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
  program.create_node(node);
  cupti.graphs[0x10] = {{{1, CU_GRAPH_NODE_TYPE_HOST}}, {}};
  cuGraphInstantiateWithFlags_params params{nullptr, reinterpret_cast<CUgraph>(0x10), 0};
  program.call_with(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &params);
  for (int i = 0; i < 3; ++i) {
    program.push("step");
    program.launch("", 1, CUDA_SUCCESS, false, true);
    program.launch("k1");
    program.launch("", 1, CUDA_SUCCESS, false, true);
    program.pop();
    program.tick();
  }
  EXPECT_EQ(cupti.pushes, cupti.pops);
  EXPECT_TRUE(program.contents().graph_values.empty());
}

TEST(Replay, TellsGraphNodesFromCuptisOwnKernels) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,replay=1"}, {"RIDGELINE_METRICS_R1", "a"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  std::uint32_t graph = 0;
  for (int i = 0; i < 2; ++i) {
    program.push("step");
    graph = program.launch("", 1, CUDA_SUCCESS, false, true);
    if (i == 1) {
      const auto now = static_cast<std::uint64_t>(cupti.clock_ns);
      auto node = FakeProgram::kernel(graph, "k", now, now + 5);
      node.graphNodeId = 7;
      program.deliver({node, FakeProgram::kernel(graph, "helper", now, now + 80)});
    }
    program.pop();
    program.tick();
  }
  const auto c = program.contents();
  EXPECT_EQ(c.totals.own_kernel_records, 1u);
  ASSERT_EQ(c.kernels.size(), 1u);
  EXPECT_NE(c.kernels[0].header.flags & spool::kGraphNode, 0);
}

TEST(Replay, CountsOnlyGraphsWhereThereIsNothingElse) {
  FakeCupti cupti;
  FakeProgram program(cupti, {{"RIDGELINE_SCHEDULE", "timeline=1,replay=2"},
                              {"RIDGELINE_METRICS_R1", "a,b"},
                              {"RIDGELINE_METRICS_R2", "c"}});
  ASSERT_TRUE(program.start());
  program.create_context();
  for (int i = 0; i < 3; ++i) {
    program.push("step");
    program.launch("", 1, CUDA_SUCCESS, false, true);
    program.pop();
    program.tick();
  }
  const auto c = program.contents();
  ASSERT_EQ(c.counter_steps.size(), 2u);
  EXPECT_EQ(c.counter_steps[0].config_id, 1u);
  EXPECT_EQ(c.counter_steps[1].config_id, 2u) << "no turns to take";
  EXPECT_EQ(c.graph_values.size(), 3u);
}

TEST(Replay, StaysOutOfStreamCapture) {
  FakeCupti cupti;
  Ready r(cupti);
  r.program.push("step");
  cupti.stream_captures = true;
  r.program.launch("k1", 1, CUDA_SUCCESS, true);
  EXPECT_EQ(cupti.sessions_made, 0) << "opening a session would end the capture";
  cupti.stream_captures = false;
  r.program.launch("k1", 1);
  r.program.launch("k1", 2);
  r.program.launch("k2", 3);
  r.program.pop();
  const auto c = measured(r.program);
  ASSERT_EQ(c.counter_steps.size(), 1u);
  EXPECT_EQ(c.counter_steps[0].status, CounterStatus::ok) << c.text(c.counter_steps[0].reason);
}

}  // namespace
}  // namespace ridgeline::agent
