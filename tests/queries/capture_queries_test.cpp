// Typed questions about a capture and their documents, which are those of reports/.
#include "ridgeline/queries/capture_queries.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "reports/fabricated_capture.h"
#include "ridgeline/queries/step_pace_query.h"
#include "ridgeline/reports/steps_document.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

class CaptureQueriesTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_fabricated_capture(capture_); }
  [[nodiscard]] std::string text_of(const CaptureQuery& query, reports::DocumentOptions how = {}) const {
    // The queries are gone when the document is written.
    std::optional<DocumentAnswer> answer = CaptureQueries(capture_).ask(query, how).value();
    return answer->document.text();
  }
  testing::TemporaryDirectory folder_;
  std::string capture_ = folder_ / "c.ridge";
};

TEST_F(CaptureQueriesTest, AnswersAreTheDocumentsOfReports) {
  analyzer::Session session = analyzer::Session::open(capture_).value();
  // Each verb's document is of the parts of an analysis that it needs.
  const auto of = [&](unsigned parts) { return session.analysis({}, parts).value(); };
  const auto ranking = of(analyzer::Session::kCheck | analyzer::Session::kAdvice),
             check = of(analyzer::Session::kCheck), steps = of(analyzer::Session::kAccounting),
             analysis = of(analyzer::Session::kEverything);
  const auto model = session.model().value();
  const auto pace = ask_step_pace(store::Capture::open(capture_).value(), steps->steps).value();
  for (const reports::Format format :
       {reports::Format::text, reports::Format::json, reports::Format::csv, reports::Format::markdown}) {
    reports::DocumentOptions how;
    how.format = format;
    EXPECT_EQ(text_of(RankingQuery{}, how), reports::ranking_document(*model, *ranking, how).text());
    EXPECT_EQ(text_of(CheckQuery{}, how), reports::check_document(*model, *check, how).text());
    EXPECT_EQ(text_of(StepsQuery{}, how), reports::steps_document(*model, *steps, pace, how).text());
  }
  EXPECT_EQ(text_of(ReportQuery{}), reports::html_report(*model, *analysis));
  EXPECT_EQ(text_of(ReportQuery{.format = reports::ReportFormat::markdown}),
            reports::markdown_report(*model, *analysis));
  const store::Capture capture = store::Capture::open(capture_).value();
  EXPECT_EQ(text_of(InfoQuery{}),
            reports::info_document(analyzer::load_recording(capture), capture.row_counts(), {}).text());
  EXPECT_EQ(text_of(VerifyQuery{}), reports::verification_document(capture_, capture.verify(), {}).text());
  EXPECT_EQ(text_of(SqlStreamQuery{"SELECT 1 AS one"}),
            reports::query_document(capture, "SELECT 1 AS one", {}).text());
}

TEST_F(CaptureQueriesTest, ARooflineIsATableAPictureOrAPage) {
  analyzer::Session session = analyzer::Session::open(capture_).value();
  const auto analysis = session.analysis({}, analyzer::Session::kRoofline).value();
  const auto model = session.model().value();
  for (const reports::Format format :
       {reports::Format::text, reports::Format::json, reports::Format::csv, reports::Format::markdown}) {
    reports::DocumentOptions how;
    how.format = format;
    EXPECT_EQ(text_of(RooflineQuery{}, how), reports::roofline_document(*model, *analysis, {}, how).text());
  }
  using Form = RooflineQuery::Form;
  EXPECT_EQ(text_of(RooflineQuery{Form::svg}), reports::roofline_svg(*model, *analysis, {}));
  EXPECT_TRUE(text_of(RooflineQuery{Form::svg}).starts_with("<svg "));
  EXPECT_NE(text_of(RooflineQuery{Form::svg}), text_of(RooflineQuery{Form::svg, {.time = true}}));
  EXPECT_TRUE(text_of(RooflineQuery{Form::page}).starts_with("<!DOCTYPE html>"));
  reports::DocumentOptions rows;
  rows.format = reports::Format::csv;
  const std::string gemms = text_of(RooflineQuery{.shown = {.match = "gemm"}}, rows);
  EXPECT_LT(gemms.size(), text_of(RooflineQuery{}, rows).size());
  EXPECT_NE(gemms.find("gemm"), std::string::npos);
  const auto none = CaptureQueries(capture_).ask(RooflineQuery{.shown = {.match = "no such kernel"}}, {});
  EXPECT_EQ(none.failure().kind, ErrorKind::usage);
}

