// Steps that run without being recorded: what is off in them, which they are, what is written, when there are none.
#include <algorithm>

#include "agent_testing.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

constexpr std::int64_t kAloneMillisecond = 1'000'000;

// A program of steps of three launches, 10 ms each; its device is through with them at every flush.
struct PricedProgram {
  explicit PricedProgram(FakeCupti& fake, std::map<std::string, std::string> environment = {}) : cupti(fake) {
    environment.emplace("RIDGELINE_SCHEDULE", "warmup=1,timeline=20");
    program = std::make_unique<FakeProgram>(cupti, environment);
    cupti.on_flush = [this] { flush(); };
    EXPECT_TRUE(program->start());
    program->create_context();
  }
  ~PricedProgram() { cupti.on_flush = nullptr; }
  void launch(const char* name) {
    const bool called = cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    if (!called) {
      ++unseen;
      return;  // CUPTI calls nobody
    }
    const std::uint32_t id = program->launch(name);
    if (cupti.kernels_disabled == 0) pending.push_back(id);
  }
  void step() {
    program->push("step");
    launch("k1");
    if (in_step) in_step();
    launch("k2");
    launch("k3");
    if (graph_nodes > 0) launch_graph();
    cupti.clock_ns += step_ns;
    program->pop();
    cupti.clock_ns += kAloneMillisecond;  // between steps
  }
  void launch_graph() {
    const std::uint32_t id = program->launch("graph", 1, CUDA_SUCCESS, false, true);
    if (cupti.kernels_disabled == 0) graphs.push_back(id);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  void flush() {
    if (device_hangs) {
      cupti.clock_ns += 10 * kAloneMillisecond;
      return;
    }
    std::vector<CUpti_ActivityKernel10> records;
    for (const std::uint32_t id : pending) {
      if (records.size() == 1000) {  // what a buffer holds
        program->deliver(records);
        records.clear();
      }
      records.push_back(FakeProgram::kernel(id, "k", static_cast<std::uint64_t>(cupti.clock_ns - 1000),
                                            static_cast<std::uint64_t>(cupti.clock_ns)));
    }
    pending.clear();
    // Of the latest launch some nodes are late, as long as it is the latest.
    const auto nodes_ran = [&](std::uint32_t id, int nodes) {
      for (int node = 0; node < nodes; ++node) {
        records.push_back(FakeProgram::kernel(id, "node", static_cast<std::uint64_t>(cupti.clock_ns - 1000),
                                              static_cast<std::uint64_t>(cupti.clock_ns)));
        records.back().graphNodeId = static_cast<std::uint64_t>(node) + 1;
      }
    };
    for (const std::uint32_t id : graphs) {
      if (late != 0) nodes_ran(std::exchange(late, 0), late_nodes);
      nodes_ran(id, id == graphs.back() ? graph_nodes - late_nodes : graph_nodes);
      if (id == graphs.back() && late_nodes > 0) late = id;
    }
    graphs.clear();
    if (!records.empty()) program->deliver(records);
  }
  static std::vector<std::uint32_t> alone_in(const FakeProgram::Contents& c) {
    std::vector<std::uint32_t> steps;
    for (const auto& begin : c.begins)
      if ((begin.header.flags & spool::kStepAlone) != 0) steps.push_back(begin.step_index);
    return steps;
  }
  FakeCupti& cupti;
  std::unique_ptr<FakeProgram> program;
  std::vector<std::uint32_t> pending, graphs;
  std::int64_t step_ns = 10 * kAloneMillisecond;
  int graph_nodes = 0, late_nodes = 0;
  std::uint32_t late = 0;  // a graph launch
  std::function<void()> in_step;
  int unseen = 0;
  bool device_hangs = false;
};

TEST(AloneSteps, StandInBlocksAmongTheRecordedOnes) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(36);
  const auto c = p.program->contents();
  // 1 of warm-up, 5 recorded, 3 alone, 1 in which recording comes back, 5 recorded ...
  EXPECT_EQ(PricedProgram::alone_in(c), (std::vector<std::uint32_t>{6, 7, 8, 15, 16, 17, 24, 25, 26}));
  EXPECT_EQ(p.unseen, 9 * 3);
  EXPECT_EQ(c.launches.size(), (36u - 9) * 3);
  p.program->tick();
  EXPECT_EQ(p.program->contents().totals.launches_seen, c.launches.size());
  std::size_t scheduled = 0;
  for (const auto& begin : c.begins)
    scheduled +=
        begin.step_index > 0 && begin.step_index < 33 && (begin.header.flags & spool::kStepDeferred) == 0;
  EXPECT_EQ(scheduled, 20u) << "as many steps as the schedule has are recorded";
  EXPECT_EQ(cupti.kernels_disabled, 0);
  EXPECT_TRUE(cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

TEST(AloneSteps, MayKeepTheRecordsOnAndStandAsOftenAsTheyFit) {
  FakeCupti cupti;
  PricedProgram p(cupti,
                  {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=400"}, {"RIDGELINE_ALONE_KEEPS_RECORDS", "1"}});
  bool disabled = false;
  p.in_step = [&] { disabled |= cupti.kernels_disabled > 0; };
  p.steps(800);
  EXPECT_EQ(PricedProgram::alone_in(p.program->contents()).size(), 79u * 3) << "64 parts otherwise";
  EXPECT_EQ(p.unseen, 79 * 3 * 3) << "no callback";
  EXPECT_FALSE(disabled);
}

// Steps alone in a timeline of so many steps that take so long.
std::size_t steps_alone(int timeline, std::int64_t step_ns = 10 * kAloneMillisecond,
                        const char* at_most = "10") {
  FakeCupti cupti;
  PricedProgram p(cupti, {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=" + std::to_string(timeline)},
                          {"RIDGELINE_ALONE_STEPS", at_most}});
  p.step_ns = step_ns;
  p.steps(2 * timeline + 20);
  const auto c = p.program->contents();
  std::size_t of_blocks = 0;
  for (const spool::StepBlockRecord& block : c.blocks)
    if ((block.header.flags & spool::kBlockAlone) != 0) of_blocks += block.steps;
  EXPECT_EQ(PricedProgram::alone_in(c).size(), of_blocks);
  return of_blocks;
}

TEST(AloneSteps, ALongTimelineHasMoreBlocksAndLongerOnes) {
  EXPECT_EQ(steps_alone(40), 7u * 3) << "eight parts";
  EXPECT_EQ(steps_alone(71), 13u * 3);
  EXPECT_EQ(steps_alone(72), 11u * 4) << "twelve parts are left";
  EXPECT_EQ(steps_alone(120), 11u * 8);
  EXPECT_EQ(steps_alone(400), 32u * 10) << "and no longer than ten steps";
  EXPECT_EQ(steps_alone(1200), 63u * 10) << "and no more than 64";
}

// What a block takes more, of steps of which every so manieth, from one on, takes 1 more.
double more_of(const spool::StepBlockRecord& block, std::uint32_t period, std::uint32_t from) {
  std::uint32_t longer = 0;
  for (std::uint32_t i = 0; i < block.steps; ++i) longer += (block.first_step + i) % period == from ? 1 : 0;
  return static_cast<double>(longer) / block.steps;
}

// A program that does something more in every second step: in even distances each block of one step that runs alone has
// that, or none has, and the price is wrong by as much as such a step takes longer.
TEST(AloneSteps, BlocksOfALongTimelineDoNotMeetASteadyPeriodOrMissIt) {
  for (const int timeline : {100, 150, 300, 600}) {
    for (const std::int64_t step_ms : {10, 200, 2000}) {
      FakeCupti cupti;
      PricedProgram p(cupti, {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=" + std::to_string(timeline)}});
      p.step_ns = step_ms * kAloneMillisecond;
      p.steps(2 * timeline + 40);
      const auto blocks = p.program->contents().blocks;
      ASSERT_GE(blocks.size(), 21u);
      double worst = 0;
      for (std::uint32_t period = 2; period <= 16; ++period) {
        for (std::uint32_t from = 0; from < period; ++from) {
          double wrong = 0, count = 0;
          for (std::size_t i = 1; i + 1 < blocks.size(); ++i) {
            if ((blocks[i].header.flags & spool::kBlockAlone) == 0) continue;
            ++count;
            wrong += (more_of(blocks[i - 1], period, from) + more_of(blocks[i + 1], period, from)) / 2 -
                     more_of(blocks[i], period, from);
          }
          worst = std::max(worst, std::abs(wrong / count));
        }
      }
      EXPECT_LE(worst, 0.5) << timeline << " steps of " << step_ms << " ms";
    }
  }
}

TEST(AloneSteps, ABlockTakesNoMuchLongerThanASecond) {
  EXPECT_EQ(steps_alone(120, 200 * kAloneMillisecond), 11u * 4);
  EXPECT_EQ(steps_alone(120, 700 * kAloneMillisecond), 11u * 3);
  EXPECT_EQ(steps_alone(120, 2000 * kAloneMillisecond), 11u * 1);
}

TEST(AloneSteps, ABlockHasNoMoreStepsThanIsAskedFor) {
  EXPECT_EQ(steps_alone(120, 10 * kAloneMillisecond, "5"), 11u * 5);
  EXPECT_EQ(steps_alone(40, 10 * kAloneMillisecond, "1"), 7u * 1);
}

// A thread that waits for its own stream all the while.
TEST(AloneSteps, BesideAThreadInACallThereAreNone) {
  constexpr CUpti_CallbackId kWait = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;
  FakeCupti cupti;
  PricedProgram p(cupti);
  testing::ThreadInACall other(*p.program, kWait);
  p.steps(36);
  other.leave();
  const auto c = p.program->contents();
  EXPECT_TRUE(PricedProgram::alone_in(c).empty());
  EXPECT_EQ(p.unseen, 0);
  EXPECT_EQ(c.launches.size(), 36u * 3) << "all of them are recorded";
  EXPECT_EQ(cupti.kernels_disabled, 0);
  EXPECT_NE(c.message(spool::Topic::price).find("always inside a call"), std::string::npos)
      << c.message(spool::Topic::price);
}

TEST(AloneSteps, BlocksSayHowLongTheyTook) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(36);
  const auto c = p.program->contents();
  ASSERT_EQ(c.blocks.size(), 7u) << "four recorded, three alone";
  for (std::size_t i = 0; i < c.blocks.size(); ++i) {
    const spool::StepBlockRecord& block = c.blocks[i];
    EXPECT_EQ((block.header.flags & spool::kBlockAlone) != 0, i % 2 == 1) << i;
    EXPECT_EQ(block.header.flags & spool::kBlockByPeriod, 0);
    EXPECT_EQ(block.steps, 3u);
    EXPECT_NEAR(static_cast<double>(block.end_ns - block.start_ns), 33e6, 1e6) << i;
    EXPECT_EQ(block.launches, 0u);
  }
  EXPECT_EQ(c.blocks[0].first_step, 2u);
  EXPECT_EQ(c.blocks[1].first_step, 6u);
  EXPECT_EQ(c.blocks[2].first_step, 11u) << "not the step in which recording came back";
}

TEST(AloneSteps, NothingIsSwitchedBeforeTheDeviceIsThroughWithWhatWasRecorded) {
  FakeCupti cupti;
  PricedProgram late(cupti);
  late.steps(2);
  late.device_hangs = true;
  late.steps(20);
  const auto c = late.program->contents();
  EXPECT_TRUE(PricedProgram::alone_in(c).empty());
  EXPECT_NE(c.message(spool::Topic::price).find("never through"), std::string::npos);
  EXPECT_EQ(late.unseen, 0);
}

TEST(AloneSteps, ThereAreNoneInShortPhasesNorIfNotWanted) {
  for (const auto& environment : std::vector<std::map<std::string, std::string>>{
           {{"RIDGELINE_SCHEDULE", "warmup=1,timeline=19"}}, {{"RIDGELINE_ALONE_STEPS", "0"}}}) {
    FakeCupti cupti;
    PricedProgram p(cupti, environment);
    p.steps(40);
    EXPECT_EQ(p.unseen, 0);
    EXPECT_TRUE(p.program->contents().blocks.empty());
  }
}

// Kernels that are loaded while nothing is traced fail in graphs.
TEST(AloneSteps, ThereAreNoneBesideGraphs) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(2);
  p.program->launch("captured", 1, CUDA_SUCCESS, true);
  p.steps(30);
  EXPECT_EQ(p.unseen, 0);
  EXPECT_NE(p.program->contents().message(spool::Topic::price).find("CUDA graphs"), std::string::npos);
}

// One with a graph of 50 nodes, launched in each step.
struct PricedGraphs : PricedProgram {
  explicit PricedGraphs(FakeCupti& fake) : PricedProgram(fake, {{"RIDGELINE_ALONE_IN_GRAPHS", "1"}}) {
    program->function = reinterpret_cast<CUfunction>(std::uintptr_t{0x1000});
    graph_nodes = 50;
    program->launch("captured", 1, CUDA_SUCCESS, true);
  }
};

TEST(AloneSteps, StandBesideGraphsIfTheyAreAskedFor) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  p.steps(36);
  p.flush();
  const auto c = p.program->contents();
  EXPECT_EQ(PricedProgram::alone_in(c), (std::vector<std::uint32_t>{6, 7, 8, 15, 16, 17, 24, 25, 26}));
  EXPECT_EQ(p.unseen, 0) << "a kernel that is launched for the first time may be loaded then";
  EXPECT_EQ(c.launches.size(), (36u - 9) * 4 + 1);
  EXPECT_EQ(c.totals.graph_kernel_records, (36u - 9) * 50);
  EXPECT_EQ(c.message(spool::Topic::price), "");
  std::size_t alone = 0;
  for (const spool::StepBlockRecord& block : c.blocks) {
    if ((block.header.flags & spool::kBlockAlone) == 0) continue;
    ++alone;
    EXPECT_EQ(block.header.flags & spool::kBlockByPeriod, 0);
    EXPECT_EQ(block.launches, 3u * 4) << "what their callbacks take is taken off";
  }
  EXPECT_EQ(alone, 3u);
  EXPECT_EQ(cupti.kernels_disabled, 0);
  EXPECT_TRUE(cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData))
      << "never switched off: a thread may be in one";
}

TEST(AloneSteps, BesideGraphsRecordingIsBackBeforeCodeIsLoaded) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  p.steps(6);
  p.in_step = [&] {
    ASSERT_GT(cupti.kernels_disabled, 0);
    ASSERT_TRUE(cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel));
    p.program->call(CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel, 1000,
                    [&] { EXPECT_EQ(cupti.kernels_disabled, 0); });
    p.in_step = {};
  };
  p.steps(9);
  EXPECT_TRUE(p.in_step == nullptr);
  p.in_step = [&] {
    if (cupti.kernels_disabled == 0) return;
    p.program->function = reinterpret_cast<CUfunction>(std::uintptr_t{0x2000});
    p.program->while_running = [&] { EXPECT_EQ(cupti.kernels_disabled, 0); };
    p.launch("new");
    p.program->while_running = {};
    p.program->function = reinterpret_cast<CUfunction>(std::uintptr_t{0x1000});
    p.in_step = {};
  };
  p.steps(20);
  EXPECT_TRUE(p.in_step == nullptr) << "a later block came";
  EXPECT_EQ(p.program->contents().message(spool::Topic::timeline_refused), "");
}

