// Delays in front of launches: which launches have one, in which steps, what is written of them, and what ends it.
#include <algorithm>
#include <set>
#include <utility>

#include "agent_testing.h"
#include "session/intervention_plan.h"
#include "tiers/delay_kernel.h"

namespace ridgeline::agent {
namespace {

using testing::FakeCupti;
using testing::FakeProgram;

// What the driver was asked for, and what it answers.
struct DelayDriver {
  CUresult load_result = CUDA_SUCCESS, launch_result = CUDA_SUCCESS;
  bool calls_back = true;  // CUPTI tells of the agent's own launch
  int loads = 0;
  std::uint32_t next_correlation = 1'000'000;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> delays;  // correlation id, ns
};
DelayDriver* g_delays = nullptr;

DriverApi delay_driver() noexcept {
  DriverApi d = testing::fake_driver();
  d.module_load_data = [](CUmodule* module, const void* image) {
    ++g_delays->loads;
    EXPECT_NE(std::string(static_cast<const char*>(image)).find(DelayKernel::kName), std::string::npos);
    return *module = reinterpret_cast<CUmodule>(0x10), g_delays->load_result;
  };
  d.module_get_function = [](CUfunction* function, CUmodule, const char* name) {
    EXPECT_STREQ(name, DelayKernel::kName);
    return *function = reinterpret_cast<CUfunction>(0x20), CUDA_SUCCESS;
  };
  d.launch_kernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       CUstream, void** arguments, void**) {
    const std::uint32_t correlation = g_delays->next_correlation++;
    FakeCupti& cupti = *FakeCupti::current();
    CUresult result = g_delays->launch_result;
    cuLaunchKernel_params params{};
    CUpti_CallbackData data{};
    data.functionParams = &params;
    data.functionReturnValue = &result;
    data.symbolName = DelayKernel::kName;
    data.context = testing::context_on(0);
    data.correlationId = correlation;
    if (g_delays->calls_back) {
      for (const auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
        data.callbackSite = site;
        cupti.callback(cupti.user, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
      }
    }
    if (result == CUDA_SUCCESS) {
      g_delays->delays.emplace_back(correlation, *static_cast<std::uint64_t*>(arguments[0]));
      cupti.log.push_back("delay");
    }
    return result;
  };
  return d;
}

// Steps of k1, k2, k3, k2; a timeline of four, then steps with delays.
struct DelayedProgram {
  explicit DelayedProgram(FakeCupti& fake, const std::string& asked, const std::string& steps = "warmup=41",
                          const std::string& alone_steps = "0", const std::string& blocks = "0")
      : cupti(fake) {
    g_delays = &driver;
    program = std::make_unique<FakeProgram>(
        cupti, std::map<std::string, std::string>{{"RIDGELINE_SCHEDULE", "warmup=1,timeline=4," + steps},
                                                  {"RIDGELINE_INTERVENE", asked},
                                                  {"RIDGELINE_INTERVENE_SEED", "5"},
                                                  {"RIDGELINE_INTERVENE_BLOCKS", blocks},
                                                  {"RIDGELINE_INTERVENE_BLOCK_MS", "100"},
                                                  {"RIDGELINE_ALONE_STEPS", alone_steps}});
    program->session().replace_driver(delay_driver, [](int) {});
    EXPECT_TRUE(program->start());
    program->create_context();
  }
  void step() {
    program->push("step");
    for (const char* name : {"k1", "k2", "k3", "k2"}) {
      if (cupti.enabled_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel))
        pending.push_back(FakeProgram::kernel(program->launch(name), name, 1000, 2000));
      cupti.clock_ns += 2'000'000;
    }
    program->pop();
  }
  // The device is through with everything.
  void flush() {
    if (!pending.empty()) program->deliver(std::exchange(pending, {}));
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  std::vector<spool::InterventionRecord> interventions() {
    std::vector<spool::InterventionRecord> all;
    read([&](const spool::RecordView& r) {
      if (const auto* record = r.as<spool::InterventionRecord>()) all.push_back(*record);
    });
    return all;
  }
  void read(const std::function<void(const spool::RecordView&)>& visit) {
    std::string error;
    const auto reader = spool::Reader::open(program->session().writer().path(), &error);
    ASSERT_TRUE(reader) << error;
    reader->for_each(visit);
  }
  FakeCupti& cupti;
  DelayDriver driver;
  std::vector<CUpti_ActivityKernel10> pending;
  std::unique_ptr<FakeProgram> program;
};

TEST(Interventions, StandInFrontOfTheChosenLaunchInTheStepsOfTheirOwn) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100,300\n");
  p.steps(5 + 1 + 40);
  const auto made = p.interventions();
  ASSERT_EQ(made.size(), 40U) << "one a step, but for the first one, in which the launches are looked at";
  EXPECT_EQ(p.driver.loads, 1);
  std::map<std::int64_t, int> levels;
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].step_index, 6 + i);
    EXPECT_EQ(made[i].step_ordinal, 3U) << "the later one of two: the middle of an even number";
    EXPECT_EQ(made[i].seed, 5U);
    const bool drawn = (made[i].header.flags & spool::kInterventionDrawn) != 0;
    EXPECT_EQ(drawn, i % 2 == 0) << "every other step lets the delay come to rest";
    if (!drawn) {
      EXPECT_EQ(made[i].level_ns, 0);
    }
    if (drawn) ++levels[made[i].level_ns];
    EXPECT_EQ(made[i].delay_correlation_id, p.driver.delays[i].first);
    EXPECT_EQ(static_cast<std::uint64_t>(made[i].level_ns), p.driver.delays[i].second);
  }
  EXPECT_EQ(levels, (std::map<std::int64_t, int>{{0, 10}, {100'000, 5}, {300'000, 5}})) << "balanced";
  // In front of it, and of nothing else.
  for (std::size_t i = 0; i + 1 < cupti.log.size(); ++i) {
    if (cupti.log[i] == "delay") {
      EXPECT_EQ(cupti.log[i + 1], "k2");
    }
  }
  const auto c = p.program->contents();
  EXPECT_EQ(c.launches.size(), 46U * 4) << "no launch of the agent's is one of the program's";
}

