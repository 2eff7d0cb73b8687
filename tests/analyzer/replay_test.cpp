#include "ridgeline/analyzer/whatif/replay.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyzer/program_model.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"
#include "whatif/replayed_step.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;
using testing::Program;
using testing::ProgramModel;
using testing::ProgramRun;

constexpr double kTolerance = 0.05;

// A program's recording, simulated; what it is held against is the program run anew.
class Replayed {
 public:
  explicit Replayed(const Program& program, const std::set<std::size_t>& copies = {},
                    const ReplayOptions& options = {})
      : program_(program), recorded_(program, copies), model_(recorded_.made.done()) {
    steps_ = analyze_steps(model_).value();
    std::vector<RepresentativeStep> all;
    for (const StepSummary& step : steps_.steps) {
      if (step.closed) all.push_back(represent(model_, step));
    }
    replay_.emplace(model_, steps_.representative, all, options);
  }

  [[nodiscard]] const Replay& replay() const { return *replay_; }
  [[nodiscard]] const StepAnalysis& steps() const { return steps_; }
  [[nodiscard]] double length_ns() const { return ProgramRun(program_).length_ns(); }

  /// Launches by number and what each takes instead.
  [[nodiscard]] Gain gain(const std::vector<std::pair<std::size_t, double>>& launches) const {
    StepChange change;
    for (const auto& [position, ns] : launches) change.launches.push_back({position, ns, false});
    return replay_->gain(change);
  }

 private:
  Program program_;
  ProgramModel recorded_;
  const Model& model_;
  StepAnalysis steps_;
  std::optional<Replay> replay_;
};

void expect_near_truth(const Gain& gain, double truth_ns, double step_ns) {
  ASSERT_TRUE(gain.simulated.has_value());
  EXPECT_NEAR(gain.simulated->value, truth_ns, kTolerance * std::abs(truth_ns) + 0.0005 * step_ns);
}