// Libraries ask for the attributes of their functions before each launch.
TEST(AloneSteps, BesideGraphsWhatWasAskedForBeforeLoadsNothing) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  cuFuncGetAttribute_params known{};
  known.hfunc = reinterpret_cast<CUfunction>(std::uintptr_t{0x5000});
  p.in_step = [&] { p.program->call_with(CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute, &known); };
  p.steps(36);
  EXPECT_EQ(PricedProgram::alone_in(p.program->contents()).size(), 9u);
}

TEST(AloneSteps, BesideGraphsWhatIsAskedForFirstBringsRecordingBack) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  cuFuncGetAttribute_params asked{};
  std::uintptr_t handle = 0x5000;
  p.in_step = [&] {
    asked.hfunc = reinterpret_cast<CUfunction>(handle += 0x10);
    p.program->call_with(CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute, &asked, CUDA_SUCCESS,
                         [&] { EXPECT_EQ(cupti.kernels_disabled, 0); });
  };
  p.steps(36);
  EXPECT_TRUE(PricedProgram::alone_in(p.program->contents()).empty());
}

TEST(AloneSteps, BesideGraphsOneThatIsInstantiatedBringsRecordingBack) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  p.steps(6);
  p.in_step = [&] {
    ASSERT_GT(cupti.kernels_disabled, 0);
    p.program->call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, 1000,
                    [&] { EXPECT_EQ(cupti.kernels_disabled, 0); });
    p.in_step = {};
  };
  p.steps(2);
  EXPECT_TRUE(p.in_step == nullptr);
  EXPECT_EQ(p.program->contents().message(spool::Topic::timeline_refused), "");
}

