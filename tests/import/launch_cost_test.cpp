// How much of what launching takes reaches a step: against programs whose host and device are simulated, with a
// recorder and without.
#include "recording/launch_cost.h"

#include <cmath>
#include <map>
#include <random>

#include "import/import_testing.h"
#include "recording/price.h"
#include "spool/block_calls.h"
#include "spool/spool_scan.h"

namespace ridgeline::import::testing {
namespace {

constexpr double kLatencyNs = 5'000, kBetweenNs = 1'000, kReturnNs = 8'000;
constexpr int kStepsOfBlock = 5;

/// What a step does in order: on the host, for so long, and then a launch or a wait for everything.
struct Deed {
  double host_ns = 0;
  bool waits = false;
  double kernel_ns = 0;
  std::uint64_t stream = 0;
};
using Program = std::vector<Deed>;

struct Ran {
  double end_ns = 0;         // of the last step on the host
  double next_start_ns = 0;  // of the next step's first kernel
  double next_enter_ns = 0;
  BlockCalls calls;
};

// From a device without work; each launch takes the host `cost_ns` more.
Ran run(const Program& step, double cost_ns) {
  Ran ran;
  double host_ns = 0;
  std::map<std::uint64_t, double> free_ns;
  const auto launch = [&](const Deed& deed) {
    const double enter_ns = host_ns += deed.host_ns;
    host_ns += cost_ns;
    const double launched_ns = host_ns + kLatencyNs;
    const double start_ns = free_ns.count(deed.stream) > 0
                                ? std::max(launched_ns, free_ns[deed.stream] + kBetweenNs)
                                : launched_ns;
    free_ns[deed.stream] = start_ns + deed.kernel_ns;
    return HostCall{.enter_ns = std::llround(enter_ns),
                    .exit_ns = std::llround(host_ns),
                    .stream = deed.stream,
                    .start_ns = std::llround(start_ns) + 1,
                    .end_ns = std::llround(start_ns + deed.kernel_ns) + 1};
  };
  for (int i = 0; i < kStepsOfBlock; ++i) {
    for (const Deed& deed : step) {
      if (!deed.waits) {
        ran.calls.calls.push_back(launch(deed));
        continue;
      }
      const double enter_ns = host_ns += deed.host_ns;
      double through_ns = host_ns;
      for (const auto& [stream, at_ns] : free_ns) through_ns = std::max(through_ns, at_ns);
      host_ns = through_ns + kReturnNs;
      ran.calls.calls.push_back({.enter_ns = std::llround(enter_ns),
                                 .exit_ns = std::llround(host_ns),
                                 .waits = true,
                                 .waits_for_all = true});
    }
  }
  ran.end_ns = host_ns;
  ran.calls.steps = kStepsOfBlock;
  for (const Deed& deed : step) {
    if (deed.waits) continue;
    ran.calls.next = launch(deed);
    ran.next_enter_ns = static_cast<double>(ran.calls.next->enter_ns);
    ran.next_start_ns = static_cast<double>(ran.calls.next->start_ns);
    break;
  }
  return ran;
}

bool is_behind(const Ran& ran) {
  return ran.next_start_ns - ran.next_enter_ns > 50'000;
}
double pace_of(const Ran& ran) {
  return (is_behind(ran) ? ran.next_start_ns : ran.end_ns) / kStepsOfBlock;
}

double saved(const Program& step, double cost_ns, double less_ns) {
  return LaunchCost({run(step, cost_ns).calls}).saved_ns(less_ns);
}

TEST(LaunchCost, OfAHostThatSetsThePaceReachesTheStepWhole) {
  const Program step(100, {.host_ns = 9'000, .waits = false, .kernel_ns = 3'000, .stream = 0});
  Ran ran = run(step, 4'000);
  ran.calls.next.reset();
  const LaunchCost host({ran.calls});
  EXPECT_EQ(host.calls(), 100);
  EXPECT_NEAR(host.saved_ns(2'000), 200'000, 500);
  EXPECT_NEAR(host.saved_ns(-2'000), -200'000, 500);
  EXPECT_NEAR(host.of_a_call_ns(200'000), 2'000, 5);
  EXPECT_NEAR(host.of_a_call_ns(-200'000), -2'000, 5);
}

TEST(LaunchCost, IsHiddenWhereTheHostIsAheadAndWaitsOnceAStep) {
  Program step(100, {.host_ns = 9'000, .waits = false, .kernel_ns = 90'000, .stream = 0});
  step.push_back({.host_ns = 1'000, .waits = true});
  // The first launch behind each wait is what the device waits for.
  EXPECT_NEAR(saved(step, 4'000, 2'000), 2'000, 500);
  EXPECT_NEAR(saved(step, 4'000, 40'000), 4'000 + 9'000 + 1'000, 7'000) << "no sooner than called";
}

TEST(LaunchCost, OfAWaitBehindEachKernelReachesTheStepWhole) {
  Program step;
  for (int i = 0; i < 40; ++i) {
    step.push_back({.host_ns = 9'000, .waits = false, .kernel_ns = 50'000, .stream = 0});
    step.push_back({.host_ns = 500, .waits = true});
  }
  EXPECT_NEAR(saved(step, 4'000, 2'000), 80'000, 500);
}

TEST(LaunchCost, CountsUntilTheDeviceIsWhatIsWaitedFor) {
  // Alone the host takes 1.0 ms and the device 1.2; recorded the host takes 1.5.
  const Program step(100, {.host_ns = 10'000, .waits = false, .kernel_ns = 11'000, .stream = 0});
  const double recorded_ns = pace_of(run(step, 5'000));
  EXPECT_NEAR(recorded_ns, 1'500'000, 20'000);
  for (const double less_ns : {1'000.0, 2'000.0, 4'000.0, 5'000.0})
    EXPECT_NEAR(saved(step, 5'000, less_ns), recorded_ns - pace_of(run(step, 5'000 - less_ns)), 15'000)
        << less_ns;
}

TEST(LaunchCost, IsNoneOfNothing) {
  EXPECT_EQ(LaunchCost({}).calls(), 0);
  EXPECT_EQ(LaunchCost({}).saved_ns(1'000), 0);
  EXPECT_EQ(LaunchCost({BlockCalls{}}).calls(), 0);
}

// Each kernel, host call and wait at random, from hosts that set the pace to such as are far ahead.
Program random_program(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
  };
  const double kernel_ns = between(2'000, 60'000), host_ns = between(4'000, 15'000);
  const double waits = between(0.002, 0.2);
  const std::uint64_t streams = random() % 3 == 0 ? 2 : 1;
  Program step;
  const std::size_t deeds = 100 + random() % 300;
  for (std::size_t i = 0; i < deeds; ++i) {
    Deed deed{.host_ns = between(host_ns / 2, host_ns * 2)};
    deed.waits = i > 0 && std::uniform_real_distribution<double>(0, 1)(random) < waits;
    deed.kernel_ns = between(kernel_ns / 4, kernel_ns * 4);
    deed.stream = random() % streams;
    step.push_back(deed);
  }
  if (random() % 2 == 0) step.push_back({.host_ns = 1'000, .waits = true});
  return step;
}

// Recording takes a launch 4 us more than CUPTI without records, which takes 3 us, of which 0.5 are the agent's.
TEST(RecordingPriceOfAnyProgram, IsThatOfTheProgramWithoutARecorder) {
  constexpr int kPrograms = 80;
  constexpr double kGone = 4'000, kCallbacks = 500, kShare = 0.6;
  constexpr double kKept = kShare * (kGone + kCallbacks);
  std::mt19937 random(20261130);
  const auto kept = [] { return std::optional(KeptTracing{kShare, 0.05}); };
  int hidden = 0, whole = 0, worse_in_proportion = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const Program step = random_program(random);
    const Ran recorded = run(step, kGone + kCallbacks + kKept), off = run(step, kCallbacks + kKept);
    const double truth_ns = pace_of(run(step, 0));
    std::size_t launches = 0;
    for (const Deed& deed : step) launches += deed.waits ? 0 : 1;
    RecordedSteps steps;
    std::vector<StepBlock> blocks;
    std::vector<BlockCalls> calls;
    for (std::uint32_t at = 0; at < 4; ++at) {
      StepBlock block;
      block.alone = at % 2 == 1;
      const Ran& ran = block.alone ? off : recorded;
      block.first_step = 10 * at;
      block.steps = kStepsOfBlock;
      block.start_ns = 1;
      block.end_ns = std::llround(ran.end_ns) + 1;
      if (block.alone)
        block.remained_ns = std::llround(kStepsOfBlock * kCallbacks * static_cast<double>(launches));
      RecordedStep& next = steps.steps[block.first_step + block.steps];
      next.first_joined_id = 1;
      next.first_enter_ns = std::llround(ran.next_enter_ns);
      next.first_start_ns = std::llround(ran.next_start_ns);
      for (std::uint32_t j = 0; j < block.steps; ++j)
        steps.steps[block.first_step + j].launches_seen = static_cast<std::int64_t>(launches);
      if (!block.alone) {
        calls.push_back(ran.calls);
        calls.back().first_step = block.first_step;
      }
      blocks.push_back(block);
    }
    const auto price = price_of(blocks, steps, kept, [&] { return calls; });
    const auto in_proportion = price_of(blocks, steps, kept);
    ASSERT_TRUE(price && in_proportion) << i;
    const auto alone_ns = static_cast<double>(price->number("alone_ns"));
    EXPECT_NEAR(alone_ns, truth_ns, 0.007 * truth_ns) << i;
    const double share = (pace_of(off) - truth_ns) / ((kCallbacks + kKept) * static_cast<double>(launches));
    hidden += share < 0.1 ? 1 : 0;
    whole += share > 0.9 ? 1 : 0;
    const double other_ns = static_cast<double>(in_proportion->number("alone_ns"));
    worse_in_proportion += std::abs(other_ns - truth_ns) > 0.02 * truth_ns ? 1 : 0;
  }
  EXPECT_GE(hidden, 20);
  EXPECT_GE(whole, 15);
  EXPECT_GE(worse_in_proportion, 25);
}

class CallsOfBlocks : public Importer {};

TEST_F(CallsOfBlocks, AreThoseOfRecordedStepsWithWhatTheDeviceDidOfThem) {
  FakeSpool spool(directory_.path());
  const auto step = [&](std::uint32_t index) {
    spool.begin_step(index, Phase::timeline);
    for (int i = 0; i < 3; ++i) spool.launch();
    spool.end_step();
  };
  step(4);
  StepBlock block;
  block.first_step = 5;
  block.steps = 2;
  block.start_ns = FakeSpool::kOrigin + spool.now();
  spool.begin_step(5, Phase::timeline);
  const std::int64_t first_ns = FakeSpool::kOrigin + spool.now();
  spool.launch();
  spool::SynchronisationRecord wait{};
  wait.correlation_id = spool.next_correlation();
  wait.call = SynchronisationCall::async_copy_to_host;
  wait.enter_ns = FakeSpool::kOrigin + spool.now();
  wait.exit_ns = wait.enter_ns + 700;
  spool.memcpy(spool::MemcpyKind::device_to_host, spool.now() + 100);
  spool.put(wait);
  spool.advance(1000);
  spool.memcpy(spool::MemcpyKind::host_to_device, spool.now() + 300);  // nobody waits for it
  spool.launch(0, false);                                              // without a record
  wait.correlation_id = 9'999;
  wait.call = SynchronisationCall::device;
  wait.enter_ns = FakeSpool::kOrigin + spool.now();
  wait.exit_ns = wait.enter_ns + 40;
  spool.put(wait);
  spool.end_step();
  step(6);
  block.end_ns = FakeSpool::kOrigin + spool.now();
  const std::int64_t next_ns = block.end_ns + 100;  // begin_step() takes so long
  step(7);
  wait.enter_ns = FakeSpool::kOrigin + spool.now();
  spool.put(wait);
  spool.end();
  std::string error;
  const auto reader = spool::Reader::open(spool.file(), &error);
  ASSERT_TRUE(reader) << error;
  StepBlock alone = block;
  alone.alone = true;
  alone.first_step = 4;
  const std::vector<BlockCalls> blocks = calls_of_blocks(*reader, {alone, block});
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].first_step, 5u);
  EXPECT_EQ(blocks[0].steps, 2u);
  const std::vector<HostCall>& calls = blocks[0].calls;
  ASSERT_EQ(calls.size(), 9u) << "two launches, two copies and two waits, and three launches";
  EXPECT_EQ(calls[0].enter_ns, first_ns);
  EXPECT_EQ(calls[0].exit_ns, first_ns + 5);
  EXPECT_EQ(calls[0].start_ns, first_ns + 500);
  EXPECT_EQ(calls[0].end_ns, first_ns + 1500);
  const std::int64_t copy_ns = first_ns + 2010;
  EXPECT_EQ(calls[1].enter_ns, first_ns + 5) << "the copy that nobody waits for: before it was this launch";
  EXPECT_EQ(calls[1].start_ns, copy_ns + 1300);
  EXPECT_EQ(calls[2].enter_ns, copy_ns) << "when its call was entered";
  EXPECT_EQ(calls[2].exit_ns, copy_ns);
  EXPECT_EQ(calls[2].start_ns, copy_ns + 100);
  EXPECT_FALSE(calls[2].waits);
  EXPECT_TRUE(calls[3].waits);
  EXPECT_FALSE(calls[3].waits_for_all);
  EXPECT_EQ(calls[3].exit_ns, copy_ns + 700);
  EXPECT_EQ(calls[4].end_ns, 0) << "nothing is known of its kernel";
  EXPECT_TRUE(calls[5].waits_for_all);
  ASSERT_TRUE(blocks[0].next);
  EXPECT_EQ(blocks[0].next->enter_ns, next_ns);
  EXPECT_EQ(blocks[0].next->start_ns, next_ns + 500);
}

}  // namespace
}  // namespace ridgeline::import::testing
