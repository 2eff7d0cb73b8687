// What advice promises of a program whose CPU and GPU work together as the reference says, beside what the program
// gains that is run anew without the defect; and that a program without one, which only its recording makes late, is
// advised nothing.
#include <gtest/gtest.h>

#include "analyzer/program_model.h"
#include "ridgeline/analyzer/advice/advice.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "support/analysed_model.h"

namespace ridgeline::analyzer::testing {
namespace {

using ridgeline::to_string;

constexpr double kOfTruth = 0.10;

const Advice* case_of(const AdviceReport& report, AdviceRule rule) {
  for (const Advice& advice : report.advice) {
    if (advice.rule == rule) return &advice;
  }
  return nullptr;
}

std::string said(const AdviceReport& report) {
  std::string text;
  for (const Advice& advice : report.advice)
    text += std::string(to_string(advice.rule)) + " " + std::to_string(advice.net.mid_ns) + "; ";
  return text;
}

// A program recorded at a price: `recorded` is what runs while it is recorded, `alone` without.
class Recorded {
 public:
  Recorded(const Program& recorded, const Program& alone, std::set<std::size_t> copies = {})
      : Recorded(recorded, alone, recorded, std::move(copies)) {}

  /// Its price was measured of steps that were recorded otherwise: `priced`.
  Recorded(const Program& recorded, const Program& alone, const Program& priced, std::set<std::size_t> copies)
      : Recorded(recorded, std::move(copies)) {
    const double alone_ns = ProgramRun(alone).length_ns(), recorded_ns = ProgramRun(priced).length_ns();
    const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
    program_.made.model.messages.push_back(
        {.process_id = 1,
         .severity = Severity::info,
         .what = Reason(ReasonCode::recording_price,
                        {{"alone_ns", whole(alone_ns)},
                         {"recorded_ns", whole(recorded_ns)},
                         {"error_ns", whole(0.005 * alone_ns)},
                         {"steps_alone", 20},
                         {"steps_recorded", 6},
                         {"launches", whole(static_cast<double>(ProgramRun(recorded).step().works.size()))},
                         {"remained_ns", 0}})});
  }

  /// Its price was not measured.
  explicit Recorded(const Program& recorded, std::set<std::size_t> copies)
      : program_(recorded, std::move(copies)) {}

  /// Kernels from this number in the step on are an optimizer's.
  void optimiser_from(int number) {
    for (auto& [id, kernel] : program_.made.model.kernels) {
      if (std::stoi(kernel.demangled_name.substr(7)) >= number) kernel.kernel_class = KernelClass::optimiser;
    }
  }

  AdviceReport advised() {
    auto analysis = analyse(program_.made.done());
    if (!analysis.ok()) throw std::runtime_error(analysis.failure().message);
    return std::move(analysis).value().advice;
  }