TEST(AloneSteps, BesideGraphsNothingIsSwitchedBeforeAllNodesHaveTheirRecords) {
  FakeCupti cupti;
  PricedGraphs p(cupti);
  p.steps(5);
  p.late_nodes = 1;
  p.cupti.on_flush = [&p] {
    p.flush();
    p.cupti.clock_ns += 10 * kAloneMillisecond;
  };
  p.steps(3);
  const auto c = p.program->contents();
  EXPECT_TRUE(PricedProgram::alone_in(c).empty());
  EXPECT_NE(c.message(spool::Topic::price).find("never through"), std::string::npos);
}

TEST(AloneSteps, ACaptureInOneBringsRecordingBackBeforeItBegins) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(6);
  p.in_step = [&] {
    EXPECT_GT(cupti.kernels_disabled, 0);
    p.program->call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, 1000,
                    [&] { EXPECT_EQ(cupti.kernels_disabled, 0); });
    p.in_step = {};
  };
  p.steps(1);
  EXPECT_EQ(cupti.kernels_disabled, 0);
  EXPECT_TRUE(cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  const auto c = p.program->contents();
  EXPECT_EQ(c.blocks.size(), 1u) << "the block is dropped";
  EXPECT_EQ(c.message(spool::Topic::timeline_refused), "");
}

