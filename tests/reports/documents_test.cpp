#include "ridgeline/reports/documents.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::FabricatedCapture;
using testing::TemporaryCapture;

DocumentOptions as(Format format, int columns = 100) {
  DocumentOptions options;
  options.format = format;
  options.text.columns = columns;
  return options;
}

void expect_width(const std::string& text, int columns) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(display_width(line), columns) << line;
}

TEST(Documents, TextFitsItsWidth) {
  FabricatedCapture hostile;
  hostile.extra_kernel = std::string(400, 'k') + "\x1b[31m核核核";
  hostile.command_line = "./" + std::string(500, 'p') + " --option";
  hostile.losses = true;
  FabricatedCapture refused;
  refused.tier_refused = true;
  for (const FabricatedCapture& options : {FabricatedCapture{}, hostile, refused}) {
    analyzer::AnalysisOptions how;
    for (const auto key :
         {analyzer::RankKey::kernel, analyzer::RankKey::launch, analyzer::RankKey::nvtx_path,
          analyzer::RankKey::kernel_class, analyzer::RankKey::family, analyzer::RankKey::kernel_and_grid}) {
      how.rank.key = key;
      const TemporaryCapture capture(options, how);
      for (const int columns : {80, 100, 160}) {
        expect_width(ranking_document(capture.model, capture.analysis, as(Format::text, columns)), columns);
      }
    }
    const TemporaryCapture capture(options);
    for (const int columns : {80, 100, 160}) {
      expect_width(check_document(capture.model, capture.analysis, true, as(Format::text, columns)), columns);
      expect_width(steps_document(capture.model, capture.analysis, as(Format::text, columns)), columns);
      expect_width(info_document(capture.model, {{"launch", 3}}, as(Format::text, columns)), columns);
    }
  }
}

