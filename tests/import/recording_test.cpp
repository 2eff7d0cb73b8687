// Events of a source that lacks much: rows come of what it has, and nothing is made up for what it has not.
#include <gtest/gtest.h>

#include <algorithm>

#include "recording/activities.h"
#include "recording/step_search.h"
#include "ridgeline/store/capture.h"
#include "support/accepted_cases.h"
#include "support/capture_rows.h"
#include "support/temporary_directory.h"

namespace ridgeline::import {
namespace {

constexpr std::int64_t kOrigin = 1'700'000'000'000'000'000;

// A process of a source that knows demangled names and executions, and what a case gives it.
class Recording : public ::testing::Test {
 protected:
  Recording()
      : path_(directory_.file("a.ridge")),
        writer_(std::move(store::CaptureWriter::create(path_)).value()),
        devices_(writer_),
        rows_(writer_, devices_, summary_),
        kernels_(rows_,
                 [](std::uint32_t id) {
                   return KernelName{.text = "void kernel<" + std::to_string(id) + ">(float*)",
                                     .mangled = false};
                 }),
        ranges_(rows_, steps_),
        samples_(rows_) {
    store::Run run;
    run.ridgeline_version = "0";
    run.clock = "test";
    writer_.set_run(run);
    rows_.begin({.pid = 7});
  }
  // Each execution, with its call if the source has it.
  void record(const std::vector<std::pair<Execution, std::optional<Call>>>& launches) {
    RecordedSteps::LaunchPass pass(steps_);
    for (const auto& [execution, call] : launches) {
      if (call) pass.add(steps_.in_step(*call));
      pass.add(execution);
    }
    pass.finish();
    write_steps(
        rows_, steps_, {}, [](const RecordedStep&, store::Step&) {}, outcomes_);
    write_windows(rows_, steps_);
    RecordedActivities activities(rows_, kernels_, steps_, ranges_, samples_,
                                  [](const Execution&, const Call*) { return 0; });
    for (const auto& [execution, call] : launches) {
      if (call) activities.add(*call);
      activities.add(execution);
    }
    activities.add(Clocks{.device = 0, .time_ns = kOrigin});
    activities.finish();
  }
  store::Capture finished() {
    writer_.finish();
    store::Capture capture = std::move(store::Capture::open(path_)).value();
    ridgeline::testing::AcceptedCases::expect([&] { return ridgeline::testing::capture_rows(capture); });
    return capture;
  }
  static Execution execution(std::uint32_t correlation_id, std::int64_t at_ns, std::uint32_t kernel = 1) {
    return {.correlation_id = correlation_id,
            .kernel = kernel,
            .start_ns = kOrigin + at_ns,
            .end_ns = kOrigin + at_ns + 100,
            .grid = {4, 1, 1},
            .block = {64, 1, 1}};
  }

  ridgeline::testing::TemporaryDirectory directory_;
  std::string path_;
  store::CaptureWriter writer_;
  RecordedDevices devices_;
  ImportSummary summary_;
  ProcessRows rows_;
  RecordedSteps steps_;
  RecordedKernels kernels_;
  RecordedRanges ranges_;
  SampledWindows samples_;
  TierOutcomes outcomes_;
};

TEST_F(Recording, WhatASourceHasNotIsAbsent) {
  record({{execution(1, 0), std::nullopt},
          {execution(2, 500), Call{.correlation_id = 2}},
          {Execution{.correlation_id = 3, .kernel = 2}, std::nullopt}});
  const store::Capture capture = finished();
  const auto launches = capture.launches();
  ASSERT_EQ(launches.size(), 3u);
  for (const store::Launch& launch : launches) {
    EXPECT_FALSE(launch.host_start_ns || launch.host_end_ns || launch.thread_id);
    EXPECT_FALSE(launch.step_id || launch.ordinal_in_step || launch.nvtx_path_id);
    EXPECT_FALSE(launch.cluster || launch.graph_node_id);
  }
  EXPECT_EQ(std::count_if(launches.begin(), launches.end(), [](const auto& l) { return l.start_ns == 0; }), 1)
      << "a time that the source has not is none";
  const auto kernels = capture.kernels();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].mangled_name, "") << "it has none";
  EXPECT_EQ(kernels[0].demangled_name, "void kernel<1>(float*)");
  const auto clocks = capture.clock_samples();
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_FALSE(clocks[0].sm_clock_hz || clocks[0].memory_clock_hz || clocks[0].power_mw ||
               clocks[0].temperature_c || clocks[0].throttle_reasons);
  EXPECT_TRUE(capture.steps().empty());
  EXPECT_EQ(capture.devices().at(0).name, "unknown device");
}