TEST(AloneSteps, AGraphAfterAModuleThatWasLoadedInOneEndsTheTimeline) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(6);
  std::string cubin(64, '\0');
  p.in_step = [&] {
    p.program->load_module(cubin);
    p.in_step = {};
  };
  p.steps(10);
  EXPECT_EQ(cupti.kernels_disabled, 0) << "the timeline goes on";
  EXPECT_NE(p.program->contents().message(spool::Topic::price).find("loads modules"), std::string::npos);
  p.program->call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, 1000,
                  [&] { EXPECT_GT(cupti.kernels_disabled, 0); });
  EXPECT_NE(p.program->contents().message(spool::Topic::timeline_refused).find("the timeline ends here"),
            std::string::npos);
}

TEST(AloneSteps, ABlockWhoseNextStepDoesNotComeIsDropped) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(8);
  EXPECT_GT(cupti.kernels_disabled, 0);
  p.program->tick();  // a second later
  EXPECT_EQ(cupti.kernels_disabled, 0);
  const std::size_t before = p.program->contents().launches.size();
  p.launch("evaluation");
  EXPECT_EQ(p.program->contents().launches.size(), before + 1);
  EXPECT_EQ(p.program->contents().blocks.size(), 1u);
}

TEST(AloneSteps, TheAgentsThreadDoesNothingMeanwhile) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(7);
  ASSERT_GT(cupti.kernels_disabled, 0);
  const int flushes = cupti.flushes;
  p.program->session().tick(cupti.clock_ns += kAloneMillisecond);
  EXPECT_EQ(cupti.flushes, flushes);
}

