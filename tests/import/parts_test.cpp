// The parts of an import that need no spool: the two halves of a launch, times that can be, words.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "recording/launch_join.h"
#include "recording/sampled_windows.h"
#include "recording/steps.h"
#include "spool/spool_events.h"
#include "spool/spool_words.h"
#include "support/accepted_cases.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

Call call(std::uint32_t correlation_id, bool graph = false) {
  return {.correlation_id = correlation_id, .graph = graph, .thread_id = 1000 + correlation_id};
}

Execution kernel(std::uint32_t correlation_id, std::uint64_t node = 0) {
  return {.correlation_id = correlation_id, .graph_node = node};
}

// What was emitted: "7:1007", kernel and thread of its call; "7:-" without a call.
struct Joined {
  std::vector<std::string> texts;
  LaunchJoin join;

  auto emit() {
    return [this](const Execution& kernel, const Call* of) {
      texts.push_back(std::to_string(kernel.correlation_id) + ":" +
                      (of == nullptr ? "-" : std::to_string(*of->thread_id)));
    };
  }
  template <typename Record>
  void add(const Record& record) {
    join.add(record, emit());
  }
  std::vector<std::string> finished() {
    join.finish(emit());
    return texts;
  }
};

using Texts = std::vector<std::string>;

TEST(LaunchJoin, EitherHalfMayComeFirst) {
  Joined joined;
  joined.add(call(7));
  joined.add(kernel(8));
  EXPECT_EQ(joined.texts, Texts{});
  joined.add(kernel(7));
  EXPECT_EQ(joined.texts, Texts{"7:1007"});
  joined.add(call(8));
  EXPECT_EQ(joined.texts, (Texts{"7:1007", "8:1008"}));
  EXPECT_EQ(joined.finished().size(), 2U) << "nothing waits";
}

TEST(LaunchJoin, ACallHasOneKernelAndWhatIsLeftHasNone) {
  Joined joined;
  joined.add(call(7));
  joined.add(kernel(7));
  joined.add(kernel(7));
  EXPECT_EQ(joined.finished(), (Texts{"7:1007", "7:-"}));
  EXPECT_EQ(joined.finished().size(), 2U) << "once";
  // A call that waits in vain says nothing; the newest of two calls of one id counts.
  Joined again;
  again.add(call(1));
  again.add(kernel(1));  // leaves its place to the next
  again.add(call(2));
  again.add(call(3));
  Call second = call(3);
  second.thread_id = 5;
  again.add(second);
  again.add(kernel(3));
  EXPECT_EQ(again.finished(), (Texts{"1:1001", "3:5"}));
}

TEST(SpoolEvents, FailedAndCapturedCallsExpectNoKernel) {
  spool::LaunchRecord record{};
  EXPECT_TRUE(expects_kernel(record));
  for (const std::uint16_t flags : {spool::kLaunchFailed, spool::kLaunchCaptured}) {
    record.header.flags = flags | spool::kLaunchIsGraph;
    EXPECT_FALSE(expects_kernel(record)) << flags;
  }
}

TEST(SpoolEvents, WhatTheAgentCouldNotReadIsAbsent) {
  const Clocks none = accepted(clocks_of(spool::ClockSampleRecord{}));
  EXPECT_FALSE(none.sm_hz || none.memory_hz || none.power_mw || none.temperature_c);
  EXPECT_EQ(none.throttle_reasons, 0) << "no reason is an answer";
  spool::KernelRecord kernel{};
  EXPECT_FALSE(accepted(execution_of(kernel)).cluster || accepted(execution_of(kernel)).graph_node);
  kernel.cluster_y = 2;
  kernel.header.flags = spool::kGraphNode;
  EXPECT_EQ(accepted(execution_of(kernel)).cluster, (store::Dim3{0, 2, 0}));
  EXPECT_EQ(accepted(execution_of(kernel)).graph_node, 0u) << "a node may have that number";
  spool::NvtxRangeRecord range{};
  range.end_ns = 5;
  EXPECT_EQ(accepted(range_of(range)).end_ns, 5);
  range.header.flags = spool::kRangeUnclosed;
  EXPECT_FALSE(accepted(range_of(range)).end_ns);
}