TEST_F(Recording, AMangledNameAndADemangledOneAreTwoKernels) {
  const store::Id demangled = writer_.demangled_kernel_id("k()");
  EXPECT_EQ(writer_.demangled_kernel_id("k()"), demangled);
  EXPECT_NE(writer_.kernel_id("k()"), demangled);
  EXPECT_NE(writer_.demangled_kernel_id("k()", "00ff"), demangled);
}

// Without steps a window stands for one; without call times a launch belongs to that in which it ran.
TEST_F(Recording, AWindowHoldsWhatRanInItWhereCallsHaveNoTimes) {
  steps_.windows = {{.open_ns = kOrigin + 100, .close_ns = kOrigin + 1000},
                    {.open_ns = kOrigin + 2000, .close_ns = std::nullopt}};
  record({{execution(1, 200), Call{.correlation_id = 1}}, {execution(2, 2500), std::nullopt}});
  const store::Capture capture = finished();
  const auto steps = capture.steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].status, StepStatus::interrupted);
  EXPECT_EQ(steps[1].reason->code, ReasonCode::window_open);
  EXPECT_EQ(capture.launches().at(0).step_id, steps[0].id);
  EXPECT_EQ(capture.launches().at(1).step_id, steps[1].id);
}

// Steps of 12 launches of kernels 1 to 12, a range round each; what else a case wants.
struct Searched {
  SearchedEvents events;
  RecordedSteps found;
  std::int64_t now_ns = kOrigin;
  std::uint32_t correlation_id = 0;

  void launch(std::uint32_t kernel, std::uint32_t context = 1) {
    events.launches.push_back(
        {now_ns += 20'000, ++correlation_id, context, steps::key_of(kernel, 8, 1, 1), false, 0});
  }
  void range(const std::string& name, std::int64_t start_ns, std::uint32_t thread_id = 3) {
    const auto path = static_cast<std::uint32_t>(events.names.size() + 1);
    events.names[path] = name;
    events.ranges.push_back({start_ns, now_ns += 1000, thread_id, path});
  }
  void step(std::uint32_t first = 1, std::uint32_t count = 12) {
    for (std::uint32_t k = 0; k < count; ++k) launch(first + k);
  }
  void search() { find_steps(std::move(events), found); }
};

TEST(StepSearch, RangesThatRepeatWithNumbersInTheirNamesAreTheSteps) {
  Searched s;
  for (std::uint32_t k = 0; k < 7; ++k) s.launch(900 + k);  // the start-up
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::int64_t begin = s.now_ns += 500'000;
    // Each of another length and order: no period.
    for (std::uint32_t k = 0; k < 10 + 7 * i % 5; ++k) s.launch(1 + (k * (i + 3)) % 40);
    s.range("Train step " + std::to_string(63 + i), begin);
    s.launch(800);  // between two
  }
  s.search();
  ASSERT_TRUE(s.found.steps_found.has_value());
  EXPECT_EQ(s.found.steps_found->code, ReasonCode::steps_by_range);
  EXPECT_EQ(s.found.steps_found->word("name"), "Train step #");
  EXPECT_EQ(s.found.steps_found->number("steps"), 12);
  EXPECT_NEAR(s.found.steps_found->real("launches_ratio"), 0.92, 0.03);
  ASSERT_EQ(s.found.steps.size(), 12u);
  EXPECT_EQ(s.found.steps.at(0).source, StepSource::nvtx);
  EXPECT_EQ(s.found.steps.at(0).phase, Phase::warmup);
  EXPECT_EQ(s.found.steps.at(5).phase, Phase::timeline);
  EXPECT_FALSE(s.found.placed.contains(1)) << "the start-up is of no step";
  EXPECT_EQ(s.found.placed.at(8), std::pair(0u, 0u));
  EXPECT_FALSE(s.found.placed.contains(18)) << "between two";
}

TEST(StepSearch, RangesAreTakenWhereThePeriodIsTheirs) {
  Searched s;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t begin = s.now_ns += 300'000;
    s.step();
    s.range("step " + std::to_string(i), begin);
  }
  s.search();
  ASSERT_TRUE(s.found.steps_found.has_value());
  EXPECT_EQ(s.found.steps_found->code, ReasonCode::steps_by_range);
  EXPECT_EQ(s.found.steps.size(), 20u);
}

