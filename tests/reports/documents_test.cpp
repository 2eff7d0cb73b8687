#include "ridgeline/reports/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "documents_testing.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/finding_text.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::all_of;
using testing::as;
using testing::expect_width;
using testing::FabricatedCapture;
using testing::TemporaryCapture;
using testing::with_samples;

TEST(Documents, TextFitsItsWidth) {
  FabricatedCapture hostile;
  hostile.extra_kernel = std::string(400, 'k') + "\x1b[31m核核核";
  hostile.command_line = "./" + std::string(500, 'p') + " --option";
  hostile.losses = true;
  FabricatedCapture refused;
  refused.tier_refused = true;
  FabricatedCapture sampled = hostile;
  sampled.sample_steps = 4;
  sampled.cold_steps = 2;
  sampled.exclude_attention = true;
  sampled.t1_outlier = 0.05;
  for (const FabricatedCapture& options : {FabricatedCapture{}, hostile, refused, sampled}) {
    const TemporaryCapture capture(options);
    analyzer::AnalysisOptions how;
    for (const auto key : {analyzer::RankingKey::kernel, analyzer::RankingKey::launch,
                           analyzer::RankingKey::nvtx_path, analyzer::RankingKey::kernel_class,
                           analyzer::RankingKey::family, analyzer::RankingKey::kernel_and_grid}) {
      how.ranking.key = key;
      const analyzer::Analysis analysis = analyzer::testing::analyse(capture.model, how).value();
      for (const int columns : {80, 100, 160}) {
        expect_width(ranking_document(capture.model, analysis, as(Format::text, columns)).text(), columns);
      }
    }
    for (const int columns : {80, 100, 160}) {
      expect_width(check_document(capture.model, capture.analysis, all_of(as(Format::text, columns))).text(),
                   columns);
      expect_width(steps_document(capture.model, capture.analysis, as(Format::text, columns)).text(),
                   columns);
      expect_width(info_document(capture.model, {{"launch", 3}}, as(Format::text, columns)).text(), columns);
    }
  }
}

TEST(Documents, ReportsHoldEverything) {
  const TemporaryCapture capture;
  const json document = json::parse(json_report(capture.model, capture.analysis).text());
  EXPECT_EQ(document["format"], "ridgeline.report");
  for (const char* key : {"capture", "step", "verdict", "sentence", "peaks", "ranking", "check", "accounting",
                          "gaps", "declared_work", "steps", "launches", "quality"}) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
  EXPECT_EQ(document["launches"].size(), 225u);
  const std::string markdown = markdown_report(capture.model, capture.analysis);
  for (const char* heading :
       {"# Ridgeline report", "## Ranking", "## Target check", "## Where the step's time went", "## Steps"}) {
    EXPECT_NE(markdown.find(heading), std::string::npos) << heading;
  }
}

TEST(Documents, ARecordingThatNeverBeganSaysSo) {
  TemporaryCapture capture;
  const std::string begun = info_document(capture.model, {}, as(Format::text)).text();
  EXPECT_EQ(begun.find("never began"), std::string::npos);
  EXPECT_NE(begun.find("Clock"), std::string::npos);
  EXPECT_EQ(begun.find("no step range was seen"), std::string::npos);
  capture.model.run.reset();
  const std::string text = info_document(capture.model, {}, as(Format::text)).text();
  EXPECT_NE(text.find("the recording never began"), std::string::npos) << text;
}

