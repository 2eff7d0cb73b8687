// What work waits for by recorded calls and edges, written down by hand; and what the simulation makes of it.
#include "execution/stream_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "execution/event_records.h"
#include "execution/graph_order.h"
#include "execution/step_builder.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using Edges = std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>;  // from, to, back

constexpr std::uint32_t kMain = 0, kSide = 1, kThird = 2;

// Calls and work get correlation ids in the order in which they are written down.
class Written {
 public:
  explicit Written(std::size_t streams, StreamKind kind = StreamKind::non_blocking) {
    for (std::size_t i = 0; i < streams; ++i) step.streams.push_back({1, kind});
  }
  std::uint32_t work(std::uint32_t stream) {
    step.works.push_back({next_++, stream, std::nullopt});
    return static_cast<std::uint32_t>(step.works.size() - 1);
  }
  std::vector<std::uint32_t> graph(std::uint32_t stream, std::initializer_list<std::int64_t> nodes) {
    std::vector<std::uint32_t> works;
    for (const std::int64_t node : nodes) {
      step.works.push_back({next_, stream, node});
      works.push_back(static_cast<std::uint32_t>(step.works.size() - 1));
    }
    ++next_;
    return works;
  }
  std::int64_t record(std::uint32_t stream, std::int64_t event) {
    step.calls.push_back({next_, StreamCall::event_record, stream, event, std::nullopt});
    return next_++;
  }
  std::int64_t wait(std::uint32_t stream, std::int64_t event, std::optional<std::int64_t> source) {
    step.calls.push_back({next_, StreamCall::event_wait, stream, event, source});
    return next_++;
  }
  std::int64_t await_event(std::int64_t event, std::optional<std::int64_t> source) {
    step.calls.push_back({next_, StreamCall::event_awaited, std::nullopt, event, source});
    return next_++;
  }
  std::int64_t await_stream(std::uint32_t stream) {
    step.calls.push_back({next_, StreamCall::stream_awaited, stream, std::nullopt, std::nullopt});
    return next_++;
  }
  [[nodiscard]] Edges edges() const {
    Edges edges;
    for (const auto& d : order_of(step).dependencies) edges.insert({d.from, d.to, d.back});
    return edges;
  }

  OrderedStep step;

 private:
  std::int64_t next_ = 100;
};

TEST(StreamOrder, AWaitIsForWhatTheOtherStreamHadWhenItsEventWasRecorded) {
  Written w(2);
  const auto first = w.work(kMain);
  const auto recorded = w.record(kMain, 1);
  w.work(kMain);
  w.wait(kSide, 1, recorded);
  const auto waits = w.work(kSide);
  w.work(kSide);
  EXPECT_EQ(w.edges(), (Edges{{first, waits, 0}}));
  EXPECT_TRUE(order_of(w.step).complete);
}

TEST(StreamOrder, AWaitPassesOnWhatTheOtherStreamItselfWaitsFor) {
  Written w(3);
  const auto first = w.work(kMain);
  const auto one = w.record(kMain, 1);
  w.wait(kSide, 1, one);  // and nothing is given to it
  const auto two = w.record(kSide, 2);
  w.wait(kThird, 2, two);
  const auto waits = w.work(kThird);
  EXPECT_EQ(w.edges(), (Edges{{first, waits, 0}}));
}

TEST(StreamOrder, AWaitForAnEventThatWasNeverRecordedIsForNothing) {
  Written w(2);
  w.work(kMain);
  w.wait(kSide, 1, std::nullopt);
  w.work(kSide);
  EXPECT_TRUE(w.edges().empty());
}

TEST(StreamOrder, AStepThatRepeatsWaitsForTheEventOfTheStepBefore) {
  Written w(2);
  w.wait(kMain, 1, 7);  // recorded by a call of the step before
  const auto waits = w.work(kMain);
  const auto side = w.work(kSide);
  w.record(kSide, 1);
  EXPECT_TRUE(w.edges().empty());
  w.step.repeats = true;
  EXPECT_EQ(w.edges(), (Edges{{side, waits, 1}}));
}

TEST(StreamOrder, AnEventOfAPoolIsTheRecordAtItsPlaceOfAStepBefore) {
  Written w(1);
  w.step.repeats = true;
  const auto first = w.work(kMain);
  const auto recorded = w.record(kMain, 11);  // each step takes another event
  w.work(kMain);
  for (const std::uint32_t back : {1U, 3U}) {
    const auto awaits = w.await_event(12, recorded);
    w.step.calls.back().source_back = back;
    const StepOrder order = order_of(w.step);
    ASSERT_EQ(order.awaited.at(awaits).size(), 1u);
    EXPECT_EQ(order.awaited.at(awaits)[0].work, first);
    EXPECT_EQ(order.awaited.at(awaits)[0].back, back);
  }
}

