#include "ridgeline/launch/schedule.h"

#include <gtest/gtest.h>

namespace ridgeline::launch {
namespace {

TEST(Schedule, IsReadPhaseByPhase) {
  const Result<Schedule> schedule = read_schedule(" warmup = 5, timeline=10 ,replay=4,timeline=2");
  ASSERT_TRUE(schedule.ok()) << schedule.failure().message;
  EXPECT_EQ(to_string(schedule.value()), "warmup=5,timeline=10,replay=4,timeline=2");
  EXPECT_EQ(schedule.value().total_steps(), 21u);
}

TEST(Schedule, WrongTextsAreUsageErrorsThatNameThePart) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"", "empty"},
      {"  ", "empty"},
      {",", "not phase=steps"},
      {"warmup=5,", "not phase=steps"},
      {"warmup", "\"warmup\""},
      {"warmup=5,timline=3", "\"timline=3\" names no phase"},
      {"warmup=0", "\"warmup=0\" needs a whole number"},
      {"warmup=-1", "needs a whole number"},
      {"warmup=1.5", "needs a whole number"},
      {"warmup=", "needs a whole number"},
      {"warmup=99999999999999999999", "needs a whole number"},
      {"timeline=5,samples=2", "\"samples=2\""},
      {"warm\nup=5", "names no phase"},
  };
  for (const auto& each : cases) {
    const Result<Schedule> schedule = read_schedule(each.text);
    ASSERT_FALSE(schedule.ok()) << each.text;
    EXPECT_EQ(schedule.failure().kind, ErrorKind::usage);
    EXPECT_NE(schedule.failure().message.find(each.part), std::string::npos) << schedule.failure().message;
    EXPECT_EQ(schedule.failure().message.find('\n'), std::string::npos);
  }
  std::string many = "timeline=1";
  for (int i = 0; i < 40; ++i) many += ",timeline=1";
  EXPECT_FALSE(read_schedule(many).ok());
}

}  // namespace
}  // namespace ridgeline::launch