TEST(LaunchJoin, KernelsOfACallThatLaunchesNoGraphAreCountedWhereTheyAreTooMany) {
  const auto counted = [](std::size_t kernels, const Execution& each, bool with_call) {
    Joined joined;
    if (with_call) joined.add(call(each.correlation_id));
    for (std::size_t i = 0; i < kernels; ++i) joined.add(each);
    joined.add(Execution{.correlation_id = each.correlation_id + 1});
    EXPECT_EQ(joined.finished().size(), kernels + 1);
    return joined.join.kernels_of_one_call();
  };
  constexpr auto kMax = LaunchJoin::kMaxKernelsOfCall;
  EXPECT_EQ(counted(kMax, Execution{.correlation_id = 7}, false), 0);
  EXPECT_EQ(counted(kMax + 1, Execution{.correlation_id = 7}, false), kMax + 1);
  EXPECT_EQ(counted(kMax + 1, Execution{.correlation_id = 7}, true), 0) << "the first is the call's";
  EXPECT_EQ(counted(kMax + 2, Execution{.correlation_id = 7}, true), kMax + 1);
  EXPECT_EQ(counted(kMax + 5, kernel(7, 3), false), 0) << "nodes of a graph";
  EXPECT_EQ(counted(kMax + 5, Execution{.correlation_id = 0}, false), 0) << "ids are not known";
  // Those that are given up while the program goes on count likewise.
  Joined joined;
  for (std::size_t i = 0; i < 30; ++i) joined.add(Execution{.correlation_id = 1});
  for (std::uint32_t i = 1; i < LaunchJoin::kWindow; ++i) joined.add(call(2 * i));
  EXPECT_EQ(joined.texts.size(), 30U);
  EXPECT_EQ(joined.join.kernels_of_one_call(), 30);
}

TEST(LaunchJoin, AGraphLaunchHasAnyNumberOfKernelsAndKnowsTheirNodes) {
  Joined joined;
  joined.add(kernel(7, 30));  // before its call
  joined.add(kernel(7, 10));
  joined.add(call(7, true));
  joined.add(kernel(7, 20));
  joined.add(kernel(9, 40));
  EXPECT_EQ(joined.finished(), (Texts{"7:1007", "7:1007", "7:1007", "9:-"}));
  GraphLaunches graphs = joined.join.take_graphs();
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_EQ(graphs.at(7).call.thread_id, 1007U);
  std::vector<std::uint64_t> nodes = graphs.at(7).nodes;
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (std::vector<std::uint64_t>{10, 20, 30}));
}

// Every second id is a call without a kernel. When as many wait as the window is wide, those after it are given up.
TEST(LaunchJoin, WhatIsAWindowBehindIsGivenUp) {
  constexpr std::uint32_t kWindow = LaunchJoin::kWindow;
  Joined joined;
  joined.add(kernel(1));
  joined.add(kernel(kWindow + 1));
  for (std::uint32_t i = 1; i < kWindow - 2; ++i) joined.add(call(2 * i));
  EXPECT_EQ(joined.texts, Texts{}) << "as much may wait";
  joined.add(call(2 * (kWindow - 2)));
  EXPECT_EQ(joined.texts, Texts{"1:-"});
  joined.add(kernel(kWindow - 6));  // its call was given up
  joined.add(kernel(kWindow - 4));
  joined.add(call(kWindow + 1));
  EXPECT_EQ(joined.finished(),
            (Texts{"1:-", std::to_string(kWindow - 4) + ":" + std::to_string(1000 + kWindow - 4),
                   std::to_string(kWindow + 1) + ":" + std::to_string(1001 + kWindow),
                   std::to_string(kWindow - 6) + ":-"}));
}

TEST(Times, CanBeReckonedWithIfTheyArePositiveInOrderAndBefore2043) {
  EXPECT_TRUE(has_time(1, 1));
  EXPECT_TRUE(has_time(1, kLatestNs - 1));
  EXPECT_FALSE(has_time(0, 5));
  EXPECT_FALSE(has_time(-1, 5));
  EXPECT_FALSE(has_time(6, 5));
  EXPECT_FALSE(has_time(1, kLatestNs));
}