// Its loop of 12 launches is queued within 0.24 ms and takes 3 ms on the device; with the device's times unknown the
// loop is shorter than any step.
TEST(StepSearch, AProgramThatNeverWaitsHasStepsAsLongAsTheyTakeOnTheDevice) {
  for (const bool known : {true, false}) {
    Searched s;
    for (int i = 0; i < 120; ++i) s.step();
    for (std::size_t i = 0; known && i < s.events.launches.size(); ++i)
      s.events.launches[i].start_ns = kOrigin + 1'000'000 + static_cast<std::int64_t>(i) * 250'000;
    s.search();
    ASSERT_TRUE(s.found.steps_found.has_value());
    EXPECT_EQ(s.found.steps_found->number("launches"), 12);
    EXPECT_EQ(s.found.steps_found->number("periods"), known ? 1 : 5);
    EXPECT_EQ(s.found.steps_found->number("step_ns"), known ? 3'000'000 : 1'200'000);
  }
}

// An epoch is a range that repeats, too; steps are what it is made of.
TEST(StepSearch, APeriodThatComesManyTimesInEachRangeFitsBetter) {
  Searched s;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const std::int64_t begin = s.now_ns += 300'000;
    for (int i = 0; i < 30; ++i) {
      s.now_ns += 1'000'000;
      s.step();
    }
    s.range("epoch " + std::to_string(epoch), begin);
  }
  s.search();
  ASSERT_TRUE(s.found.steps_found.has_value());
  EXPECT_EQ(s.found.steps_found->code, ReasonCode::steps_by_period);
  EXPECT_EQ(s.found.steps_found->number("varies"), 0);
  EXPECT_EQ(s.found.steps_found->number("launches"), 12);
  EXPECT_GE(s.found.steps.size(), 118u);
}

TEST(StepSearch, RangesThatHoldFewOfTheLaunchesAreNoSteps) {
  Searched s;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::int64_t begin = s.now_ns += 300'000;
    for (std::uint32_t k = 0; k < 5; ++k) s.launch(1 + (k * (i + 3)) % 40);
    s.range("validate", begin);
    for (std::uint32_t k = 0; k < 10 + i; ++k) s.launch(100 + (k * (i + 7)) % 90);
  }
  s.search();
  EXPECT_FALSE(s.found.steps_found.has_value());
  EXPECT_TRUE(s.found.steps.empty());
}

// Of two names the one with more of the launches in it, whichever thread opens it.
TEST(StepSearch, OfSeveralRangesTheOneWithTheMostLaunchesIsTaken) {
  Searched s;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::int64_t begin = s.now_ns += 300'000;
    s.launch(700);
    const std::int64_t inner = s.now_ns += 1000;
    for (std::uint32_t k = 0; k < 9 + i % 3; ++k) s.launch(1 + (k * (i + 3)) % 40);
    s.range("inner", inner, 9);
    s.range("iteration", begin, 4);
  }
  s.search();
  ASSERT_TRUE(s.found.steps_found.has_value());
  EXPECT_EQ(s.found.steps_found->word("name"), "iteration");
}

TEST(StepSearch, ContextsOfOneProcessAreSearchedApartForPeriods) {
  Searched s;
  for (int i = 0; i < 30; ++i) {
    s.now_ns += 300'000;
    s.step();
    if (i % 7 < 3) s.launch(500 + i, 2);  // another context, when it likes
  }
  s.search();
  ASSERT_TRUE(s.found.steps_found.has_value());
  EXPECT_EQ(s.found.steps_found->number("launches"), 12);
}

}  // namespace
}  // namespace ridgeline::import