// Calls of a process in which each step of 100 ns records in these streams.
std::vector<store::OrderingCall> records_of(const std::vector<std::vector<std::int64_t>>& steps) {
  std::vector<store::OrderingCall> calls;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (std::size_t i = 0; i < steps[step].size(); ++i) {
      store::OrderingCall call;
      call.process_id = 1;
      call.correlation_id = static_cast<std::int64_t>(1000 * step + 10 * i);
      call.time_ns = static_cast<std::int64_t>(100 * step + i);
      call.context_id = 1;
      call.stream_id = steps[step][i];
      calls.push_back(call);
    }
  }
  return calls;
}

TEST(EventRecords, OfStepsThatRecordTheSameEachHasItsPlace) {
  const std::vector<std::int64_t> step = {7, 8, 7};
  const EventRecords records(records_of({step, step, step, step}), 1, 200, 300);
  ASSERT_TRUE(records.counterpart(1020));
  EXPECT_EQ(records.counterpart(1020)->correlation_id, 2020);
  EXPECT_EQ(records.counterpart(1020)->back, 1U);
  ASSERT_TRUE(records.counterpart(10));
  EXPECT_EQ(records.counterpart(10)->correlation_id, 2010);
  EXPECT_EQ(records.counterpart(10)->back, 2U);
  EXPECT_FALSE(records.counterpart(2010)) << "of the step itself";
  EXPECT_FALSE(records.counterpart(3010)) << "of the step after it";
  EXPECT_FALSE(records.counterpart(15)) << "of no record";
  EXPECT_FALSE(EventRecords(records_of({step, step, step}), 2, 200, 300).counterpart(1020))
      << "of another process";
}

TEST(EventRecords, OfStepsThatRecordInOtherStreamsNoneStandsForAnother) {
  const EventRecords records(records_of({{7, 8, 7}, {7, 7, 7}, {7, 7, 7}}), 1, 200, 300);
  EXPECT_TRUE(records.counterpart(1000));
  EXPECT_FALSE(records.counterpart(0));
  const EventRecords none(records_of({{7, 8, 7}, {7, 7, 7}}), 1, 200, 300);
  EXPECT_FALSE(none.counterpart(1000)) << "the step records nothing";
}

TEST(EventRecords, ThatAreFartherBackThanACallWaitsAreNotLookedFor) {
  const std::vector<std::int64_t> step = {7};
  const EventRecords records(records_of({step, step, step, step, step, step}), 1, 500, 600);
  EXPECT_TRUE(records.counterpart(1000));
  EXPECT_FALSE(records.counterpart(0));
}

TEST(StreamOrder, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  Written w(3, StreamKind::blocking);
  w.step.streams[kMain].kind = StreamKind::legacy;
  w.step.streams[kThird].kind = StreamKind::non_blocking;
  const auto side = w.work(kSide);
  w.work(kThird);
  const auto legacy = w.work(kMain);
  w.work(kMain);  // nothing new to wait for
  w.work(kThird);
  const auto after = w.work(kSide);
  w.work(kSide);
  EXPECT_EQ(w.edges(), (Edges{{side, legacy, 0}, {legacy + 1, after, 0}}));
  w.step.streams[kMain].context = 2;  // of another context it is no matter
  EXPECT_TRUE(w.edges().empty());
}

TEST(StreamOrder, AStreamOfUnknownKindMayWaitUnseenUnlessItIsAlone) {
  Written w(2);
  w.work(kMain);
  w.work(kSide);
  w.step.streams[kSide].kind = std::nullopt;
  EXPECT_FALSE(order_of(w.step).complete);
  Written alone(1);
  alone.step.streams[0].kind = std::nullopt;
  alone.work(0);
  EXPECT_TRUE(order_of(alone.step).complete);
}

TEST(StreamOrder, AThreadWaitsForAnEventOrAStream) {
  Written w(2);
  const auto first = w.work(kMain);
  const auto recorded = w.record(kMain, 1);
  const auto second = w.work(kMain);
  w.work(kSide);
  const auto event = w.await_event(1, recorded);
  const auto stream = w.await_stream(kMain);
  const StepOrder order = order_of(w.step);
  ASSERT_EQ(order.awaited.at(event).size(), 1u);
  EXPECT_EQ(order.awaited.at(event)[0].work, first);
  ASSERT_EQ(order.awaited.at(stream).size(), 1u);
  EXPECT_EQ(order.awaited.at(stream)[0].work, second);
}

