#include "ridgeline/base/schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace ridgeline {
namespace {

Schedule parsed(const std::string& text) {
  Schedule s;
  EXPECT_EQ(parse_schedule(text, &s), ScheduleError::none) << text;
  return s;
}

TEST(Schedule, PutsEachStepIntoItsPhase) {
  const Schedule s = parsed("warmup=2,timeline=3,replay=2,timeline=1,replay=1");
  const Phase expected[] = {Phase::warmup,   Phase::warmup,   Phase::timeline, Phase::timeline,
                            Phase::timeline, Phase::replay,   Phase::replay,   Phase::timeline,
                            Phase::replay,   Phase::timeline, Phase::timeline};
  for (std::uint32_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(s.phase_of(i), expected[i]) << i;
  EXPECT_EQ(s.steps_of_phase_before(Phase::replay, 5), 0u);
  EXPECT_EQ(s.steps_of_phase_before(Phase::replay, 6), 1u);
  EXPECT_EQ(s.steps_of_phase_before(Phase::replay, 8), 2u) << "replay steps are numbered through";
  EXPECT_EQ(s.total_steps(), 9u);
  EXPECT_TRUE(s.has(Phase::replay));
  EXPECT_FALSE(s.has(Phase::sample));
}

TEST(Schedule, AcceptsBlanksAndTheDefault) {
  EXPECT_EQ(parsed(" warmup = 1 , timeline=2 ").phase_count, 2u);
  EXPECT_TRUE(parsed(kDefaultSchedule).has(Phase::replay));
}

TEST(Schedule, TextAndParseAreInverse) {
  EXPECT_EQ(to_string(parsed(" warmup = 5, timeline=10 ,replay=4,timeline=2")),
            "warmup=5,timeline=10,replay=4,timeline=2");
  EXPECT_EQ(to_string(default_schedule()), kDefaultSchedule);
  EXPECT_EQ(to_string(Schedule{}), "");
}

TEST(Schedule, TakesAnotherPhaseWhileThereIsRoom) {
  Schedule schedule = parsed("timeline=3");
  EXPECT_TRUE(schedule.append(Phase::cold, 2));
  EXPECT_EQ(to_string(schedule), "timeline=3,cold=2");
  while (schedule.phase_count < kMaxSchedulePhases) ASSERT_TRUE(schedule.append(Phase::replay, 1));
  EXPECT_FALSE(schedule.append(Phase::replay, 1));
  EXPECT_EQ(schedule.phase_count, kMaxSchedulePhases);
}

TEST(Schedule, RefusesWhatItCannotMean) {
  for (const char* text : {"", "warmup", "warmup=", "warmup=x", "warmup=-1", "warmup=1.5", "nap=3",
                           "warmup=1,", ",", "warmup=1 2", "timeline=4294967296", "warmup=0"}) {
    Schedule s;
    EXPECT_NE(parse_schedule(text, &s), ScheduleError::none) << text;
  }
}

TEST(Schedule, RefusesMorePhasesThanItHolds) {
  std::string text = "warmup=1";
  for (std::size_t i = 0; i < kMaxSchedulePhases; ++i) text += ",timeline=1";
  Schedule s;
  std::size_t at = 0;
  EXPECT_EQ(parse_schedule(text, &s, &at), ScheduleError::too_many_phases);
  EXPECT_EQ(at, text.rfind("timeline"));
}

TEST(Schedule, TellsTheExtentOfAPhase) {
  const Schedule schedule = parsed("warmup=3,sample=4,timeline=2");
  std::uint64_t first = 99;
  std::uint32_t steps = 99;
  for (std::uint64_t step : {3, 6}) {
    schedule.extent_of_phase(step, &first, &steps);
    EXPECT_EQ(first, 3u);
    EXPECT_EQ(steps, 4u);
  }
  schedule.extent_of_phase(9, &first, &steps);
  EXPECT_EQ(first, 9u);
  EXPECT_EQ(steps, 0u) << "after the last phase";
}

}  // namespace
}  // namespace ridgeline