TEST(AloneSteps, StepsByPeriodAreFoundByTheCallbacksThatRemain) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  const auto pass = [&](int launches) {
    for (int i = 0; i < launches; ++i) {
      const std::string name = "k" + std::to_string(i);
      static std::map<std::string, std::string> names;  // addresses stay
      const auto& kept = names.emplace(name, name).first->second;
      p.launch(kept.c_str());
      cupti.clock_ns += kAloneMillisecond / 4;
    }
    cupti.clock_ns += 3 * kAloneMillisecond;
    p.program->session().tick(cupti.clock_ns += kAloneMillisecond / 10);
  };
  for (int i = 0; i < 160; ++i) pass(40);
  const auto c = p.program->contents();
  ASSERT_GE(c.blocks.size(), 5u);
  const auto alone = std::find_if(c.blocks.begin(), c.blocks.end(), [](const auto& block) {
    return (block.header.flags & spool::kBlockAlone) != 0;
  });
  ASSERT_NE(alone, c.blocks.end());
  EXPECT_NE(alone->header.flags & spool::kBlockByPeriod, 0);
  EXPECT_NEAR(static_cast<double>(alone->launches), 3 * 40, 3) << "each was counted";
  EXPECT_GT(alone->own_ns, 0);
  EXPECT_EQ(p.unseen, 0) << "no thread may be in a launch when CUPTI has nothing to make of it";
  EXPECT_EQ(c.totals.launches_seen, c.launches.size());
  for (const auto& launch : c.launches)
    for (const std::uint32_t step : PricedProgram::alone_in(c)) EXPECT_NE(launch.step_index, step);
}