  ProgramModel program_;
};

double length_ns(const Program& program) {
  return ProgramRun(program).length_ns();
}

// Large kernels, launched far ahead of the GPU.
void large_kernels(Program& program, int count, std::int64_t cpu_ns) {
  for (int i = 0; i < count; ++i) {
    program.work(cpu_ns);
    program.launch(400'000);
  }
}

// 20 large kernels, a wait in the middle after which the CPU is busy.
Program with_wait(bool waits) {
  Program program;
  large_kernels(program, 10, 5'000);
  if (waits) program.wait();
  program.work(500'000);
  large_kernels(program, 10, 5'000);
  return program;
}

TEST(AdvicePromise, AWaitInTheStep) {
  const double truth_ns = length_ns(with_wait(true)) - length_ns(with_wait(false));
  ASSERT_GT(truth_ns, 450'000);
  Recorded recorded(with_wait(true), with_wait(true));
  const AdviceReport report = recorded.advised();
  const Advice* advice = case_of(report, AdviceRule::sync_in_step);
  ASSERT_NE(advice, nullptr) << said(report);
  EXPECT_EQ(&report.advice.front(), advice);
  EXPECT_NEAR(advice->net.high_ns, truth_ns, kOfTruth * truth_ns);
}

// After the wait short kernels follow, each later than the GPU could take it: without the wait the CPU is ahead of them
// all, which is more than the gap at the wait.
Program wait_before_short(bool waits) {
  Program program;
  large_kernels(program, 10, 5'000);
  if (waits) program.wait();
  program.work(100'000);
  for (int i = 0; i < 60; ++i) {
    program.work(9'000);
    program.launch(4'000);
  }
  return program;
}

TEST(AdvicePromise, AWaitThatMakesTheLaunchesAfterItLate) {
  const double truth_ns = length_ns(wait_before_short(true)) - length_ns(wait_before_short(false));
  ASSERT_GT(truth_ns, 500'000) << "several times the gap itself";
  Recorded recorded(wait_before_short(true), wait_before_short(true));
  const AdviceReport report = recorded.advised();
  const Advice* advice = case_of(report, AdviceRule::sync_in_step);
  ASSERT_NE(advice, nullptr) << said(report);
  EXPECT_NEAR(advice->net.high_ns, truth_ns, kOfTruth * truth_ns);
  EXPECT_LE(report.together.high_ns, (1 + kOfTruth) * truth_ns)
      << "the late launches are promised once: " << said(report);
}

// The CPU hands out as much as 150 short kernels for the optimizer; while it is recorded each takes `more_ns` longer.
Program optimizer(std::int64_t more_ns, bool fused) {
  Program program;
  large_kernels(program, 4, 8'000 + more_ns);
  for (int i = 0; i < (fused ? 1 : 150); ++i) {
    program.work(9'000 + more_ns);
    program.launch(500);
  }
  return program;
}

TEST(AdvicePromise, AnOptimizerLaunchByLaunch) {
  const double truth_ns = length_ns(optimizer(0, false)) - length_ns(optimizer(0, true));
  const double recorded_ns = length_ns(optimizer(6'000, false)) - length_ns(optimizer(6'000, true));
  ASSERT_GT(recorded_ns, 3 * truth_ns) << "most of the gaps are the recording's";
  ASSERT_GT(truth_ns, 100'000);
  Recorded recorded(optimizer(6'000, false), optimizer(0, false));
  recorded.optimiser_from(4);
  const AdviceReport report = recorded.advised();
  const Advice* advice = case_of(report, AdviceRule::optimiser);
  ASSERT_NE(advice, nullptr) << said(report);
  EXPECT_EQ(&report.advice.front(), advice) << said(report);
  EXPECT_GT(advice->net.mid_ns, truth_ns / 2);
  EXPECT_LT(advice->net.mid_ns, truth_ns * 2);
  EXPECT_LT(report.together.mid_ns, truth_ns * 2) << said(report);
}

// Short kernels, one by one or as a graph.
Program short_kernels(std::int64_t more_ns, bool graph) {
  Program program;
  large_kernels(program, 2, 8'000 + more_ns);
  if (graph) {
    program.work(9'000);
    program.graph(std::vector<std::int64_t>(150, 2'000));
  } else {
    for (int i = 0; i < 150; ++i) {
      program.work(9'000 + more_ns);
      program.launch(2'000);
    }
  }
  return program;
}

TEST(AdvicePromise, LaunchesOneByOne) {
  const double truth_ns = length_ns(short_kernels(0, false)) - length_ns(short_kernels(0, true));
  ASSERT_GT(truth_ns, 300'000);
  Recorded recorded(short_kernels(6'000, false), short_kernels(0, false));
  const AdviceReport report = recorded.advised();
  const Advice* advice = case_of(report, AdviceRule::launch_overhead);
  ASSERT_NE(advice, nullptr) << said(report);
  EXPECT_GT(advice->net.mid_ns, truth_ns / 2);
  EXPECT_LT(advice->net.mid_ns, truth_ns * 2);
}

// Nothing is wrong with it: the CPU is ahead, a batch is copied beside the kernels on a stream that nothing waits
// for. It is late while it is recorded, by `more_ns` a launch.
Program light(std::int64_t more_ns) {
  Program program;
  program.launch(900'000, 1);
  for (int i = 0; i < 40; ++i) {
    program.work(15'000 + more_ns);
    program.launch(25'000);
  }
  return program;
}

TEST(AdvicePromise, WhatTheRecordingMakesLateIsNoDefect) {
  ASSERT_LT(length_ns(light(0)), 40 * 27'000) << "the GPU is the pace of it";
  ASSERT_GT(length_ns(light(15'000)), 1.2 * length_ns(light(0)));
  Recorded recorded(light(15'000), light(0), {0});
  const AdviceReport report = recorded.advised();
  EXPECT_TRUE(report.advice.empty()) << said(report);
}

// Nobody knows that it does: 5 us a launch are no more than what recording may cost at most.
TEST(AdvicePromise, LatenessThatMayBeTheRecordingsCannotBeJudged) {
  ASSERT_GT(length_ns(light(13'000)), 1.1 * length_ns(light(0)));
  Recorded recorded(light(13'000), {0});
  const AdviceReport report = recorded.advised();
  EXPECT_TRUE(report.advice.empty()) << said(report);
  const AdviceVerdict verdict = report.verdict(AdviceRule::launch_overhead);
  const auto* unknown = std::get_if<AdviceUnknown>(&verdict);
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->need, AdviceNeed::recording_price);
}

// Recording makes the launch of a large graph slower most, and everything else the CPU does is slower beside it:
// some launches are late, by more than 5 us each, which all together is no more than recording may cost that step.
Program light_with_graph(std::int64_t more_ns, std::int64_t graph_ns) {
  Program program;
  large_kernels(program, 3, 30'000);
  program.work(9'000 + graph_ns);
  program.graph(std::vector<std::int64_t>(400, 1'000));
  for (int i = 0; i < 28; ++i) {
    program.work(60'000 + more_ns);
    program.launch(40'000);
  }
  return program;
}

TEST(AdvicePromise, AFewLateLaunchesBesideALargeGraphCannotBeJudged) {
  Recorded recorded(light_with_graph(60'000, 900'000), std::set<std::size_t>());
  const AdviceReport report = recorded.advised();
  EXPECT_EQ(case_of(report, AdviceRule::launch_overhead), nullptr) << said(report);
  const AdviceVerdict verdict = report.verdict(AdviceRule::launch_overhead);
  const auto* unknown = std::get_if<AdviceUnknown>(&verdict);
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->need, AdviceNeed::recording_price);
}

// Its price was measured where recording cost less than in the step that is looked at.
TEST(AdvicePromise, WhatAStepTakesMoreThanThoseOfThePriceIsTheRecordingsToo) {
  ASSERT_GT(length_ns(light(15'000)), 1.2 * length_ns(light(0)));
  Recorded recorded(light(15'000), light(0), light(1'000), {0});
  const AdviceReport report = recorded.advised();
  EXPECT_TRUE(report.advice.empty()) << said(report);
}

// The CPU is late by more than that. The copy lies in gaps that it leaves, and is none of their cause.
TEST(AdvicePromise, ACopyThatNothingWaitsForIsNotExposed) {
  Recorded recorded(light(40'000), {0});
  const AdviceReport report = recorded.advised();
  EXPECT_EQ(case_of(report, AdviceRule::copy_exposed), nullptr) << said(report);
  EXPECT_NE(case_of(report, AdviceRule::launch_overhead), nullptr) << "the CPU is late: " << said(report);
}

// The kernels wait for the copy.
TEST(AdvicePromise, ACopyThatTheStepWaitsForIs) {
  const auto program = [](bool copy) {
    Program made;
    if (copy) made.launch(900'000);
    large_kernels(made, 10, 5'000);
    return made;
  };
  const double truth_ns = length_ns(program(true)) - length_ns(program(false));
  Recorded recorded(program(true), program(true), {0});
  const AdviceReport report = recorded.advised();
  const Advice* advice = case_of(report, AdviceRule::copy_exposed);
  ASSERT_NE(advice, nullptr) << said(report);
  EXPECT_NEAR(advice->net.high_ns, truth_ns, kOfTruth * truth_ns);
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