// A step takes 8 ms of the model's clock, a block 100 ms: 13 steps.
TEST(Interventions, BlocksOfSecondsComeAfterTheScheduleInTurn) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100,200,300,400\nk3=500\n", "warmup=9", "0", "4");
  p.steps(14);
  const std::size_t single = p.interventions().size();
  ASSERT_EQ(single, 16U) << "two launches in eight steps";
  p.steps(4 * 13 + 20);
  const auto made = p.interventions();
  std::vector<int> lengths;  // of blocks, in steps
  std::optional<bool> last;
  for (std::size_t i = single; i < made.size(); ++i) {
    EXPECT_EQ(made[i].header.flags & spool::kInterventionDrawn, 0) << "none of the draws of single steps";
    EXPECT_EQ(made[i].delay_correlation_id, p.driver.delays[i].first);
    EXPECT_EQ(static_cast<std::uint64_t>(made[i].level_ns), p.driver.delays[i].second);
    if (made[i].target != 0) {
      EXPECT_EQ(made[i].level_ns, 0) << "one launch is delayed, the others have shams";
      continue;
    }
    EXPECT_TRUE(made[i].level_ns == 0 || made[i].level_ns == 200'000) << "the middle one of its delays";
    const bool delayed = made[i].level_ns > 0;
    if (last != delayed) lengths.push_back(0);
    last = delayed;
    ++lengths.back();
  }
  EXPECT_EQ(lengths, (std::vector<int>{13, 13, 13, 13})) << "in turn, and then no more";
  EXPECT_EQ(p.program->contents().launches.size(), (14U + 72U) * 4);
}