TEST(StreamOrder, TheNodesOfAGraphFollowItsEdgesAndWhatComesAfterAllOfItsEnds) {
  Written w(2);
  w.step.nodes = {{1, {}}, {2, {}}, {3, {}}, {4, {GraphNodeKind::empty, {}}}};
  w.step.edges = {{1, 4}, {4, 2}, {4, 3}};
  const auto before = w.work(kMain);
  const auto nodes = w.graph(kMain, {1, 2, 3});
  const auto after = w.work(kMain);
  const StepOrder order = order_of(w.step);
  EXPECT_EQ(
      w.edges(),
      (Edges{{nodes[0], nodes[1], 0}, {nodes[0], nodes[2], 0}, {nodes[1], after, 0}, {nodes[2], after, 0}}));
  EXPECT_TRUE(order.graph_known[nodes[0]]);
  EXPECT_FALSE(order.graph_known[before]);
}

TEST(StreamOrder, AGraphWithNodesThatAreNotKnownIsLeftToTheTimes) {
  Written w(1);
  w.step.nodes = {{1, {}}, {2, {GraphNodeKind::conditional, {}}}};
  w.step.edges = {{1, 2}};
  const auto nodes = w.graph(kMain, {1, 9});
  const StepOrder order = order_of(w.step);
  EXPECT_FALSE(order.graph_known[nodes[0]]);
  EXPECT_TRUE(order.dependencies.empty());
}

TEST(GraphOrder, AGraphInANodeBeginsAfterAndEndsBeforeItsNeighbours) {
  // 1 → [10: 11 → 12, 13] → 2
  const std::unordered_map<std::int64_t, OrderedStep::Node> nodes = {{1, {}},
                                                                     {2, {}},
                                                                     {10, {GraphNodeKind::graph, {}}},
                                                                     {11, {GraphNodeKind::kernel, 10}},
                                                                     {12, {GraphNodeKind::kernel, 10}},
                                                                     {13, {GraphNodeKind::kernel, 10}}};
  const GraphOrder order(nodes, {{1, 10}, {11, 12}, {10, 2}});
  const std::unordered_set<std::int64_t> ran = {1, 2, 11, 12, 13};
  EXPECT_TRUE(order.before(1, ran).empty());
  EXPECT_EQ(order.before(11, ran), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(order.before(13, ran), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(order.before(12, ran), (std::vector<std::int64_t>{11}));
  EXPECT_EQ(order.before(2, ran), (std::vector<std::int64_t>{12, 13}));
}

TEST(GraphOrder, ACircleEnds) {
  const std::unordered_map<std::int64_t, OrderedStep::Node> nodes = {
      {1, {}}, {2, {GraphNodeKind::empty, {}}}, {3, {GraphNodeKind::graph, 3}}};
  const GraphOrder order(nodes, {{2, 2}, {2, 1}, {3, 2}, {1, 2}});
  EXPECT_EQ(order.before(1, {1}), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(order.before(3, {1}), (std::vector<std::int64_t>{}));
}

// Against a search that follows every path.
TEST(GraphOrder, AgreesWithFollowingEveryPath) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t count = 2 + static_cast<std::int64_t>(random() % 8);
    std::unordered_map<std::int64_t, OrderedStep::Node> nodes;
    std::unordered_set<std::int64_t> ran;
    std::vector<OrderedStep::Edge> edges;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool works = random() % 3 != 0;
      nodes[i] = {works ? GraphNodeKind::kernel : GraphNodeKind::empty, {}};
      if (works) ran.insert(i);
      for (std::int64_t j = 0; j < i; ++j)
        if (random() % 3 == 0) edges.push_back({j, i});
    }
    const GraphOrder order(nodes, edges);
    for (std::int64_t i = 0; i < count; ++i) {
      std::set<std::int64_t> expected;
      const auto follow = [&](const auto& self, std::int64_t to) -> void {
        for (const OrderedStep::Edge& edge : edges) {
          if (edge.to != to) continue;
          if (ran.contains(edge.from))
            expected.insert(edge.from);
          else
            self(self, edge.from);
        }
      };
      follow(follow, i);
      EXPECT_EQ(order.before(i, ran), std::vector<std::int64_t>(expected.begin(), expected.end()));
    }
  }
}

