#include "ridgeline/launch/schedule.h"

#include <gtest/gtest.h>

#include "ridgeline/spool/environment.h"

namespace ridgeline::launch {
namespace {

TEST(Schedule, parses_phases_in_order) {
  const Result<Schedule> schedule = Schedule::parse(" warmup = 5, timeline=10 ,replay=4,timeline=2");
  ASSERT_TRUE(schedule.ok()) << schedule.failure().message;
  EXPECT_EQ(schedule.value().phases,
            (std::vector<ScheduledPhase>{
                {Phase::warmup, 5}, {Phase::timeline, 10}, {Phase::replay, 4}, {Phase::timeline, 2}}));
  EXPECT_EQ(schedule.value().text(), "warmup=5,timeline=10,replay=4,timeline=2");
  EXPECT_EQ(schedule.value().total_steps(), 21u);
}

TEST(Schedule, text_and_parse_are_inverse) {
  const Schedule schedule = Schedule::defaults();
  EXPECT_EQ(Schedule::parse(schedule.text()).value(), schedule);
  EXPECT_EQ(schedule.text(), spool::environment::kDefaultSchedule) << "the agent's default is the launcher's";
}

TEST(Schedule, wrong_texts_are_usage_errors_that_name_the_part) {
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
    const Result<Schedule> schedule = Schedule::parse(each.text);
    ASSERT_FALSE(schedule.ok()) << each.text;
    EXPECT_EQ(schedule.failure().kind, ErrorKind::usage);
    EXPECT_NE(schedule.failure().message.find(each.part), std::string::npos) << schedule.failure().message;
    EXPECT_EQ(schedule.failure().message.find('\n'), std::string::npos);
  }
  std::string many = "timeline=1";
  for (int i = 0; i < 40; ++i) many += ",timeline=1";
  EXPECT_FALSE(Schedule::parse(many).ok());
}

}  // namespace
}  // namespace ridgeline::launch
