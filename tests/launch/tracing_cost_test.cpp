// What stays of the cost of tracing a launch when it is off again.
#include "ridgeline/launch/tracing_cost.h"

#include <gtest/gtest.h>

#include "doctor_probe.h"
#include "ridgeline/launch/libraries.h"

namespace ridgeline::launch::testing {
namespace {

std::vector<TracingTurn> even_turns(int count) {
  std::vector<TracingTurn> turns;
  for (int i = 0; i < count; ++i) {
    const double base = 3400 + 100 * i;  // the clock drifts
    const double noise = i % 2 == 0 ? 10 : -10;
    turns.push_back({base, base + 1500 + noise, base + 900});
  }
  return turns;
}

TEST(KeptTracing, IsWhatStaysOverWhatGoes) {
  const auto kept = kept_tracing_of(even_turns(10));
  ASSERT_TRUE(kept);
  EXPECT_NEAR(kept->share, 1.5, 0.02);
  EXPECT_GT(kept->error, 0.01);
  EXPECT_LT(kept->error, 0.1);
}

TEST(KeptTracing, OneDisturbedTurnChangesLittle) {
  std::vector<TracingTurn> turns = even_turns(10);
  turns[3].recorded += 50'000;
  turns[7].without += 50'000;
  EXPECT_NEAR(kept_tracing_of(turns)->share, 1.5, 0.05);
}

TEST(KeptTracing, IsNotKnownOfFewOrUnevenTurns) {
  EXPECT_FALSE(kept_tracing_of({}));
  EXPECT_FALSE(kept_tracing_of(even_turns(3)));
  std::vector<TracingTurn> turns = even_turns(10);
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i].recorded += i % 2 == 0 ? 2000 : -2000;
  EXPECT_FALSE(kept_tracing_of(turns)) << "what goes is not more than its error";
  turns = even_turns(10);
  for (TracingTurn& turn : turns) turn.recorded = turn.off;
  EXPECT_FALSE(kept_tracing_of(turns));
}

TEST(KeptTracing, IsNoneWhereNothingStays) {
  std::vector<TracingTurn> turns = even_turns(10);
  for (TracingTurn& turn : turns) turn.off = turn.without - 5;
  EXPECT_EQ(kept_tracing_of(turns)->share, 0);
}

TEST(KeptTracing, IsNotKnownWithoutAGpuOrWithoutCupti) {
  EXPECT_FALSE(measure_kept_tracing("/nowhere/libcupti.so"));
  const std::optional<std::string> cupti = find_cupti_library();
  if (!cupti) return;
  const std::optional<KeptTracing> kept = measure_kept_tracing(*cupti);
  if (probe_cuda().gpus.empty()) EXPECT_FALSE(kept);
  if (!kept) return;  // nor on a GPU if others make its times uneven
  EXPECT_GE(kept->share, 0);
  EXPECT_LT(kept->share, 10);
  EXPECT_GT(kept->error, 0);
}

}  // namespace
}  // namespace ridgeline::launch::testing