TEST(Times, ASampleTakesNoLongerThanTenSeconds) {
  const auto plausible = [](std::int64_t start_ns, std::int64_t end_ns) {
    return is_plausible_sample(start_ns, end_ns);
  };
  EXPECT_TRUE(plausible(1, 2));
  EXPECT_TRUE(plausible(5, 10'000'000'005));
  EXPECT_FALSE(plausible(5, 10'000'000'006));
  EXPECT_FALSE(plausible(5, 5)) << "it takes some time";
  EXPECT_FALSE(plausible(5, 4));
  EXPECT_FALSE(plausible(0, 5));
  EXPECT_TRUE(plausible(kLatestNs - 1, kLatestNs + 5));
  EXPECT_FALSE(plausible(kLatestNs, kLatestNs + 5));
}

TEST(StepFinder, FindsStepsByTheirIndexInAnyOrder) {
  std::map<std::uint32_t, RecordedStep> steps;
  for (const std::uint32_t index : {3U, 5U}) steps[index].index = index;
  StepFinder finder(steps);
  for (const std::uint32_t index : {5U, 5U, 3U, 4U, 3U, 6U, 5U}) {
    RecordedStep* found = finder.find(index);
    ASSERT_EQ(found != nullptr, steps.contains(index)) << index;
    if (found != nullptr) {
      EXPECT_EQ(found, &steps[index]);
    }
  }
}

TEST(SameRefusal, IsOfOneErrorOrOfThePermission) {
  const auto counters = [](std::string_view cause, int result) {
    return Reason::said(ReasonCode::counters_refused, "no", {{"cause", cause}, {"cupti_result", result}});
  };
  const auto samples = [](std::string_view cause, int result) {
    return Reason::said(ReasonCode::sampling_refused, "none", {{"cause", cause}, {"cupti_result", result}});
  };
  EXPECT_TRUE(same_refusal(counters("permission", 35), samples("permission", 0)));
  EXPECT_FALSE(same_refusal(counters("permission", 35), samples("cupti", 35)));
  EXPECT_TRUE(same_refusal(counters("cupti", 26), samples("cupti", 26)));
  EXPECT_FALSE(same_refusal(counters("cupti", 2), samples("cupti", 26)))
      << "one word in another is not the same";
  EXPECT_FALSE(same_refusal(counters("stream_capture", 0), samples("stream_capture", 0)))
      << "each had its own";
  const Reason words = Reason::said(ReasonCode::counters_refused, "CUPTI_ERROR_HARDWARE_BUSY");
  EXPECT_FALSE(same_refusal(words, words)) << "without a cause nothing is known to be one";
}

TEST(CopyKinds, ArraysAreDeviceMemory) {
  using spool::MemcpyKind;
  const std::pair<MemcpyKind, CopyKind> kinds[] = {
      {MemcpyKind::unknown, CopyKind::unknown},
      {MemcpyKind::host_to_device, CopyKind::host_to_device},
      {MemcpyKind::device_to_host, CopyKind::device_to_host},
      {MemcpyKind::host_to_array, CopyKind::host_to_device},
      {MemcpyKind::array_to_host, CopyKind::device_to_host},
      {MemcpyKind::array_to_array, CopyKind::device_to_device},
      {MemcpyKind::array_to_device, CopyKind::device_to_device},
      {MemcpyKind::device_to_array, CopyKind::device_to_device},
      {MemcpyKind::device_to_device, CopyKind::device_to_device},
      {MemcpyKind::host_to_host, CopyKind::host_to_host},
      {MemcpyKind::peer_to_peer, CopyKind::peer_to_peer},
      {static_cast<MemcpyKind>(99), CopyKind::unknown},
  };
  for (const auto& [spooled, stored] : kinds)
    EXPECT_EQ(copy_kind(spooled), stored) << static_cast<int>(spooled);
}

}  // namespace
}  // namespace ridgeline::import