// Two streams; the one that is waited for last has `slack_ns` to spare.
Program two_streams(std::int64_t main_ns, std::int64_t side_ns) {
  Program program;
  program.launch(100'000, 0);
  program.stream_waits(1, 0);
  program.launch(side_ns, 1);
  program.launch(main_ns, 0);
  program.stream_waits(0, 1);
  program.launch(200'000, 0);
  program.wait();
  return program;
}

TEST(WhatIfReplay, BesideAnotherStreamAKernelGivesItsSlackAndNoMore) {
  for (const std::int64_t slack_ns : {0, 200'000, 1'000'000}) {
    const std::int64_t side_ns = 2'000'000;
    const Program program = two_streams(side_ns + slack_ns, side_ns);
    const Replayed replayed(program);
    ASSERT_TRUE(replayed.replay().check().known()) << slack_ns;
    EXPECT_TRUE(replayed.replay().check().order_recorded);
    EXPECT_EQ(replayed.replay().check().steps, 5);
    for (const double ratio : {0.9, 0.5, 0.25}) {
      const auto main_ns = static_cast<std::int64_t>(ratio * static_cast<double>(side_ns + slack_ns));
      const double truth_ns = replayed.length_ns() - ProgramRun(two_streams(main_ns, side_ns)).length_ns();
      const Gain gain = replayed.gain({{2, static_cast<double>(main_ns)}});
      expect_near_truth(gain, truth_ns, replayed.length_ns());
      EXPECT_NEAR(gain.naive_ns, static_cast<double>(side_ns + slack_ns - main_ns), 1);
      EXPECT_NEAR(gain.bound_ns, gain.naive_ns, 1) << "of one kernel both are its own time";
      EXPECT_LE(gain.simulated->value, gain.bound_ns + 1);
    }
  }
}

TEST(WhatIfReplay, TheBoundOfKernelsThatOverlapIsTheTimeInWhichAnyRan) {
  const Replayed replayed(two_streams(2'000'000, 2'000'000));
  const Gain gain = replayed.gain({{1, 1'000'000}, {2, 1'000'000}});
  EXPECT_NEAR(gain.naive_ns, 2'000'000, 1);
  EXPECT_NEAR(gain.bound_ns, 1'000'000, 10'000);
  expect_near_truth(gain, replayed.length_ns() - ProgramRun(two_streams(1'000'000, 1'000'000)).length_ns(),
                    replayed.length_ns());
}

Program host_bound(bool graph) {
  Program program;
  if (graph) {
    program.graph(std::vector<std::int64_t>(50, 8'000));
  } else {
    for (int i = 0; i < 50; ++i) {
      program.work(30'000);
      program.launch(8'000);
    }
  }
  program.wait();
  program.work(100'000);
  return program;
}

TEST(WhatIfReplay, WhereTheCpuIsThePaceOnlyAGraphHelps) {
  const Replayed replayed(host_bound(false), {},
                          {.graph_launch_ns = testing::kCall_ns, .graph_pause_ns = testing::kPause_ns});
  ASSERT_TRUE(replayed.replay().check().known());
  std::vector<std::pair<std::size_t, double>> all;
  for (std::size_t i = 0; i < 49; ++i) all.emplace_back(i, 1'000);
  EXPECT_NEAR(replayed.gain(all).simulated->value, 0, 1'000);
  EXPECT_GT(replayed.gain(all).naive_ns, 300'000);
  const Gain graph = replayed.replay().gain({.launches = {}, .as_graph = true, .hide_copies = false});
  // The CPU's work before the first launch is not part of what the graph does.
  const double truth_ns = replayed.length_ns() - ProgramRun(host_bound(true)).length_ns() - 30'000;
  expect_near_truth(graph, truth_ns, replayed.length_ns());
  EXPECT_LE(graph.simulated->value, graph.bound_ns + 1);
}

TEST(WhatIfReplay, TheBoundOfALaunchThatGoesHasThePausesBesideIt) {
  const Replayed host(host_bound(false)), device(two_streams(2'000'000, 1'000'000));
  for (const Replayed* replayed : {&host, &device}) {
    ASSERT_TRUE(replayed->replay().check().known());
    for (std::size_t gone = 0; gone < 3; ++gone) {
      const Gain gain = replayed->replay().gain({.launches = {{gone, 0, true}}});
      EXPECT_LE(gain.simulated->value, gain.bound_ns + 1) << gone;
      EXPECT_GE(gain.bound_ns, gain.naive_ns - 1) << gone;
    }
  }
  const Gain first = host.replay().gain({.launches = {{1, 0, true}}});
  EXPECT_GT(first.simulated->value, first.naive_ns - 8'000) << "its call goes too";
  EXPECT_GT(first.bound_ns, 8'000 + 10'000) << "the GPU waits 20 us and more for each of them";
}

TEST(WhatIfReplay, AGraphHoldsWhatAWaitDivides) {
  const auto program = [](bool graph) {
    Program made;
    for (int half = 0; half < 2; ++half) {
      if (graph) {
        made.graph(std::vector<std::int64_t>(10, 4'000));
      } else {
        for (int i = 0; i < 10; ++i) {
          if (i > 0) made.work(20'000);
          made.launch(4'000);
        }
      }
      made.wait();
      made.work(50'000);
    }
    return made;
  };
  const Replayed replayed(program(false), {},
                          {.graph_launch_ns = testing::kCall_ns, .graph_pause_ns = testing::kPause_ns});
  const Gain graph = replayed.replay().gain({.launches = {}, .as_graph = true, .hide_copies = false});
  expect_near_truth(graph, replayed.length_ns() - ProgramRun(program(true)).length_ns(),
                    replayed.length_ns());
}

TEST(WhatIfReplay, NodesOfAGraphAreKernelsLikeOthers) {
  const auto program = [](std::int64_t third_ns) {
    Program made;
    made.work(20'000);
    made.graph({400'000, 300'000, third_ns, 100'000});
    made.wait();
    return made;
  };
  const Replayed replayed(program(500'000));
  const Gain gain = replayed.gain({{2, 200'000}});
  expect_near_truth(gain, replayed.length_ns() - ProgramRun(program(200'000)).length_ns(),
                    replayed.length_ns());
}

TEST(WhatIfReplay, ALaunchThatGoesTakesItsCallAndItsPauseWithIt) {
  const auto program = [](bool whole) {
    Program made;
    for (int i = 0; i < 40; ++i) {
      made.launch(20'000);
      if (whole || i % 2 == 0) made.launch(9'000);
    }
    made.wait();
    return made;
  };
  const Replayed replayed(program(true));
  StepChange change;
  for (std::size_t i = 0; i < 20; ++i) change.launches.push_back({4 * i + 3, 0, true});
  const Gain gain = replayed.replay().gain(change);
  expect_near_truth(gain, replayed.length_ns() - ProgramRun(program(false)).length_ns(),
                    replayed.length_ns());
  EXPECT_GT(gain.simulated->value, gain.naive_ns) << "the pauses go, too";
}

TEST(WhatIfReplay, AHiddenCopyLetsTheNextKernelBegin) {
  const auto program = [](std::int64_t copy_ns) {
    Program made;
    made.launch(300'000);
    if (copy_ns > 0) made.launch(copy_ns);
    made.launch(500'000);
    made.wait();
    return made;
  };
  const Replayed replayed(program(400'000), {1});
  ASSERT_TRUE(replayed.replay().check().known());
  const Gain gain = replayed.replay().gain({.launches = {}, .as_graph = false, .hide_copies = true});
  EXPECT_NEAR(gain.naive_ns, 400'000, 1);
  EXPECT_NEAR(gain.bound_ns, 400'000, 1);
  expect_near_truth(gain, replayed.length_ns() - ProgramRun(program(0)).length_ns(), replayed.length_ns());
  // Copies do not go faster for being hidden.
  const Replayed copies(program(2'000'000), {1});
  const Gain most = copies.replay().gain({.launches = {}, .as_graph = false, .hide_copies = true});
  EXPECT_LE(most.simulated->value, copies.length_ns() - 2'000'000 + 1);
}

TEST(WhatIfReplay, ChangesTogetherAreNotTheSumOfEach) {
  const Replayed replayed(two_streams(2'200'000, 2'000'000));
  const double main_ns = replayed.gain({{2, 1'000'000}}).simulated->value;
  const double side_ns = replayed.gain({{1, 1'000'000}}).simulated->value;
  const Gain both = replayed.gain({{1, 1'000'000}, {2, 1'000'000}});
  EXPECT_LT(main_ns + side_ns, 0.5 * both.simulated->value);
  expect_near_truth(both, replayed.length_ns() - ProgramRun(two_streams(1'000'000, 1'000'000)).length_ns(),
                    replayed.length_ns());
}

TEST(WhatIfReplay, ASlowerKernelMakesTheStepLonger) {
  const Replayed replayed(two_streams(2'000'000, 2'000'000));
  const Gain gain = replayed.gain({{3, 500'000}});
  expect_near_truth(gain, -300'000, replayed.length_ns());
}

TEST(WhatIfReplay, WithoutCallsOfTheCpuThereAreOnlyBounds) {
  ProgramModel recorded(two_streams(2'000'000, 1'000'000));
  for (store::Launch& launch : recorded.made.launches) launch.host_start_ns = launch.host_end_ns = {};
  const Model& model = recorded.made.done();
  const StepAnalysis steps = analyze_steps(model).value();
  const Replay replay(model, steps.representative, {steps.representative});
  ASSERT_FALSE(replay.check().known());
  EXPECT_EQ(replay.check().why.front().cause, AbsenceCause::calls_not_recorded);
  const Gain gain = replay.gain({.launches = {{2, 500'000, false}}});
  EXPECT_FALSE(gain.simulated.has_value());
  EXPECT_NEAR(gain.naive_ns, 1'500'000, 1);
  EXPECT_NEAR(gain.bound_ns, 1'500'000, 1);
}

TEST(WhatIfReplay, AStepThatDoesNotComeOutIsNotSimulated) {
  ProgramModel recorded(host_bound(false));
  // Every second step is said to begin later on the host than it does: the one before it then takes longer there than
  // on the device, by more than one step may differ.
  for (std::size_t i = 1; i < recorded.made.model.steps.size(); i += 2)
    *recorded.made.model.steps[i].step.host_start_ns += 400'000;
  const Model& model = recorded.made.done();
  const StepAnalysis steps = analyze_steps(model).value();
  std::vector<RepresentativeStep> all;
  for (const StepSummary& step : steps.steps) {
    if (step.closed && step.index % 2 == 0) all.push_back(represent(model, step));
  }
  const Replay replay(model, all.front(), all);
  ASSERT_FALSE(replay.check().known());
  EXPECT_EQ(replay.check().why.front().cause, AbsenceCause::not_reproduced);
  EXPECT_GT(replay.check().simulated_ns, replay.check().measured_ns);
  EXPECT_FALSE(replay.check().worst.has_value()) << "every launch begins as recorded";
  EXPECT_FALSE(replay.gain({.launches = {{2, 1'000, false}}}).simulated.has_value());
}

// What the two lengths of one step differ by is how promptly its first work was launched, and no fault.
TEST(WhatIfReplay, AStepMayBeALittleLongerOnTheHostThanOnTheDevice) {
  ProgramModel recorded(host_bound(false));
  for (std::size_t i = 1; i < recorded.made.model.steps.size(); i += 2)
    *recorded.made.model.steps[i].step.host_start_ns += 60'000;
  const Model& model = recorded.made.done();
  const StepAnalysis steps = analyze_steps(model).value();
  for (const StepSummary& step : steps.steps) {
    if (!step.closed) continue;
    const RepresentativeStep one = represent(model, step);
    EXPECT_TRUE(Replay(model, one, {one}).check().known()) << step.step_index;
  }
}

TEST(WhatIfReplay, OfACaptureIsOfSeveralStepsWithTheirRange) {
  TemporaryDirectory directory;
  generate::Options options;
  options.shape = generate::Shape::eager;
  options.launches = 1153 * 14;
  const std::string path = directory.file("made.ridge");
  generate::generate(options, *generate::make_capture_sink(path));
  Session session = Session::open(path).value();
  const auto replay = session.replay().value();
  ASSERT_TRUE(replay->check().known());
  EXPECT_GE(replay->check().steps, 3);
  EXPECT_NEAR(replay->check().simulated_ns, replay->check().measured_ns, 0.01 * replay->check().measured_ns);
  const auto measured = session.utilisation().value();
  StepChange change;
  for (std::size_t i = 0; i < measured->launches.size(); ++i)
    change.launches.push_back({i, 0.5 * static_cast<double>(measured->launches.row(i).duration_ns), false});
  const Gain gain = replay->gain(change);
  ASSERT_TRUE(gain.simulated && gain.simulated->low);
  EXPECT_LE(*gain.simulated->low, gain.simulated->value);
  EXPECT_GE(*gain.simulated->high, gain.simulated->value);
  EXPECT_LT(gain.simulated->value, 0.05 * replay->check().measured_ns) << "the CPU is the pace";
  EXPECT_GT(gain.naive_ns, 0.2 * replay->check().measured_ns);
}

TEST(WhatIfReplay, StepsAreChosenEvenlyAndTheRepresentativeIsAmongThem) {
  const Replayed replayed(two_streams(2'000'000, 1'000'000));
  const std::vector<std::int64_t> few = accepted(steps_to_replay(replayed.steps(), {.max_steps = 3}));
  EXPECT_EQ(few.size(), 3U);
  EXPECT_TRUE(std::binary_search(few.begin(), few.end(), replayed.steps().representative.summary.step_index));
  EXPECT_EQ(accepted(steps_to_replay(replayed.steps(), {.max_all_works = 4})).size(), 1U);
}

// Why a step is not simulated: by what recorded it, by its size, by what its recording lacks.
TEST(WhatIfReplay, AStepThatCannotBeSimulatedSaysWhy) {
  Program program;
  for (int i = 0; i < 4; ++i) program.launch(50'000);
  program.wait();
  const auto why_of = [&](const std::function<void(testing::FabricatedModel&)>& change,
                          const std::function<void(RepresentativeStep&, ReplayOptions&)>& ask) {
    ProgramModel recorded(program);
    change(recorded.made);
    const Model& model = recorded.made.done();
    RepresentativeStep step = analyze_steps(model).value().representative;
    ReplayOptions options;
    ask(step, options);
    std::vector<Absence> why = {Absence{}};
    const bool made = ReplayedStep::make(model, step, options, why) != nullptr;
    EXPECT_EQ(made, why.empty());
    return why;
  };
  const auto whole = [](testing::FabricatedModel&) {};
  const auto usual = [](RepresentativeStep&, ReplayOptions&) {};
  EXPECT_TRUE(why_of(whole, usual).empty());
  for (const auto& word : Vocabulary<Phase>::kWords) {
    const auto why =
        why_of(whole, [&](RepresentativeStep& step, ReplayOptions&) { step.summary.phase = word.value; });
    const bool paced = word.value == Phase::replay || word.value == Phase::cold ||
                       word.value == Phase::flops || word.value == Phase::stalls;
    ASSERT_EQ(why.size(), paced ? 1U : 0U) << word.text;
    if (!paced) continue;
    EXPECT_EQ(why.front().cause, AbsenceCause::paced_by_recorder);
    EXPECT_EQ(why.front().phase, word.value);
    // Of no step, or of the whole recording, the phase says nothing.
    EXPECT_TRUE(why_of(whole, [&](RepresentativeStep& step, ReplayOptions&) {
                  step.summary.phase = word.value;
                  step.summary.step_id = 0;
                }).empty());
    EXPECT_TRUE(why_of(whole, [&](RepresentativeStep& step, ReplayOptions&) {
                  step.summary.phase = word.value;
                  step.whole_recording = true;
                }).empty());
  }
  const auto cause = [&](const std::vector<Absence>& why) {
    EXPECT_EQ(why.size(), 1U);
    return why.empty() ? std::string("none") : std::to_string(static_cast<int>(why.front().cause));
  };
  const auto number = [](AbsenceCause one) { return std::to_string(static_cast<int>(one)); };
  EXPECT_TRUE(
      why_of(whole, [](RepresentativeStep&, ReplayOptions& options) { options.max_works = 4; }).empty());
  EXPECT_EQ(cause(why_of(whole, [](RepresentativeStep&, ReplayOptions& options) { options.max_works = 3; })),
            number(AbsenceCause::too_many_launches));
  EXPECT_EQ(cause(why_of(
                [](testing::FabricatedModel& made) {
                  for (store::Launch& launch : made.launches) launch.host_start_ns.reset();
                },
                usual)),
            number(AbsenceCause::calls_not_recorded));
  EXPECT_EQ(cause(why_of(
                [](testing::FabricatedModel& made) {
                  made.model.recording_windows.front().synchronisation = false;
                },
                usual)),
            number(AbsenceCause::waits_not_recorded));
}

}  // namespace
}  // namespace ridgeline::analyzer
