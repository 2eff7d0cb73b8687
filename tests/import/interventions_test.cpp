// Delays in front of launches, from the record file into the capture.
#include "ridgeline/store/interventions.h"

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

// A launch with a delay kernel in front of it.
void delayed_launch(FakeSpool& spool, std::uint32_t step, std::uint32_t delay_id, std::int64_t level_ns,
                    bool drawn, bool id_known) {
  const spool::LaunchRecord call = spool.call();
  spool.put(call);
  spool.put(spool.kernel_of(call));
  spool::InterventionRecord intervention{};
  intervention.header.flags = drawn ? spool::kInterventionDrawn : 0;
  intervention.launch_correlation_id = call.correlation_id;
  intervention.delay_correlation_id = id_known ? delay_id : 0;
  intervention.step_index = step;
  intervention.step_ordinal = call.step_ordinal;
  intervention.kernel_id = call.step_ordinal % 3 + 1;
  intervention.target = 0;
  intervention.level_ns = level_ns;
  intervention.seed = 0xffff'ffff'ffff'fff0;
  spool.put(intervention);
  spool::DelayRecord delay{};
  delay.correlation_id = delay_id;
  delay.start_ns = call.enter_ns + 100;
  delay.end_ns = delay.start_ns + level_ns + 900;
  spool.put(delay);
  spool.advance(2000);
}

TEST_F(Importer, InterventionsAreRowsOfTheirOwn) {
  FakeSpool spool(directory_.path());
  spool.process(4242, "warmup=1,timeline=2,warmup=3");
  for (std::uint32_t step = 0; step < 3; ++step) {
    spool.begin_step(step, step == 0 ? Phase::warmup : Phase::timeline);
    for (int i = 0; i < 4; ++i) spool.launch();
    spool.end_step();
  }
  for (std::uint32_t step = 3; step < 6; ++step) {
    spool.begin_step(step, Phase::warmup);
    spool.launch();
    delayed_launch(spool, step, step == 4 ? spool.next_correlation() + 1 : 9000 + step,
                   step == 3 ? 50'000 : 0, step != 4, step != 4);
    spool.advance(100'000);
    spool.end_step();
  }
  const store::Capture capture = import();
  const auto rows = store::interventions(capture);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[0].drawn);
  EXPECT_FALSE(rows[1].drawn);
  EXPECT_EQ(rows[0].level_ns, 50'000);
  EXPECT_EQ(rows[0].ordinal, 1);
  EXPECT_EQ(rows[0].seed, "18446744073709551600");
  for (const store::Intervention& row : rows) {
    ASSERT_TRUE(row.start_ns && row.end_ns) << "also where the agent was not told its launch's id";
    EXPECT_EQ(*row.end_ns - *row.start_ns, row.level_ns + 900);
  }
  EXPECT_EQ(
      scalar(capture, "SELECT mangled_name FROM kernel JOIN intervention ON kernel.id = kernel_id LIMIT 1"),
      "_Z7kernel2v");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM kernel"), "3") << "a delay kernel is none of the program's";
  EXPECT_EQ(scalar(capture, "SELECT group_concat(phase) FROM (SELECT phase FROM step ORDER BY step_index)"),
            "warmup,timeline,timeline,warmup,warmup,warmup")
      << "nothing is concluded from steps with delays";
  EXPECT_EQ(capture.completeness().front().launches_seen, capture.completeness().front().kernel_records);
}

TEST_F(Importer, ADelayWithoutARecordHasNoTimes) {
  FakeSpool spool(directory_.path());
  spool.begin_step(0, Phase::warmup);
  spool.launch();
  spool::InterventionRecord intervention{};
  intervention.launch_correlation_id = 1;
  intervention.delay_correlation_id = 77;
  intervention.kernel_id = 1;
  spool.put(intervention);
  spool.end_step();
  const auto rows = store::interventions(import());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows[0].start_ns.has_value());
  EXPECT_FALSE(rows[0].end_ns.has_value());
}

}  // namespace
}  // namespace ridgeline::import::testing
