#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <stdexcept>

#include "analyzer/program_reference.h"
#include "execution/step_builder.h"

namespace ridgeline::analyzer {
namespace {

using testing::Program;
using testing::ProgramRun;
using Change = StepSimulation::Change;

// A recorded step, asked what its length is if work of it takes another time.
class Asked {
 public:
  explicit Asked(const RecordedStep& step)
      : step_(step), built_(build_graph(step)), simulation_(built_.graph, {.anchor = built_.anchor}) {}

  [[nodiscard]] double length_ns() const { return simulation_.length_ns(); }
  [[nodiscard]] std::int64_t measured_ns() const { return step_.end_ns - step_.start_ns; }
  [[nodiscard]] const BuiltStep& built() const { return built_; }
  /// work → its new duration
  [[nodiscard]] double saving_ns(const std::vector<std::pair<std::size_t, std::int64_t>>& durations) const {
    std::vector<Change> changes;
    for (const auto& [work, ns] : durations) changes.push_back({built_.node_of_work[work], ns});
    return simulation_.saving_ns(changes);
  }
  [[nodiscard]] double without_gpu_ns() const {
    std::vector<std::pair<std::size_t, std::int64_t>> all;
    for (std::size_t i = 0; i < step_.works.size(); ++i) all.emplace_back(i, 0);
    return length_ns() - saving_ns(all);
  }