TEST(Documents, RankJsonHasItsFields) {
  const TemporaryCapture capture;
  const json document = json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)));
  EXPECT_EQ(document["format"], "ridgeline.rank");
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["options"]["target_ratio"], 0.70);
  EXPECT_EQ(document["step"]["launches"], 225);
  EXPECT_EQ(document["capture"]["devices"][0]["name"], "NVIDIA H200");
  EXPECT_EQ(document["totals"]["calls"], 225);
  ASSERT_EQ(document["rows"].size(), capture.analysis.ranking.rows.size());
  double time_ns = 0, saved_ns = 0;
  for (const json& row : document["rows"]) {
    for (const char* key : {"rank",
                            "key",
                            "kernel",
                            "normalised_name",
                            "class",
                            "calls",
                            "time_ns",
                            "step_share_ratio",
                            "dram_utilisation_ratio",
                            "compute_utilisation_ratio",
                            "limiter",
                            "limiter_utilisation_ratio",
                            "limiter_error_ratio",
                            "saved_target_ns",
                            "saved_stretch_ns",
                            "saved_target_ratio",
                            "saved_stretch_ratio",
                            "saved_target_error_ns",
                            "dram_utilisation_error_ratio",
                            "compute_utilisation_error_ratio",
                            "compute_pipe",
                            "dram_bytes",
                            "tensor_ops",
                            "measured_time_ns",
                            "launch_bound_time_ns",
                            "no_roof_time_ns",
                            "unmeasured_time_ns",
                            "measured_calls",
                            "launch_bound_calls",
                            "no_roof_calls",
                            "unmeasured_calls",
                            "missing",
                            "reason",
                            "replay_disagreement_ratio",
                            "tier"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
    time_ns += row["time_ns"].get<double>();
    saved_ns += row["saved_target_ns"].get<double>();
  }
  EXPECT_NEAR(time_ns, document["totals"]["time_ns"].get<double>(), 1);
  EXPECT_NEAR(saved_ns, document["totals"]["saved_target_ns"].get<double>(), 1);
}

TEST(Documents, TopKeepsTheTotals) {
  const TemporaryCapture capture;
  DocumentOptions options = as(Format::text);
  options.top = 3;
  const std::string text = ranking_document(capture.model, capture.analysis, options);
  EXPECT_NE(text.find("17 more"), std::string::npos) << text;
  EXPECT_NE(text.find("\nall "), std::string::npos);
  options.format = Format::json;
  EXPECT_EQ(json::parse(ranking_document(capture.model, capture.analysis, options))["rows"].size(), 3u);
}

TEST(Documents, UnknownColumnIsAUsageError) {
  const TemporaryCapture capture;
  DocumentOptions options = as(Format::csv);
  options.columns = "kernel,bogus";
  try {
    (void)ranking_document(capture.model, capture.analysis, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("bogus"), std::string::npos);
  }
  options.columns = "time_ns,key";
  EXPECT_EQ(ranking_document(capture.model, capture.analysis, options).substr(0, 13), "time_ns,key\r\n");
}

TEST(Documents, UnmeasuredIsUnknownNotZero) {
  FabricatedCapture options;
  options.tier_refused = true;
  const TemporaryCapture capture(options);
  const json document = json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)));
  bool seen = false;
  for (const json& row : document["rows"]) {
    if (row["unmeasured_calls"] != row["calls"]) continue;
    seen = true;
    EXPECT_TRUE(row["saved_target_ns"].is_null());
    EXPECT_TRUE(row["dram_utilisation_ratio"].is_null());
    EXPECT_NE(row["reason"], "");
  }
  EXPECT_TRUE(seen);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text));
  EXPECT_EQ(text.find("up to 0.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("not known"), std::string::npos);
  EXPECT_NE(text.find("counters are not permitted"), std::string::npos);
}

TEST(Documents, CheckSaysItsVerdict) {
  const TemporaryCapture missed;
  json document = json::parse(check_document(missed.model, missed.analysis, false, as(Format::json)));
  EXPECT_EQ(document["format"], "ridgeline.check");
  EXPECT_EQ(document["verdict"]["overall"], "missed");
  EXPECT_EQ(document["verdict"]["exit_code"], 1);
  EXPECT_EQ(document["rows"].size(), missed.analysis.check_ranking.rows.size()) << "JSON leaves nothing out";
  EXPECT_EQ(document["rows"][0]["verdict"], "missed") << "missed ones come first";

  FabricatedCapture fast;
  fast.fast = true;
  const TemporaryCapture met(fast);
  document = json::parse(check_document(met.model, met.analysis, false, as(Format::json)));
  EXPECT_EQ(document["verdict"]["overall"], "met");
  EXPECT_NE(
      check_document(met.model, met.analysis, false, as(Format::text)).find("The step meets its target"),
      std::string::npos);
}

TEST(Documents, StepsAddUp) {
  const TemporaryCapture capture;
  const json document = json::parse(steps_document(capture.model, capture.analysis, as(Format::json)));
  EXPECT_EQ(document["format"], "ridgeline.steps");
  EXPECT_EQ(document["rows"].size(), 14u);
  const json& a = document["accounting"];
  EXPECT_EQ(a["kernel_busy_ns"].get<std::int64_t>() + a["copy_exposed_ns"].get<std::int64_t>() +
                a["memset_exposed_ns"].get<std::int64_t>() + a["gap_launch_bound_ns"].get<std::int64_t>() +
                a["gap_host_bound_ns"].get<std::int64_t>() + a["gap_queued_ns"].get<std::int64_t>() +
                a["gap_unknown_ns"].get<std::int64_t>() + a["gap_tail_ns"].get<std::int64_t>() +
                a["remainder_ns"].get<std::int64_t>(),
            a["step_ns"].get<std::int64_t>());
  int marked = 0;
  for (const json& row : document["rows"]) marked += row["representative"] == true ? 1 : 0;
  EXPECT_EQ(marked, 1);
}

TEST(Documents, InfoShowsEverySection) {
  const TemporaryCapture capture;
  const json document = json::parse(info_document(capture.model, {{"launch", 7}}, as(Format::json)));
  std::set<std::string> sections;
  for (const json& row : document["rows"]) sections.insert(row["section"].get<std::string>());
  for (const char* section : {"run", "processes", "devices", "peaks", "versions", "environment", "steps",
                              "tiers", "completeness", "messages", "rows"}) {
    EXPECT_EQ(sections.count(section), 1u) << section;
  }
}

TEST(Documents, ReportsHoldEverything) {
  const TemporaryCapture capture;
  const json document = json::parse(json_report(capture.model, capture.analysis));
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

TEST(Documents, QueryKeepsColumnsOfOneName) {
  store::Capture::Table result;
  result.columns = {"a", "a", "s"};
  result.rows = {{std::int64_t{1}, 2.5, std::string("x\x1b")},
                 {store::Value{}, std::int64_t{3}, std::string("y")}};
  const json document = json::parse(query_document(result, true, as(Format::json)));
  EXPECT_EQ(document["columns"], json({"a", "a_2", "s"}));
  EXPECT_EQ(document["rows"][0]["a_2"], 2.5);
  EXPECT_TRUE(document["rows"][1]["a"].is_null());
  EXPECT_EQ(document["truncated"], true);
  EXPECT_EQ(query_document(result, false, as(Format::text)).find('\x1b'), std::string::npos);
  EXPECT_EQ(query_document({}, false, as(Format::csv)), "\r\n");
}

TEST(Notices, WarnOnceWorstFirst) {
  analyzer::Quality quality;
  quality.tiers = {{1, "T0", "ok", ""},
                   {1, "T2", "refused", "no permission"},
                   {2, "T2", "refused", "no permission"},
                   {1, "T1", "not_requested", ""}};
  quality.findings = {{analyzer::Severity::info, "a", "a note"}, {analyzer::Severity::error, "b", "a fault"}};
  const auto all = notices(quality, analyzer::Severity::info);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].text, "a fault");
  EXPECT_EQ(all[1].text, "tier T2 refused: no permission");
  EXPECT_EQ(notices(quality, analyzer::Severity::warning).size(), 2u);
}

}  // namespace
}  // namespace ridgeline::reports
