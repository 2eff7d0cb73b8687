// What blocks of seconds left of a delay, beside what the power term expects with the limit as it was in the blocks.
#include "ridgeline/queries/interventions_query.h"

#include <gtest/gtest.h>

#include <string>

#include "reports/fabricated_capture.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

// Blocks of 20 steps of a tenth of a second after the capture's own, the first of them and each second one delayed.
constexpr int kSteps = 200;

class Blocks : public ::testing::Test {
 protected:
  // `reasons`: what holds the clock down in the blocks, as NVML's mask; empty: not known.
  void write(const std::string& reasons) {
    testing::write_fabricated_capture(capture_);
    store::Database database(capture_, store::OpenMode::read_write);
    const std::string numbers =
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
        std::to_string(kSteps) +
        "), at(i, delayed, t) AS (SELECT i, (i / 20) % 2 = 0, (SELECT max(gpu_end_ns) FROM step WHERE id < "
        "1000) + "
        "1000000000 + i * 100000000 FROM n) ";
    database.execute(
        "INSERT INTO step (id, process_id, step_index, phase, gpu_start_ns, gpu_end_ns, status) " + numbers +
        "SELECT 1000 + i, 1, 1000 + i, 'after', t, t + 90000000, 'ok' FROM at");
    database.execute(
        "INSERT INTO intervention (step_id, target, process_id, kernel_id, ordinal, drawn, level_ns, "
        "start_ns, end_ns, "
        "seed) " +
        numbers +
        "SELECT 1000 + i, 0, 1, 3, 3, 0, delayed * 400000, t, t + 2000 + delayed * 400000, '7' FROM at");
    database.execute(
        "INSERT INTO clock_sample (device_id, time_ns, sm_clock_hz, power_mw, throttle_reasons) " + numbers +
        "SELECT 1, t + 1, 1500000000, 700000, " + (reasons.empty() ? "NULL" : reasons) + " FROM at");
    database.execute("DELETE FROM table_rows");
  }

  std::shared_ptr<const InterventionsAnswer> asked() {
    const store::Capture capture = store::Capture::open(capture_).value();
    analyzer::Session session = analyzer::Session::open(capture_).value();
    return ask(session, capture, {}).value();
  }

 private:
  testing::TemporaryDirectory folder_;
  std::string capture_ = folder_ / "c.ridge";
};

TEST_F(Blocks, AtTheLimitThePowerTermExpectsAPartOfTheDelay) {
  write("4");
  const auto answer = asked();
  ASSERT_TRUE(answer->blocks);
  EXPECT_EQ(answer->blocks->delayed.blocks, 5);
  EXPECT_EQ(answer->blocks->limited_ratio(), 1.0);
  ASSERT_TRUE(answer->expected_left);
  EXPECT_GT(answer->expected_left->value, 0.3);
  EXPECT_LT(answer->expected_left->value, 1);
  EXPECT_LT(answer->expected_left->low, answer->expected_left->value);
  EXPECT_GT(answer->expected_left->high, answer->expected_left->value);
}

TEST_F(Blocks, BelowTheLimitItExpectsAllOfIt) {
  write("0");
  const auto answer = asked();
  ASSERT_TRUE(answer->expected_left);
  EXPECT_EQ(answer->expected_left->low, 1);
  EXPECT_EQ(answer->expected_left->high, 1);
}

TEST_F(Blocks, NothingIsExpectedWhereNoSampleSaysWhatHeldTheClock) {
  write("");
  const auto answer = asked();
  ASSERT_TRUE(answer->blocks);
  EXPECT_FALSE(answer->blocks->limited_ratio());
  EXPECT_FALSE(answer->expected_left);
}

}  // namespace
}  // namespace ridgeline::queries