// A fork of 60 and 20 us in a graph, and a piece of work after it.
RecordedStep forked(bool order_known) {
  RecordedStep step;
  step.calls = {{0, 3'000, 1, false}, {4'000, 6'000, 1, false}};
  const auto node = [&](std::int64_t start, std::int64_t end) {
    step.works.push_back({start, end, 0, 0, RecordedStep::kNone, true, 0, order_known});
  };
  node(5'000, 15'000);
  node(16'000, 76'000);
  node(16'500, 36'500);
  node(77'000, 87'000);
  step.works.push_back({88'000, 98'000, 0, 1, RecordedStep::kNone, false, 0});
  if (order_known) step.dependencies = {{0, 1, 0}, {0, 2, 0}, {1, 3, 0}, {2, 3, 0}};
  step.dependencies_recorded = order_known;
  step.start_ns = 5'000;
  step.end_ns = 98'000;
  return step;
}

double saving_ns(const RecordedStep& step, std::size_t work, std::int64_t duration_ns) {
  const BuiltStep built = build_graph(step);
  const StepSimulation simulation(built.graph, {.anchor = built.anchor});
  EXPECT_NEAR(simulation.length_ns() - static_cast<double>(built.offset_ns),
              static_cast<double>(step.end_ns - step.start_ns), 1);
  const StepSimulation::Change change{built.node_of_work[work], duration_ns};
  return simulation.saving_ns(std::span(&change, 1));
}

TEST(StepSimulation, TheShorterSideOfAForkSavesNothingAndTheLongerUntilItIsTheShorter) {
  for (const bool known : {false, true}) {
    EXPECT_DOUBLE_EQ(saving_ns(forked(known), 2, 0), 0) << known;
    EXPECT_NEAR(saving_ns(forked(known), 0, 0), 10'000, 1) << known;
  }
  // By times alone the other side is no reason to wait.
  EXPECT_NEAR(saving_ns(forked(false), 1, 0), 60'000, 1'500);
  EXPECT_NEAR(saving_ns(forked(true), 1, 0), 39'500 + 1'000, 1'500);
}

TEST(StepSimulation, ACallEndsWithWhatItIsRecordedToWaitFor) {
  RecordedStep step;
  step.calls = {
      {0, 2'000, 1, false}, {3'000, 5'000, 1, false}, {6'000, 57'000, 1, true}, {60'000, 62'000, 1, false}};
  step.works = {{5'000, 50'000, 0, 0, RecordedStep::kNone, false, 0},
                {8'000, 55'000, 1, 1, RecordedStep::kNone, false, 0},
                {65'000, 75'000, 0, 3, RecordedStep::kNone, false, 0}};
  step.start_ns = 5'000;
  step.end_ns = 75'000;
  step.dependencies_recorded = true;
  EXPECT_DOUBLE_EQ(saving_ns(step, 0, 5'000), 0) << "taken to be for what ended last";
  step.calls[2].awaited = {{0, 0}};
  EXPECT_NEAR(saving_ns(step, 0, 25'000), 20'000, 1);
  EXPECT_DOUBLE_EQ(saving_ns(step, 1, 5'000), 0);
}

// The host is a step ahead: it launches, waits for the step before, and issues a copy of whose call nothing is known at
// the start of the next one.
TEST(StepSimulation, ACopyAtTheBeginOfTheNextStepIsNotHeldBackByTheHost) {
  RecordedStep step;
  step.calls = {{0, 5'000, 1, false}, {6'000, 91'000, 1, true}};
  step.calls[1].awaited = {{0, 1}};
  step.works = {{95'000, 190'000, 0, 0, RecordedStep::kNone, false, 0},
                {192'000, 194'000, 0, RecordedStep::kNone, 1, false, 0}};
  step.start_ns = 95'000;
  step.end_ns = 195'000;
  step.host_start_ns = 0;
  step.host_end_ns = 100'000;
  step.repeats = true;
  step.dependencies_recorded = true;
  EXPECT_NEAR(saving_ns(step, 0, 45'000), 50'000, 500);
}

TEST(Reach, RecordedOrderIsTakenAndNothingIsConcluded) {
  ridgeline::testing::TemporaryDirectory directory;
  generate::Options options;
  options.launches = 2000;
  options.launches_per_step = 100;
  options.replay_steps = 2;
  const auto reach = [&](const char* name) {
    const std::string path = directory.file(name);
    generate::generate(options, *generate::make_capture_sink(path));
    Session session = Session::open(path).value();
    return session.ranking().value()->reach;
  };
  options.order = true;
  const auto recorded = reach("order.ridge");
  ASSERT_TRUE(recorded && recorded->known());
  EXPECT_TRUE(recorded->order_recorded);
  EXPECT_EQ(recorded->dependencies, 20);
  EXPECT_EQ(recorded->streams_joined, 0);
  EXPECT_NEAR(recorded->simulated_ns, static_cast<double>(recorded->measured_ns),
              0.01 * static_cast<double>(recorded->measured_ns));
}

}  // namespace
}  // namespace ridgeline::analyzer
