// What a window asks: a scope, a whole capture, sides, rows.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "reports/fabricated_capture.h"
#include "ridgeline/queries/compare_query.h"
#include "ridgeline/queries/scope_query.h"
#include "ridgeline/queries/sql_query.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

class Asked : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_fabricated_capture(capture_); }
  testing::TemporaryDirectory folder_;
  std::string capture_ = folder_ / "c.ridge";
};

TEST_F(Asked, AScopeIsAnsweredAsTheSessionWould) {
  analyzer::Session session = analyzer::Session::open(capture_).value();
  const auto answer = ask(session, ScopeQuery{{}, analyzer::RankingKey::family}).value();
  EXPECT_EQ(answer->key, analyzer::RankingKey::family);
  EXPECT_EQ(answer->ranking, session.ranking({}, analyzer::RankingKey::family).value());
  EXPECT_EQ(answer->accounting, session.accounting().value());
  EXPECT_EQ(answer->roofline->points.size(), answer->ranking->rows.size());
  EXPECT_EQ(&answer->to_plot().ranking, answer->ranking.get());
  const auto none = ask(session, ScopeQuery{{.steps = analyzer::StepSelection::one(4711)}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().kind, ErrorKind::usage);
}

TEST_F(Asked, AnOverviewSharesItsAnalysis) {
  std::optional<Overview> overview;
  {
    analyzer::Session session = analyzer::Session::open(capture_).value();
    overview = ask_overview(session).value();
  }
  EXPECT_EQ(overview->step->ranking.get(), &overview->analysis->ranking);
  EXPECT_FALSE(overview->recording->devices.empty());
  EXPECT_FALSE(overview->step->ranking->rows.empty());
}

TEST_F(Asked, RowsStopAtTheLimitOrWhenNobodyWantsThem) {
  const store::Capture capture = store::Capture::open(capture_).value();
  const std::string three = "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3";
  EXPECT_EQ(ask(capture, {three, 3}).value().table.rows.size(), 3u);
  EXPECT_FALSE(ask(capture, {three, 3}).value().cut);
  EXPECT_TRUE(ask(capture, {three, 1}).value().cut);
  EXPECT_EQ(ask(capture, {three, 1}).value().table.columns, std::vector<std::string>{"n"});
  std::stop_source stop;
  stop.request_stop();
  const SqlRows stopped = ask(capture, {three, 3}, stop.get_token()).value();
  EXPECT_TRUE(stopped.cut);
  EXPECT_TRUE(stopped.table.rows.empty());
}

TEST_F(Asked, AQueryThatNeverMakesARowEndsWhenItIsStopped) {
  const store::Capture capture = store::Capture::open(capture_).value();
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request_stop();
  });
  const auto stopped = ask(
      capture, {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c", 10},
      stop.get_token());
  later.join();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.failure().kind, ErrorKind::cancelled) << stopped.failure().message;
  // The capture answers again.
  EXPECT_EQ(ask(capture, {"SELECT 1 AS n", 10}).value().table.rows.size(), 1u);
}

TEST_F(Asked, SidesAreComparedAndFailuresNameTheRun) {
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  const auto compared = ask(CompareQuery{{capture_}, {capture_}}, {},
                            [&](std::size_t done, std::size_t all) { seen.emplace_back(done, all); });
  ASSERT_TRUE(compared) << compared.failure().message;
  EXPECT_EQ(compared.value().verdict, comparison::ComparisonVerdict::inconclusive) << "one run a side";
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 2}}));
  const auto failed = ask(CompareQuery{{capture_}, {folder_ / "none.ridge"}});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.failure().message.find("none.ridge"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::queries