TEST_F(CaptureQueriesTest, EachQuestionTakesAScope) {
  analyzer::Session session = analyzer::Session::open(capture_).value();
  for (const analyzer::Scope& scope :
       {analyzer::Scope::of_range("forward"), analyzer::Scope{.steps = analyzer::StepSelection::one(3)},
        analyzer::Scope{.window = analyzer::TimeWindow{100'000'000, 180'000'000},
        .window_from_start = true}}) {
    const auto of = [&](unsigned parts) { return session.analysis(scope, parts).value(); };
    const auto ranking = of(analyzer::Session::kCheck | analyzer::Session::kAdvice),
               check = of(analyzer::Session::kCheck), steps = of(analyzer::Session::kAccounting),
               analysis = of(analyzer::Session::kEverything);
    const auto model = session.model(scope).value();
    EXPECT_GT(ranking->ranking.totals.calls, 0);
    EXPECT_EQ(text_of(RankingQuery{.scope = scope}), reports::ranking_document(*model, *ranking, {}).text());
    EXPECT_EQ(text_of(CheckQuery{scope}), reports::check_document(*model, *check, {}).text());
    EXPECT_EQ(text_of(StepsQuery{scope}), reports::steps_document(*model, *steps, {}).text());
    EXPECT_EQ(text_of(ReportQuery{.format = reports::ReportFormat::markdown, .scope = scope}),
              reports::markdown_report(*model, *analysis));
  }
}

TEST_F(CaptureQueriesTest, AVerdictIsAnExitCode) {
  CaptureQueries easy(capture_, [] {
    analyzer::AnalysisOptions options;
    options.ranking.target = options.targets.target = 0.001;
    return options;
  }());
  CaptureQueries hard(capture_, [] {
    analyzer::AnalysisOptions options;
    options.ranking.target = options.ranking.stretch = options.targets.target = options.targets.stretch =
        0.999;
    return options;
  }());
  EXPECT_EQ(easy.ask(CheckQuery{}, {}).value().exit_code, 0);
  EXPECT_EQ(hard.ask(CheckQuery{}, {}).value().exit_code, 1);
  const analyzer::CheckFailOn target{.budget = false, .target = true};
  EXPECT_EQ(easy.ask(ReportQuery{reports::ReportFormat::junit, target}, {}).value().exit_code, 0);
  EXPECT_EQ(hard.ask(ReportQuery{reports::ReportFormat::junit, target}, {}).value().exit_code, 1);
  EXPECT_EQ(hard.ask(VerifyQuery{}, {}).value().exit_code, 0);
}

TEST_F(CaptureQueriesTest, RowsOfAStatementAreCutWhereAsked) {
  CaptureQueries queries(capture_);
  const std::string three = "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3";
  const auto rows = [&](std::int64_t max_rows) {
    reports::DocumentOptions how;
    how.format = reports::Format::csv;
    const DocumentAnswer answer = queries.ask(SqlQuery{three, max_rows}, how).value();
    return std::pair(answer.document.text(), answer.cut);
  };
  EXPECT_EQ(rows(3), std::pair(std::string("n\r\n1\r\n2\r\n3\r\n"), false));
  EXPECT_EQ(rows(2), std::pair(std::string("n\r\n1\r\n2\r\n"), true));
}

TEST_F(CaptureQueriesTest, FailuresNameTheCapture) {
  const auto failure = [&](CaptureQueries queries, const CaptureQuery& query,
                           const reports::DocumentOptions& how = {}) {
    const auto answer = queries.ask(query, how);
    EXPECT_FALSE(answer);
    return answer ? Failure{} : answer.failure();
  };
  const Failure missing = failure(CaptureQueries(folder_ / "none.ridge"), RankingQuery{});
  EXPECT_NE(missing.message.find("none.ridge"), std::string::npos) << missing.message;
  analyzer::AnalysisOptions other;
  other.steps.step_index = 4711;
  const Failure step = failure(CaptureQueries(capture_, other), StepsQuery{});
  EXPECT_EQ(step.kind, ErrorKind::usage);
  EXPECT_EQ(step.message.rfind(capture_ + ": ", 0), 0u) << step.message;
  reports::DocumentOptions how;
  how.columns = "nonsense";
  EXPECT_EQ(failure(CaptureQueries(capture_), RankingQuery{}, how).kind, ErrorKind::usage);
  EXPECT_EQ(failure(CaptureQueries(capture_), SqlQuery{"DROP TABLE launch"}).kind, ErrorKind::usage);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CaptureQueries(capture_).ask(RankingQuery{}, {}, {stop.get_token(), {}}).failure().kind,
            ErrorKind::cancelled);
}

}  // namespace
}  // namespace ridgeline::queries