TEST(Documents, VerificationSaysWhatItWasHeldAgainst) {
  const store::Verification whole{.noted = true, .damage = {}};
  EXPECT_NE(verification_document("a.ridge", whole, as(Format::text)).text().find("a.ridge is whole"),
            std::string::npos);
  EXPECT_EQ(json::parse(verification_document("a", whole, as(Format::json)).text())["noted"], true);
  const store::Verification damaged{.noted = false, .damage = {"one\x1b", "two"}};
  const std::string text = verification_document("a.ridge", damaged, as(Format::text)).text();
  EXPECT_NE(text.find("a.ridge is damaged: 2 faults"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const json document = json::parse(verification_document("a", damaged, as(Format::json)).text());
  EXPECT_EQ(document["damage"][1]["damage"], "two");
  EXPECT_EQ(document["noted"], false);
}

TEST(Documents, QueryKeepsColumnsOfOneName) {
  store::Capture::Table result;
  result.columns = {"a", "a", "s"};
  result.rows = {{std::int64_t{1}, 2.5, std::string("x\x1b")},
                 {store::Value{}, std::int64_t{3}, std::string("y")}};
  const json document = json::parse(query_document(result, true, as(Format::json)).text());
  EXPECT_EQ(document["columns"], json({"a", "a_2", "s"}));
  EXPECT_EQ(document["rows"][0]["a_2"], 2.5);
  EXPECT_TRUE(document["rows"][1]["a"].is_null());
  EXPECT_EQ(document["truncated"], true);
  EXPECT_EQ(query_document(result, false, as(Format::text)).text().find('\x1b'), std::string::npos);
  EXPECT_EQ(query_document({}, false, as(Format::csv)).text(), "\r\n");
}

// People are told how many rows a query gave; a program counts them itself.
TEST(Documents, AQueryForPeopleEndsInTheNumberOfItsRows) {
  const TemporaryCapture made;
  const store::Capture capture = store::Capture::open(made.path).value();
  const auto text = [&](const std::string& sql, Format format) {
    return query_document(capture, sql, as(format)).text();
  };
  EXPECT_TRUE(text("SELECT 1 AS x UNION SELECT 2", Format::text).ends_with("\n2 rows\n"));
  EXPECT_TRUE(text("SELECT 1 AS x", Format::text).ends_with("\n1 row\n"));
  EXPECT_TRUE(text("SELECT 1 AS x WHERE 0", Format::text).ends_with("0 rows\n"));
  EXPECT_EQ(text("SELECT 1 AS x UNION SELECT 2", Format::csv), "x\r\n1\r\n2\r\n");
  EXPECT_EQ(text("SELECT 1 AS x WHERE 0", Format::csv), "x\r\n");
  EXPECT_EQ(text("SELECT 1 AS x", Format::markdown).find("row"), std::string::npos);
  EXPECT_EQ(json::parse(text("SELECT 1 AS x UNION SELECT 2", Format::json))["rows"],
            json({{{"x", 1}}, {{"x", 2}}}));
}

TEST(Documents, ColdCachesAreInAReportOnlyIfMeasured) {
  const TemporaryCapture sampled(with_samples());
  EXPECT_NE(markdown_report(sampled.model, sampled.analysis).find("### Cold caches (T3)"), std::string::npos);
  const TemporaryCapture plain;
  EXPECT_EQ(markdown_report(plain.model, plain.analysis).find("### Cold caches (T3)"), std::string::npos);
}

TEST(Documents, InfoTellsOfWindowsAndExclusions) {
  const TemporaryCapture capture(with_samples());
  const std::string text = info_document(capture.model, {}, as(Format::text)).text();
  for (const char* words : {"20,000 samples every 5.0 µs", "clock shifted by +750 ns", "96.3 % of 100.000 ms",
                            "Left out of replay", "opened by delay"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

TEST(Documents, LongListsAreCutAndSaySo) {
  analyzer::AnalysisOptions by_launch;
  by_launch.ranking.key = analyzer::RankingKey::launch;
  const TemporaryCapture capture({}, by_launch);
  const auto rank = [&](const DocumentOptions& how) {
    return ranking_document(capture.model, capture.analysis, how).text();
  };
  const std::string text = rank(as(Format::text));
  EXPECT_NE(text.find("185 more launches are not shown: --all shows them."), std::string::npos) << text;
  EXPECT_NE(text.find("185 more "), std::string::npos);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 75);
  const std::string all = rank(all_of(as(Format::text)));
  EXPECT_EQ(all.find("--all shows"), std::string::npos);
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 225);
  EXPECT_EQ(json::parse(rank(as(Format::json)))["rows"].size(), 225u) << "programs get everything";
  const std::string csv = rank(as(Format::csv));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 226);
}

TEST(Documents, WhatIsTooLittleToBeJudgedIsCounted) {
  const TemporaryCapture capture(FabricatedCapture{});
  analyzer::Analysis analysis = capture.analysis;
  const auto text = [&](std::int64_t kernels) {
    analysis.check.below_min_share_count = kernels;
    return check_document(capture.model, analysis, as(Format::text, 160)).text();
  };
  EXPECT_EQ(text(0).find("not judged"), std::string::npos);
  EXPECT_NE(text(1).find("1 kernel of less than 0.5 % of the step is not judged: --all lists it."),
            std::string::npos);
  EXPECT_NE(text(2).find("2 kernels of less than 0.5 % of the step are not judged: --all lists them."),
            std::string::npos);
  EXPECT_EQ(check_document(capture.model, analysis, all_of(as(Format::text, 160))).text().find("not judged"),
            std::string::npos);
}

TEST(Notices, TellWhatIsAtLeastThatSevere) {
  analyzer::Quality quality;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::info}) {
    analyzer::Finding finding{.severity = severity};
    finding.detail = std::string(to_string(severity));
    quality.findings.push_back(finding);
  }
  EXPECT_EQ(notices(quality, Severity::info).size(), 3u);
  const auto most = notices(quality, Severity::warning);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(finding_text(most[0]), "error");
  EXPECT_EQ(finding_text(most[1]), "warning");
}

TEST(Documents, JsonIsIndentedByTwoSpacesALevel) {
  const TemporaryCapture capture;
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::json)).text();
  EXPECT_EQ(text.find("{\n  \"format\": \"ridgeline.rank\",\n  \"version\": 1,\n"), 0u)
      << text.substr(0, 100);
  EXPECT_NE(text.find("\n  \"rows\": [\n    {\""), std::string::npos);
}

TEST(Notices, FurtherLinesAreIndentedByTwo) {
  analyzer::Finding finding{.severity = Severity::warning};
  for (int i = 0; i < 30; ++i) finding.detail.text += "word" + std::to_string(i) + " ";
  const std::string text = notices_text({finding}, {.columns = 60, .colour = false});
  EXPECT_EQ(text.find("warning: word0 "), 0u) << text;
  std::size_t lines = 0;
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1), ++lines) {
    EXPECT_EQ(text.substr(at + 1, 2), "  ");
    EXPECT_NE(text[at + 3], ' ');
  }
  EXPECT_GE(lines, 2u);
}

TEST(RoofLabel, NamesTheTypeWhateverItsOperationsAreCalled) {
  EXPECT_EQ(roof_label({Quantity::bf16_flops_per_s, 989.4e12, PeakSource::spec, false, {}}),
            "bf16 989.4 TFLOP/s (spec)");
  EXPECT_EQ(roof_label({Quantity::int8_ops_per_s, 1978.9e12, PeakSource::clock, false, {}}).substr(0, 5),
            "int8 ");
}

}  // namespace
}  // namespace ridgeline::reports