TEST(Interventions, BlocksNeedThatLaunchesWereChosen) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "nothing*here\n", "warmup=9", "0", "4");
  p.steps(60);
  EXPECT_TRUE(p.interventions().empty());
}

TEST(Interventions, StepsThatRunAloneBesideTheScheduleDoNotMoveThem) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n", "timeline=20,warmup=21", "3");
  cupti.on_flush = [&p] { p.flush(); };
  p.steps(100);
  cupti.on_flush = nullptr;
  const auto made = p.interventions();
  ASSERT_EQ(made.size(), 20U);
  EXPECT_GT(made.front().step_index, 1U + 4 + 20 + 1) << "there were steps beside the schedule";
  const auto c = p.program->contents();
  for (const auto& begin : c.begins) {
    if (begin.step_index >= made.front().step_index && begin.step_index <= made.back().step_index) {
      EXPECT_EQ(begin.phase, Phase::warmup) << "nothing is concluded from them";
    }
  }
}

TEST(Interventions, DelayKernelsAreNoneOfThePrograms) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n");
  p.steps(8);
  std::vector<CUpti_ActivityKernel10> records = {
      FakeProgram::kernel(p.driver.delays[0].first, DelayKernel::kName, 5000, 5900),
      FakeProgram::kernel(1, "k1", 6000, 7000)};
  ASSERT_TRUE(p.program->deliver(records));
  const auto c = p.program->contents();
  ASSERT_EQ(c.kernels.size(), 1U);
  EXPECT_EQ(c.kernels[0].correlation_id, 1U);
  int delays = 0;
  p.read([&](const spool::RecordView& r) {
    const auto* delay = r.as<spool::DelayRecord>();
    if (delay == nullptr) return;
    ++delays;
    EXPECT_EQ(delay->correlation_id, p.driver.delays[0].first);
    EXPECT_EQ(delay->end_ns - delay->start_ns, 900);
  });
  EXPECT_EQ(delays, 1);
}

TEST(Interventions, WithoutBeingAskedThereIsNone) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "");
  p.steps(30);
  EXPECT_TRUE(p.interventions().empty());
  EXPECT_EQ(p.driver.loads, 0);
}

TEST(Interventions, NeverInTheFirstWarmUpNorWhereTheScheduleHasNoStepsForThem) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n", "timeline=3");
  p.steps(20);
  EXPECT_TRUE(p.interventions().empty());
}

TEST(Interventions, ADriverThatRefusesTheKernelEndsThemWithAReason) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n");
  p.driver.load_result = CUDA_ERROR_INVALID_PTX;
  p.steps(20);
  EXPECT_EQ(p.driver.loads, 1) << "once";
  EXPECT_TRUE(p.interventions().empty());
  const auto c = p.program->contents();
  EXPECT_EQ(c.launches.size(), 80U) << "the program goes on";
  EXPECT_NE(c.message(spool::Topic::steps).find("CUDA error 218"), std::string::npos)
      << c.message(spool::Topic::steps);
}

TEST(Interventions, ALaunchThatIsRefusedEndsThem) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n");
  p.steps(8);
  p.driver.launch_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  p.steps(4);
  p.driver.launch_result = CUDA_SUCCESS;
  p.steps(4);
  EXPECT_EQ(p.interventions().size(), 2U);
  EXPECT_EQ(p.program->contents().launches.size(), 64U);
}

TEST(Interventions, CapturedStreamsAreLeftAlone) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "k2=100\n");
  p.steps(6);
  cupti.stream_captures = true;
  cuStreamBeginCapture_v2_params begin{};
  p.program->call_with(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &begin);
  p.step();
  EXPECT_TRUE(p.interventions().empty());
}

