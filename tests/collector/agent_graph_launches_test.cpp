// Whether the device is through with the graphs that were launched, by the records of their nodes.
#include <gtest/gtest.h>

#include "cupti/graph_launches.h"

namespace ridgeline::agent {
namespace {

using State = GraphLaunches::State;

const void* graph(std::uintptr_t number) {
  return reinterpret_cast<const void*>(number);
}
void nodes(GraphLaunches& launches, std::uint32_t correlation_id, int count) {
  for (int i = 0; i < count; ++i) launches.node_ran(correlation_id);
}

TEST(GraphLaunches, AreThroughWithAsManyRecordsAsBefore) {
  GraphLaunches launches;
  EXPECT_EQ(launches.state(0), State::through) << "there are none";
  launches.launched(graph(1), 10);
  nodes(launches, 10, 5);
  EXPECT_EQ(launches.state(10), State::unknown) << "how many there are";
  launches.launched(graph(1), 20);
  EXPECT_EQ(launches.state(20), State::pending);
  nodes(launches, 20, 4);
  EXPECT_EQ(launches.state(20), State::pending);
  launches.node_ran(20);
  EXPECT_EQ(launches.state(20), State::through);
}

TEST(GraphLaunches, EachGraphIsLookedAt) {
  GraphLaunches launches;
  for (const std::uint32_t at : {10u, 20u}) {
    launches.launched(graph(1), at);
    launches.launched(graph(2), at + 1);
    nodes(launches, at, 3);
    nodes(launches, at + 1, 2);
  }
  EXPECT_EQ(launches.state(21), State::through);
  launches.launched(graph(1), 30);
  EXPECT_EQ(launches.state(21), State::pending);
  nodes(launches, 30, 3);
  EXPECT_EQ(launches.state(30), State::through);
}

TEST(GraphLaunches, OneOfLongAgoIsOver) {
  GraphLaunches launches;
  launches.launched(graph(1), 10);
  EXPECT_EQ(launches.state(11), State::unknown);
  EXPECT_EQ(launches.state(GraphLaunches::kLaunches), State::through);
}

// A host that does not wait for the device: neither of the latest launches has a record.
TEST(GraphLaunches, ADeviceThatIsBehindIsWaitedFor) {
  GraphLaunches launches;
  launches.launched(graph(1), 10);
  nodes(launches, 10, 5);
  launches.launched(graph(1), 20);
  launches.launched(graph(1), 30);
  EXPECT_EQ(launches.state(10), State::pending);
  nodes(launches, 20, 5);
  EXPECT_EQ(launches.state(20), State::pending);
  nodes(launches, 30, 5);
  EXPECT_EQ(launches.state(30), State::through);
}

TEST(GraphLaunches, OneThatIsLaunchedOnceIsOverOnceManyFollowed) {
  GraphLaunches launches;
  launches.launched(graph(1), 10);
  nodes(launches, 10, 5);
  for (std::uint32_t at = 20; at < 35; ++at) {
    launches.launched(graph(2), at);
    nodes(launches, at, 3);
    EXPECT_EQ(launches.state(at), State::unknown);
  }
  launches.launched(graph(2), 35);
  nodes(launches, 35, 3);
  EXPECT_EQ(launches.state(35), State::through);
}

TEST(GraphLaunches, OfTooManyGraphsNothingIsKnown) {
  GraphLaunches launches;
  for (std::uint32_t i = 1; i <= GraphLaunches::kGraphs; ++i)
    for (const std::uint32_t at : {i, 1000 + i}) {
      launches.launched(graph(i), at);
      launches.node_ran(at);
    }
  EXPECT_EQ(launches.state(2000), State::through);
  launches.launched(graph(5000), 3000);
  EXPECT_EQ(launches.state(3000), State::unknown);
}

// A later launch has the place of an earlier one.
TEST(GraphLaunches, ALaunchWhoseCountIsGoneIsUnknown) {
  GraphLaunches launches;
  launches.launched(graph(1), 10);
  nodes(launches, 10, 2);
  launches.launched(graph(1), 20);
  nodes(launches, 20, 2);
  launches.node_ran(10 + GraphLaunches::kLaunches);
  launches.node_ran(10);
  EXPECT_EQ(launches.state(20), State::unknown);
}

}  // namespace
}  // namespace ridgeline::agent
