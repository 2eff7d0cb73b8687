// Reasons: written once, read back as they were, and sentences of older captures.
#include <gtest/gtest.h>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/schema.h"
#include "store/capture_testing.h"
#include "support/opened_capture.h"

namespace ridgeline::store::testing {
namespace {

using ridgeline::testing::held;

Reason nested() {
  return Reason(ReasonCode::counted_steps_lost, {{"ok", 7}, {"steps", 8}, {"tier", "T2"}},
                {Reason(ReasonCode::samples_of_part_of_step, {{"covered_ratio", 0.4}},
                        {Reason::said(ReasonCode::sampling, "the buffer was full", {{"cause", "cupti"}})}),
                 Reason("in other words")});
}

class Reasoned : public ::testing::Test {
 protected:
  // Two steps and a tier with the same reason, a message with another.
  Reasoned() {
    auto made = CaptureWriter::create(path_);
    EXPECT_TRUE(made.ok());
    CaptureWriter writer = std::move(made).value();
    const Written ids = write_sample(writer);
    for (int i = 1; i < 3; ++i) {
      Step step;
      step.process_id = ids.process;
      step.step_index = i;
      step.phase = Phase::replay;
      step.status = StepStatus::failed;
      step.reason = nested();
      writer.add(step);
    }
    writer.add(TierStatus{ids.process, Tier::t1, TierOutcome::partial, nested()});
    writer.add(Message{0, ids.process, std::nullopt, Severity::info, Reason(ReasonCode::end_not_seen)});
    writer.finish();
  }
  void change(const std::string& sql) const { Database(path_, OpenMode::read_write).execute(sql); }
  [[nodiscard]] Capture opened() const { return std::move(held(Capture::open(path_))).value(); }
  [[nodiscard]] std::int64_t count(const std::string& sql) const {
    return Database(path_, OpenMode::read_only).scalar_int64(sql);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.file("a.ridge");
};

TEST_F(Reasoned, AreReadBackAsTheyWereWritten) {
  const Capture capture = opened();
  EXPECT_EQ(capture.steps().at(0).reason, std::nullopt);
  EXPECT_EQ(capture.steps().at(1).reason, nested());
  EXPECT_EQ(capture.steps().at(2).reason, nested());
  EXPECT_EQ(capture.tier_statuses().at(0).reason, nested());
  EXPECT_EQ(capture.tier_statuses().at(1).reason, Reason("no permission"));
  EXPECT_EQ(capture.messages().at(0).what, Reason("hello"));
  EXPECT_EQ(capture.messages().at(1).what, Reason(ReasonCode::end_not_seen));
  EXPECT_EQ(count("SELECT count(*) FROM reason WHERE parent_id IS NULL"), 4) << "each once";
  EXPECT_EQ(count("SELECT count(*) FROM reason WHERE text IS NULL"), 3)
      << "a code that says all has no words";
}

TEST_F(Reasoned, OneThatExplainsItselfOrWhatIsNotThereIsDamage) {
  for (const char* wrong : {"UPDATE reason SET parent_id = id", "UPDATE reason SET parent_id = 99",
                            "UPDATE reason SET parent_id = (SELECT max(id) FROM reason)"}) {
    change(wrong);
    EXPECT_THROW((void)opened().steps(), Error) << wrong;
  }
}

TEST_F(Reasoned, ARowWhoseReasonIsGoneIsDamage) {
  change("PRAGMA foreign_keys = OFF; DELETE FROM reason_value; DELETE FROM reason");
  EXPECT_THROW((void)opened().messages(), Error);
  EXPECT_THROW((void)opened().tier_statuses(), Error);
}

// A reader and a writer go down one by one: no file may make them go down forever.
TEST_F(Reasoned, WhatStandsTooDeepIsDamage) {
  change(
      "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
      " INSERT INTO reason SELECT i, CASE WHEN i > 100 THEN i - 1 END, 'several', NULL FROM n");
  EXPECT_THROW((void)opened().steps(), Error);
}

TEST_F(Reasoned, OfAVersionBeforeCodesTheSentencesAreTheReasons) {
  for (const int version : {8, 5}) {
    {
      Database database(path_, OpenMode::read_write);
      if (version == 8) make_reasons_sentences(database);
      database.execute("DELETE FROM table_rows; PRAGMA user_version = " + std::to_string(version));
    }
    const Capture capture = opened();
    EXPECT_EQ(capture.tier_statuses().at(1).reason, Reason("no permission"));
    EXPECT_EQ(capture.tier_statuses().at(1).reason->code, ReasonCode::none_given);
    EXPECT_EQ(capture.messages().at(0).what, Reason("hello"));
    EXPECT_EQ(capture.steps().at(0).reason, std::nullopt);
    EXPECT_EQ(capture.steps().at(1).reason, Reason("counted_steps_lost"));
  }
}

TEST(Reasons, SentencesOfAMigratedCaptureAreThereOnce) {
  Database database(":memory:", OpenMode::read_write);
  migrate(database, migrations().first(8), "");
  database.execute(
      "INSERT INTO process(id, pid) VALUES (1, 7);"
      "INSERT INTO tier_status VALUES (1, 'T1', 'refused', 'no'), (1, 'T2', 'ok', NULL);"
      "INSERT INTO message(process_id, severity, text) VALUES (1, 'info', 'no'), (1, 'info', 'yes')");
  migrate(database, migrations(), views_sql());
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM reason WHERE code = 'none_given'"), 2);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM v_tier WHERE reason_text = 'no'"), 1);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM v_tier WHERE reason_code IS NULL"), 1);
  EXPECT_EQ(database.scalar_int64("SELECT count(*) FROM v_message WHERE reason_text IN ('no', 'yes')"), 2);
}

}  // namespace
}  // namespace ridgeline::store::testing