 private:
  RecordedStep step_;
  BuiltStep built_;
  StepSimulation simulation_;
};

Asked asked(const Program& program) {
  return Asked(ProgramRun(program).step());
}

TEST(StepSimulation, WhereTheGpuIsThePaceEverySavingReachesTheStep) {
  Program program;
  for (int i = 0; i < 10; ++i) program.launch(100'000);
  program.wait();
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.saving_ns({{3, 70'000}}), 30'000, 1);
  EXPECT_NEAR(a.saving_ns({{0, 50'000}, {9, 50'000}}), 100'000, 1);
  EXPECT_LT(a.without_gpu_ns(), 80'000);
}

TEST(StepSimulation, WhereTheCpuIsThePaceNothingReachesTheStep) {
  Program program;
  for (int i = 0; i < 20; ++i) {
    program.work(30'000);
    program.launch(5'000);
  }
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.length_ns(), 20 * 33'000, 1);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_DOUBLE_EQ(a.saving_ns({{i, 1'000}}), 0) << i;
  EXPECT_NEAR(a.without_gpu_ns(), a.length_ns(), 1);
}

TEST(StepSimulation, AWaitEndsWithTheWorkItWaitsFor) {
  Program program;
  program.launch(400'000);
  program.wait();
  program.work(50'000);
  program.launch(200'000);
  program.wait();
  program.work(10'000);
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.saving_ns({{0, 300'000}}), 100'000, 1);
  EXPECT_NEAR(a.saving_ns({{1, 150'000}}), 50'000, 1);
  // Both calls, waits and the CPU's own work stay.
  EXPECT_NEAR(a.without_gpu_ns(), 2 * (testing::kLatency_ns + testing::kReturn_ns) + 60'000, 2000);
}

TEST(StepSimulation, WorkBesideALongerStreamSavesNothing) {
  Program program;
  program.launch(1'000, 0);
  program.stream_waits(1, 0);
  program.launch(100'000, 0);
  program.launch(60'000, 1);
  program.stream_waits(0, 1);
  program.launch(20'000, 0);
  program.wait();
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_DOUBLE_EQ(a.saving_ns({{2, 10'000}}), 0);
  EXPECT_NEAR(a.saving_ns({{1, 70'000}}), 30'000, 1);
  EXPECT_NEAR(a.saving_ns({{3, 5'000}}), 15'000, 1);
}

TEST(StepSimulation, AStreamWaitsForAnotherAsTheTimesShow) {
  Program program;
  program.launch(10'000, 0);
  program.launch(90'000, 1);
  program.stream_waits(0, 1);
  program.launch(20'000, 0);  // begins when the other stream is done
  program.wait();
  const Asked a = asked(program);
  EXPECT_EQ(a.built().concluded, 1);
  EXPECT_NEAR(a.saving_ns({{1, 60'000}}), 30'000, 1);
  EXPECT_DOUBLE_EQ(a.saving_ns({{0, 1'000}}), 0);
}

TEST(StepSimulation, ARecordedDependencyHoldsWhereItDidNotBindBefore) {
  Program program;
  program.launch(50'000, 0);
  program.launch(30'000, 1);
  program.launch(20'000, 0);
  program.wait();
  RecordedStep step = ProgramRun(program).step();
  EXPECT_NEAR(Asked(step).saving_ns({{0, 1'000}}), 36'000, 3000)
      << "until the other stream is the longer one";
  step.dependencies = {{1, 2, 0}};
  step.dependencies_recorded = true;
  const Asked held(step);
  EXPECT_NEAR(held.length_ns(), static_cast<double>(held.measured_ns()), 1);
  EXPECT_NEAR(held.saving_ns({{0, 1'000}}), 50'000 - 30'000 - testing::kCall_ns, 3000);
}

// cuDNN has streams of its own, which wait for the program's and it for them; a wait takes some 10 us to be over.
TEST(StepSimulation, WhatARecordedWaitHeldFollowsItHoweverLate) {
  Program program;
  program.launch(60'000, 0);
  program.stream_waits(1, 0);
  program.launch(20'000, 1);
  program.stream_waits(0, 1);
  program.launch(10'000, 0);
  program.wait();
  RecordedStep step = ProgramRun(program).step();
  constexpr std::int64_t kLate = 12'000;
  for (RecordedStep::Index i : {1U, 2U}) {
    step.works[i].start_ns += i * kLate;
    step.works[i].end_ns += i * kLate;
  }
  step.calls.back().end_ns += 2 * kLate;
  step.end_ns += 2 * kLate;
  step.host_end_ns += 2 * kLate;
  step.dependencies = {{0, 1, 0}, {1, 2, 0}};
  step.dependencies_recorded = true;
  const Asked a(step);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.saving_ns({{0, 20'000}}), 40'000, 1);
  EXPECT_NEAR(a.saving_ns({{1, 5'000}}), 15'000, 1);
}

TEST(StepSimulation, AGraphIsOneCall) {
  Program program;
  program.work(20'000);
  program.graph({40'000, 30'000, 50'000, 10'000, 20'000});
  program.wait();
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.saving_ns({{2, 20'000}}), 30'000, 1);
  EXPECT_NEAR(a.saving_ns({{0, 0}, {4, 0}}), 60'000, 1);
}

TEST(StepSimulation, ThreadsThatTakeTurnsAreOneSequence) {
  Program program;
  for (int i = 0; i < 20; ++i) program.launch(3'000), program.work(10'000);
  program.thread = 2;
  program.launch(900'000);
  program.wait();  // the second thread waits, the first goes on when it is done
  for (int i = 0; i < 40; ++i) program.launch(3'000), program.work(10'000);
  program.thread = 1;
  for (int i = 0; i < 10; ++i) program.launch(3'000), program.work(10'000);
  const Asked a = asked(program);
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.5);
  EXPECT_NEAR(a.saving_ns({{20, 500'000}}), 400'000, 1);
}

TEST(StepSimulation, ACallThatWaitedForRoomInTheQueueIsFreed) {
  Program program;
  program.queue = 1000;
  program.work(300'000);
  for (int i = 0; i < 300; ++i) program.launch(40'000);
  const ProgramRun run(program, 60);
  const Asked a{run.step()};
  EXPECT_NEAR(a.length_ns(), static_cast<double>(a.measured_ns()), 0.01 * a.length_ns());
  std::vector<std::pair<std::size_t, std::int64_t>> half, none;
  for (std::size_t i = 0; i < 300; ++i) half.emplace_back(i, 20'000), none.emplace_back(i, 0);
  EXPECT_NEAR(a.saving_ns(half), 300 * 20'000, 0.01 * a.length_ns());
  // What the CPU needs: its own work and its calls, not the time it was held up in them.
  EXPECT_NEAR(a.without_gpu_ns(), 300'000 + 300 * testing::kCall_ns, 0.02 * a.length_ns());
}

TEST(StepSimulation, WithoutCallsWorkIsTakenToBeIssuedInTime) {
  RecordedStep step;
  step.works = {{0, 100, 0, RecordedStep::kNone, RecordedStep::kNone, false},
                {101, 300, 0, RecordedStep::kNone, RecordedStep::kNone, false}};
  step.start_ns = 0;
  step.end_ns = 310;
  step.repeats = true;
  step.host_end_ns = 310;
  const Asked a{step};
  EXPECT_DOUBLE_EQ(a.length_ns(), 310);
  EXPECT_DOUBLE_EQ(a.saving_ns({{1, 99}}), 100);
}

TEST(StepSimulation, AStepThatDoesNotRepeatLastsUntilItsLastWorkEnds) {
  RecordedStep step;
  step.calls = {{1000, 1100, 1, false}, {1200, 1300, 1, false}};
  step.works = {{5000, 9000, 0, 0, RecordedStep::kNone, false},
                {9500, 12'000, 0, 1, RecordedStep::kNone, false}};
  step.start_ns = 5000;
  step.end_ns = 12'000;
  const BuiltStep built = build_graph(step);
  ASSERT_EQ(built.anchor, kNoNode);
  const StepSimulation simulation(built.graph, {});
  EXPECT_DOUBLE_EQ(simulation.length_ns() - static_cast<double>(built.offset_ns), 7000);
  EXPECT_DOUBLE_EQ(simulation.saving_ns(std::vector<Change>{{built.node_of_work[0], 3000}}), 1000);
}

// A program of one stream with pauses, waits and kernels of any length.
Program random_program(std::mt19937& random, int streams) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Program program;
  const std::int64_t cpu = between(1, 40) * 1000, gpu = between(2, 80) * 1000;
  const std::int64_t launches = between(3, 60);
  for (std::int64_t i = 0; i < launches; ++i) {
    if (between(0, 2) == 0) program.work(between(0, 2 * cpu));
    program.launch(between(1500, 2 * gpu), static_cast<std::uint32_t>(between(0, streams - 1)));
    if (streams > 1 && between(0, 3) == 0)
      program.stream_waits(static_cast<std::uint32_t>(between(0, streams - 1)),
                           static_cast<std::uint32_t>(between(0, streams - 1)));
    if (between(0, 11) == 0) program.wait();
  }
  if (between(0, 1) == 0) program.wait();
  return program;
}

std::size_t launches_of(const Program& program) {
  return static_cast<std::size_t>(
      std::count_if(program.operations.begin(), program.operations.end(),
                    [](const Program::Operation& o) { return o.kind == Program::Kind::launch; }));
}

// The program with kernel `i` of another length.
void set_length(Program& program, std::size_t i, std::int64_t ns) {
  for (Program::Operation& operation : program.operations) {
    if (operation.kind == Program::Kind::launch && i-- == 0) operation.ns = ns;
  }
}

TEST(StepSimulation, AgreesWithTheProgramRunAnew) {
  int compared = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 1);
    const ProgramRun before(program);
    const Asked a{before.step()};
    const auto step = static_cast<double>(a.measured_ns());
    // Steps that a program does not take alike, one by one, are none that one can stand for.
    if (std::abs(step - before.length_ns()) > 0.002 * step) continue;
    ASSERT_NEAR(a.length_ns(), step, 0.01 * step) << "seed " << seed;
    Program faster = program;
    std::vector<std::pair<std::size_t, std::int64_t>> changes;
    for (std::size_t i = 0; i < launches_of(program); ++i) {
      if (random() % 2 == 0) continue;
      const std::int64_t length = before.step().works[i].end_ns - before.step().works[i].start_ns;
      changes.emplace_back(i, length / static_cast<std::int64_t>(1 + random() % 4));
      set_length(faster, i, changes.back().second);
    }
    const double truth = before.length_ns() - ProgramRun(faster).length_ns();
    EXPECT_NEAR(a.saving_ns(changes), truth, 0.01 * step) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 250);
}

TEST(StepSimulation, HoldsWhatEverySavingMustHold) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 1 + static_cast<int>(seed % 3));
    const RecordedStep step = ProgramRun(program).step();
    const Asked a{step};
    std::vector<std::pair<std::size_t, std::int64_t>> same, some, more;
    std::int64_t shortened_ns = 0;
    for (std::size_t i = 0; i < step.works.size(); ++i) {
      const std::int64_t length = step.works[i].end_ns - step.works[i].start_ns;
      same.emplace_back(i, length);
      const std::int64_t shorter = length * static_cast<std::int64_t>(random() % 100) / 100;
      more.emplace_back(i, shorter);
      if (random() % 2 == 0) continue;
      some.emplace_back(i, shorter);
      shortened_ns += length - shorter;
    }
    EXPECT_DOUBLE_EQ(a.saving_ns(same), 0) << seed;
    EXPECT_DOUBLE_EQ(a.saving_ns({}), 0) << seed;
    const double saving = a.saving_ns(some);
    EXPECT_GE(saving, 0) << seed;
    EXPECT_LE(saving, static_cast<double>(shortened_ns)) << seed;
    EXPECT_GE(a.saving_ns(more), saving) << "more work shortened, seed " << seed;
    std::reverse(some.begin(), some.end());
    EXPECT_DOUBLE_EQ(a.saving_ns(some), saving) << "in another order, seed " << seed;
  }
}

// The same graph, worked out by going round until nothing changes.
std::vector<std::int64_t> slow_starts(const std::vector<std::int64_t>& durations,
                                      const std::vector<std::vector<StepGraph::Edge>>& edges,
                                      std::size_t repetitions) {
  const std::size_t n = durations.size();
  std::vector<std::int64_t> start(n * repetitions, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < repetitions; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        for (const StepGraph::Edge& edge : edges[i]) {
          if (edge.back > k) continue;
          const std::size_t from = (k - edge.back) * n + edge.node;
          const std::int64_t at =
              start[from] + edge.lag_ns + (edge.point == StepGraph::Point::end ? durations[edge.node] : 0);
          if (at <= start[k * n + i]) continue;
          start[k * n + i] = at;
          changed = true;
        }
      }
    }
  }
  return start;
}

TEST(StepGraph, IsWorkedOutAsBySlowReference) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    StepGraph graph;
    std::vector<std::int64_t> durations;
    std::vector<std::vector<StepGraph::Edge>> edges;
    const auto nodes = static_cast<NodeIndex>(2 + random() % 30);
    for (NodeIndex i = 0; i < nodes; ++i) {
      durations.push_back(static_cast<std::int64_t>(random() % 1000));
      graph.add_node(durations.back());
      edges.emplace_back();
      for (unsigned e = 0; e < 1 + random() % 3; ++e) {
        const std::uint32_t back = i == 0 ? 1 + random() % 2 : random() % 3;
        const auto from = static_cast<NodeIndex>(back == 0 ? random() % i : random() % nodes);
        const auto point = random() % 2 == 0 ? StepGraph::Point::start : StepGraph::Point::end;
        edges.back().push_back({from, back, static_cast<std::int64_t>(random() % 50), point});
        graph.add_start_edge(edges.back().back());
      }
    }
    constexpr std::size_t kRepetitions = 6;
    const std::vector<std::int64_t> expected = slow_starts(durations, edges, kRepetitions);
    graph.run(durations, kRepetitions, [&](std::size_t k, const StepGraph::Times& times) {
      for (NodeIndex i = 0; i < nodes; ++i)
        ASSERT_EQ(times.start_ns[i], expected[k * nodes + i]) << "seed " << seed << ", node " << i;
    });
  }
}

TEST(StepGraph, AnEdgeForwardIsRefused) {
  StepGraph graph;
  EXPECT_THROW(graph.add_start_edge({0, 0, 0}), std::logic_error);
  graph.add_node(1);
  EXPECT_THROW(graph.add_start_edge({0, 0, 0}), std::logic_error) << "of a node to itself";
  EXPECT_NO_THROW(graph.add_start_edge({0, 1, 0}));
  graph.add_end_edge({0, 1, 5});
  EXPECT_THROW(graph.add_start_edge({0, 1, 0}), std::logic_error) << "start edges come first";
}

TEST(StepGraph, TwentyThousandLaunchesAreAnsweredOften) {
  Program program;
  for (int i = 0; i < 20'000; ++i) program.launch(5'000 + i % 7 * 1000);
  program.wait();
  const Asked a{ProgramRun(program, 3).step()};
  double sum = 0;
  for (std::size_t i = 0; i < 40; ++i) sum += a.saving_ns({{i * 400, 1'000}});
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace ridgeline::analyzer