// Another thread begins one while this one switches recording off.
TEST(AloneSteps, ACaptureThatBeginsBesideTheSwitchBeginsWhenRecordingIsBack) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(5);
  std::thread other;
  int disabled_inside = -1, flushes = 0;
  const auto capture = [&] {
    CUresult result = CUDA_SUCCESS;
    cuStreamBeginCapture_v2_params params{};
    CUpti_CallbackData data{};
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.callbackSite = CUPTI_API_ENTER;
    cupti.callback(cupti.user, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
                   &data);
    disabled_inside = cupti.kernels_disabled;
  };
  cupti.on_flush = [&] {
    p.flush();
    if (++flushes != 2) return;  // the first one is before the block, the second within the switch
    other = std::thread(capture);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  };
  for (int i = 0; i < 4 && !other.joinable(); ++i) {
    flushes = 0;
    p.step();
  }
  ASSERT_TRUE(other.joinable());
  other.join();
  EXPECT_EQ(disabled_inside, 0);
  EXPECT_EQ(cupti.kernels_disabled, 0);
  EXPECT_TRUE(cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

TEST(AloneSteps, NothingIsSwitchedWhileAnotherThreadIsInsideALaunch) {
  FakeCupti cupti;
  PricedProgram p(cupti);
  p.steps(3);
  std::atomic<bool> entered{false}, may_leave{false};
  const auto own = std::this_thread::get_id();
  p.program->while_running = [&] {
    if (std::this_thread::get_id() == own) return;
    entered = true;
    while (!may_leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::thread other([&] { p.program->launch("of another thread"); });
  while (!entered) std::this_thread::yield();
  cupti.on_flush = [&] {
    p.flush();
    cupti.clock_ns += 10 * kAloneMillisecond;
  };
  const int disables = cupti.disables;
  p.steps(20);
  EXPECT_EQ(cupti.disables, disables) << "of records: its own would be cut off";
  EXPECT_TRUE(PricedProgram::alone_in(p.program->contents()).empty());
  may_leave = true;
  other.join();
}

}  // namespace
}  // namespace ridgeline::agent