TEST(Interventions, CollectivesAreLeftAloneAndWhatIsNotThereIsSaid) {
  FakeCupti cupti;
  DelayedProgram p(cupti, "ncclDevKernel_AllReduce=100\nnothing*here\n");
  for (int i = 0; i < 12; ++i) {
    p.program->push("step");
    p.program->launch("k1");
    p.program->launch("ncclDevKernel_AllReduce_Sum_f32");
    p.program->pop();
  }
  EXPECT_TRUE(p.interventions().empty());
  EXPECT_NE(p.program->contents().message(spool::Topic::configuration).find("ncclDevKernel_AllReduce"),
            std::string::npos);
}

TEST(InterventionPlan, ReadsPatternsAndDelays) {
  std::string wrong;
  const auto requests = parse_interventions("attention=50,20,20\n*\na=b?=1.5\n", &wrong);
  ASSERT_EQ(requests.size(), 3U) << wrong;
  EXPECT_EQ(requests[0].levels_ns, (std::vector<std::int64_t>{20'000, 50'000}));
  EXPECT_TRUE(requests[1].levels_ns.empty());
  EXPECT_EQ(requests[2].pattern, "a=b?");
  EXPECT_EQ(requests[2].levels_ns, (std::vector<std::int64_t>{1500}));
  for (const char* text : {"=5", "a=", "a=x", "a=-3", "a=1e9", "a=0"}) {
    wrong.clear();
    EXPECT_TRUE(parse_interventions(text, &wrong).empty()) << text;
    EXPECT_EQ(wrong, text);
  }
}

TEST(InterventionPlan, PatternsArePartsOfNames) {
  EXPECT_TRUE(matches_part("attention", "_Z17attention_forwardPf"));
  EXPECT_TRUE(matches_part("att*forw?rd", "_Z17attention_forwardPf"));
  EXPECT_FALSE(matches_part("attention_backward", "_Z17attention_forwardPf"));
}

TEST(InterventionPlan, ChoosesTheKernelsWithTheMostTimeAndLevelsByTheStep) {
  const std::vector<SeenLaunch> launches = {{0, 1, "a", 10},  {1, 2, "b", 500}, {2, 3, "c", 40},
                                            {3, 2, "b", 500}, {4, 4, "d", 30},  {5, 2, "b", 500}};
  std::vector<std::string> missed;
  const auto targets = InterventionPlan::targets({{"*", {}}}, launches, 20'000'000, &missed);
  ASSERT_EQ(targets.size(), 3U);
  EXPECT_EQ(targets[0].kernel_id, 2U);
  EXPECT_EQ(targets[0].position, 3U) << "the middle one";
  EXPECT_EQ(targets[1].kernel_id, 3U);
  EXPECT_EQ(targets[2].kernel_id, 4U);
  EXPECT_EQ(targets[0].levels_ns, (std::vector<std::int64_t>{200'000, 400'000, 800'000, 1'600'000}));
  EXPECT_TRUE(missed.empty());
}

TEST(InterventionPlan, DrawsEveryLevelOnceABlockAndTheSameFromTheSameSeed) {
  const std::vector<InterventionTarget> targets = {{0, 1, {10, 20}}, {5, 2, {30, 40, 50}}};
  InterventionPlan plan(targets, 1), same(targets, 1), other(targets, 2);
  bool differs = false;
  for (int block = 0; block < 5; ++block) {
    std::multiset<std::int64_t> levels;
    for (int i = 0; i < 8; ++i) {
      const auto draw = plan.next(), again = same.next(), else_draw = other.next();
      EXPECT_EQ(draw.level_ns, again.level_ns);
      EXPECT_EQ(draw.target, again.target);
      differs = differs || draw.level_ns != else_draw.level_ns;
      EXPECT_EQ(draw.target.has_value(), draw.level_ns > 0);
      levels.insert(draw.level_ns);
    }
    EXPECT_EQ(levels, (std::multiset<std::int64_t>{0, 0, 0, 10, 20, 30, 40, 50}));
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace ridgeline::agent
