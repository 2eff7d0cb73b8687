#include "ridgeline/reports/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "documents_testing.h"
#include "ridgeline/analyzer/session.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/finding_text.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::all_of;
using testing::as;
using testing::FabricatedCapture;
using testing::lines_that_begin;
using testing::TemporaryCapture;

DocumentOptions verbose(DocumentOptions options) {
  options.verbose = true;
  return options;
}

// Where a sentence wraps is no matter.
std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
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
  FabricatedCapture sampled = hostile;
  sampled.sample_steps = 4;
  sampled.cold_steps = 2;
  sampled.exclude_attention = true;
  sampled.t1_outlier = 0.05;
  for (const FabricatedCapture& options : {FabricatedCapture{}, hostile, refused, sampled}) {
    analyzer::AnalysisOptions how;
    for (const auto key :
         {analyzer::RankKey::kernel, analyzer::RankKey::launch, analyzer::RankKey::nvtx_path,
          analyzer::RankKey::kernel_class, analyzer::RankKey::family, analyzer::RankKey::kernel_and_grid}) {
      how.rank.key = key;
      const TemporaryCapture capture(options, how);
      for (const int columns : {80, 100, 160}) {
        expect_width(ranking_document(capture.model, capture.analysis, as(Format::text, columns)).text(),
                     columns);
      }
    }
    const TemporaryCapture capture(options);
    for (const int columns : {80, 100, 160}) {
      expect_width(check_document(capture.model, capture.analysis, all_of(as(Format::text, columns))).text(),
                   columns);
      expect_width(steps_document(capture.model, capture.analysis, as(Format::text, columns)).text(),
                   columns);
      expect_width(info_document(capture.model, {{"launch", 3}}, as(Format::text, columns)).text(), columns);
    }
  }
}

TEST(Documents, RankJsonHasItsFields) {
  const TemporaryCapture capture;
  const json document =
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
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
  const std::string text = ranking_document(capture.model, capture.analysis, options).text();
  EXPECT_NE(text.find("17 more"), std::string::npos) << text;
  EXPECT_NE(text.find("\nall "), std::string::npos);
  options.format = Format::json;
  EXPECT_EQ(json::parse(ranking_document(capture.model, capture.analysis, options).text())["rows"].size(),
            3u);
}

TEST(Documents, UnknownColumnIsAUsageError) {
  const TemporaryCapture capture;
  DocumentOptions options = as(Format::csv);
  options.columns = "kernel,bogus";
  try {
    (void)ranking_document(capture.model, capture.analysis, options).text();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("bogus"), std::string::npos);
  }
  options.columns = "time_ns,key";
  EXPECT_EQ(ranking_document(capture.model, capture.analysis, options).text().substr(0, 13),
            "time_ns,key\r\n");
}

TEST(Documents, UnmeasuredIsUnknownNotZero) {
  FabricatedCapture options;
  options.tier_refused = true;
  const TemporaryCapture capture(options);
  const json document =
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
  bool seen = false;
  for (const json& row : document["rows"]) {
    if (row["unmeasured_calls"] != row["calls"]) continue;
    seen = true;
    EXPECT_TRUE(row["saved_target_ns"].is_null());
    EXPECT_TRUE(row["dram_utilisation_ratio"].is_null());
    EXPECT_NE(row["reason"], "");
  }
  EXPECT_TRUE(seen);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text)).text();
  EXPECT_EQ(text.find("up to 0.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("not known"), std::string::npos);
  EXPECT_NE(text.find("counters are not permitted"), std::string::npos);
}

TEST(Documents, CheckSaysItsVerdict) {
  const TemporaryCapture missed;
  json document = json::parse(check_document(missed.model, missed.analysis, as(Format::json)).text());
  EXPECT_EQ(document["format"], "ridgeline.check");
  EXPECT_EQ(document["verdict"]["overall"], "missed");
  EXPECT_EQ(document["verdict"]["exit_code"], 1);
  EXPECT_EQ(document["rows"].size(), missed.analysis.check_ranking.rows.size()) << "JSON leaves nothing out";
  EXPECT_EQ(document["rows"][0]["verdict"], "missed") << "missed ones come first";

  FabricatedCapture fast;
  fast.fast = true;
  const TemporaryCapture met(fast);
  document = json::parse(check_document(met.model, met.analysis, as(Format::json)).text());
  EXPECT_EQ(document["verdict"]["overall"], "met");
  EXPECT_NE(
      check_document(met.model, met.analysis, as(Format::text)).text().find("The step meets its target"),
      std::string::npos);
}

TEST(Documents, StepsAddUp) {
  const TemporaryCapture capture;
  const json document = json::parse(steps_document(capture.model, capture.analysis, as(Format::json)).text());
  EXPECT_EQ(document["format"], "ridgeline.steps");
  EXPECT_EQ(document["rows"].size(), 14u);
  const json& a = document["accounting"];
  EXPECT_EQ(
      a["kernel_busy_ns"].get<std::int64_t>() + a["copy_exposed_ns"].get<std::int64_t>() +
          a["memset_exposed_ns"].get<std::int64_t>() + a["gap_launch_bound_ns"].get<std::int64_t>() +
          a["gap_host_bound_ns"].get<std::int64_t>() + a["gap_queued_ns"].get<std::int64_t>() +
          a["gap_unknown_ns"].get<std::int64_t>() + a["gap_tail_ns"].get<std::int64_t>() +
          (a["gap_synchronisation_ns"].is_null() ? 0 : a["gap_synchronisation_ns"].get<std::int64_t>()) +
          a["remainder_ns"].get<std::int64_t>(),
      a["step_ns"].get<std::int64_t>());
  int marked = 0;
  for (const json& row : document["rows"]) marked += row["representative"] == true ? 1 : 0;
  EXPECT_EQ(marked, 1);
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

FabricatedCapture with_samples() {
  FabricatedCapture options;
  options.sample_steps = 4;
  options.cold_steps = 2;
  options.exclude_attention = true;
  options.t1_outlier = 0.05;
  return options;
}

TEST(Documents, ColdCachesAreInAReportOnlyIfMeasured) {
  const TemporaryCapture sampled(with_samples());
  EXPECT_NE(markdown_report(sampled.model, sampled.analysis).find("### Cold caches (T3)"), std::string::npos);
  const TemporaryCapture plain;
  EXPECT_EQ(markdown_report(plain.model, plain.analysis).find("### Cold caches (T3)"), std::string::npos);
}

TEST(Documents, WhatWasNotMeasuredHasNoSaving) {
  FabricatedCapture refused;
  refused.tier_refused = true;
  for (const auto& [options, measured] : {std::pair(FabricatedCapture{}, true), std::pair(refused, false)}) {
    const TemporaryCapture capture(options);
    const json document =
        json::parse(check_document(capture.model, capture.analysis, as(Format::json)).text());
    for (const json& row : document["rows"]) {
      if (row["limiter"] != "launch") {
        EXPECT_EQ(row["saved_target_ns"].is_null(), !measured) << row;
      }
    }
  }
}

TEST(Documents, RankShowsTierAndErrorInEightyColumns) {
  const TemporaryCapture capture(with_samples());
  std::string text = ranking_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  std::istringstream lines(text);
  std::string header;
  while (std::getline(lines, header) && header.find("kernel") != 0) {
  }
  std::string units;
  std::getline(lines, units);
  header += units;
  for (const char* word : {"DRAM", "bound", "±", "tier"})
    EXPECT_NE(header.find(word), std::string::npos) << word;
  EXPECT_NE(text.find("\nT1 sampled   counters read every 5.0 µs"), std::string::npos) << text;
  EXPECT_NE(text.find("adamw_kernel"), std::string::npos);
  text = in_one_line(ranking_document(capture.model, capture.analysis, verbose(as(Format::text))).text());
  EXPECT_NE(text.find("by samples of running steps (T1) for "), std::string::npos) << text;
  EXPECT_NE(text.find("points of DRAM (…::adamw_kernel<__nv_bfloat16, float>), by more than 3 on 1."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("points of the tensor pipe ("), std::string::npos) << text;
  const TemporaryCapture without;
  const std::string old = ranking_document(without.model, without.analysis, as(Format::text, 100)).text();
  EXPECT_EQ(old.find("T1"), std::string::npos) << old;
}

TEST(Documents, RankJsonHasTheTiers) {
  const TemporaryCapture capture(with_samples());
  const json document =
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
  int excluded = 0, compared = 0;
  for (const json& row : document["rows"]) {
    if (row["key"].get<std::string>().find("sdpa") != std::string::npos) {
      ++excluded;
      EXPECT_EQ(row["tier"], "T1");
      EXPECT_EQ(row["dram_tier"], "T1");
      EXPECT_TRUE(row["dram_t2_utilisation_ratio"].is_null());
      EXPECT_EQ(row["dram_utilisation_ratio"], row["dram_t1_utilisation_ratio"]);
    } else if (!row["dram_difference_ratio"].is_null()) {
      ++compared;
      EXPECT_NEAR(
          row["dram_difference_ratio"].get<double>(),
          row["dram_t1_utilisation_ratio"].get<double>() - row["dram_t2_utilisation_ratio"].get<double>(),
          1e-9);
      EXPECT_GT(row["cold_dram_bytes_ratio"].get<double>(), 1.1);
      EXPECT_GT(row["l2_utilisation_ratio"].get<double>(), 0.0);
      EXPECT_NEAR(row["l2_hit_ratio"].get<double>(), 0.5, 1e-9);
    }
  }
  EXPECT_EQ(excluded, 2);
  EXPECT_GT(compared, 10);
  const json& q = document["quality"];
  EXPECT_EQ(q["reach"].size(), 3u);
  EXPECT_EQ(q["comparison_limit_ratio"], 0.03);
  EXPECT_GT(q["tensor_comparisons"].size(), 0U);
  EXPECT_EQ(std::count_if(q["comparisons"].begin(), q["comparisons"].end(),
                          [](const json& c) { return c["flagged"] == true; }),
            1);
  EXPECT_TRUE(q["comparisons"][0]["flagged"]) << "the largest difference comes first";
}

TEST(Documents, RankColumnsByGroup) {
  const TemporaryCapture capture(with_samples());
  DocumentOptions options = as(Format::csv);
  options.columns = "cold";
  EXPECT_EQ(ranking_document(capture.model, capture.analysis, options).text().substr(0, 31),
            "key,calls,time_ns,cold_time_ns,");
  options.format = Format::text;
  for (const int columns : {80, 100}) {
    options.text.columns = columns;
    for (const char* group : {"cold", "tiers", "caches", "default", "default,l2_hit_ratio"}) {
      options.columns = group;
      expect_width(ranking_document(capture.model, capture.analysis, options).text(), columns);
    }
  }
  options.columns = "all";
  const std::string all = ranking_document(capture.model, capture.analysis, options).text();
  EXPECT_EQ(all.find("Not shown"), std::string::npos);
  const TemporaryCapture without;
  options.columns = "cold";
  try {
    (void)ranking_document(without.model, without.analysis, options).text();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_data);
    EXPECT_NE(error.message().find("--cold"), std::string::npos);
  }
}

TEST(Documents, InfoTellsOfWindowsAndExclusions) {
  const TemporaryCapture capture(with_samples());
  const std::string text = info_document(capture.model, {}, as(Format::text)).text();
  for (const char* words : {"20,000 samples every 5.0 µs", "clock shifted by +750 ns", "96.3 % of 100.000 ms",
                            "Left out of replay", "opened by delay"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

TEST(Documents, WorkStandsBesideWhatWasMeasured) {
  FabricatedCapture options;
  options.declared = true;
  const TemporaryCapture capture(options);
  DocumentOptions how = as(Format::text, 80);
  how.columns = "work";
  const std::string text = ranking_document(capture.model, capture.analysis, how).text();
  expect_width(text, 80);
  for (const char* words :
       {"minimum", "measured", "roofline", "1.25", "declared by 225 ranges", "1.25 × its minimum traffic"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  how.format = Format::json;
  how.columns = "";
  const json document = json::parse(ranking_document(capture.model, capture.analysis, how).text());
  EXPECT_EQ(document["declared"]["ranges"], 225);
  EXPECT_EQ(document["declared"]["undeclared_launches"], 0);
  for (const json& row : document["rows"]) {
    for (const char* key :
         {"ranges", "range_launches", "range_time_ns", "other_kernels", "declared_bytes", "range_dram_bytes",
          "bytes_ratio", "declared_flops", "range_tensor_ops", "range_fp_ops", "ops_ratio", "minimum_ns",
          "minimum_limiter", "minimum_ratio", "undeclared_calls"})
      EXPECT_TRUE(row.contains(key)) << key;
    EXPECT_NEAR(row["bytes_ratio"].get<double>(), 1.25, 0.01) << row["key"];
    EXPECT_NEAR(row["minimum_ratio"].get<double>() * row["range_time_ns"].get<double>(),
                row["minimum_ns"].get<double>(), 1.0);
  }
  how.format = Format::markdown;
  how.columns = "work";
  EXPECT_NE(ranking_document(capture.model, capture.analysis, how).text().find("declared by 225 ranges"),
            std::string::npos);
  const json report = json::parse(json_report(capture.model, capture.analysis).text());
  EXPECT_EQ(report["declared_operations"].size(), capture.analysis.declared_operations.size());
  EXPECT_NE(markdown_report(capture.model, capture.analysis).find("## Declared and measured work"),
            std::string::npos);
}

TEST(Documents, WorkThatNobodyDeclaredIsNoData) {
  const TemporaryCapture capture;
  DocumentOptions how = as(Format::text);
  how.columns = "work";
  try {
    (void)ranking_document(capture.model, capture.analysis, how).text();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_data);
    EXPECT_NE(std::string(error.what()).find("declares its work"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text())["declared"]
          .is_null());
}

TEST(Documents, TokensASecondStandBesideMfu) {
  TemporaryCapture capture;
  analyzer::Throughput& t = capture.analysis.throughput;
  t = {};
  t.step_ns = 50'000'000;
  t.size = {32768.0, 32.0};
  t.tokens_per_s = 655360;
  t.samples_per_s = 640;
  const char* kSentence =
      "655,360 tokens/s: 32,768 tokens that the program declares ÷ the step's 50.000 ms. 640 samples/s: 32 "
      "samples that";
  EXPECT_EQ(throughput_line(t).find(kSentence), 0u) << throughput_line(t);
  EXPECT_NE(
      in_one_line(ranking_document(capture.model, capture.analysis, as(Format::text)).text()).find(kSentence),
      std::string::npos);
  const json document =
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
  EXPECT_EQ(document["throughput"]["tokens"], 32768.0);
  EXPECT_EQ(document["throughput"]["tokens_per_s"], 655360.0);
  EXPECT_EQ(document["throughput"]["samples"], 32.0);
  EXPECT_EQ(document["throughput"]["samples_per_s"], 640.0);
  EXPECT_NE(html_report(capture.model, capture.analysis).find("<b>655,360</b><span>tokens a second"),
            std::string::npos);
  t.samples_per_s = 12.345;
  t.mfu = 0.5;
  t.declared_flops = 26.5e12;
  t.peak = analyzer::Peak{};
  EXPECT_EQ(throughput_line(t).find("MFU 50.0 %: 26.50 TFLOP that the program declares"), 0u)
      << throughput_line(t);
  EXPECT_NE(throughput_line(t).find(". 655,360 tokens/s: "), std::string::npos);
  EXPECT_NE(throughput_line(t).find("12.35 samples/s"), std::string::npos) << "few are no whole number";
  t.size.tokens = 1e300;
  EXPECT_NE(throughput_line(t).find("1,000,000,000,000,000,000 tokens"), std::string::npos);
}

TEST(Documents, StepsOfSeveralProcessesSayOfWhichInEightyColumns) {
  TemporaryCapture capture;
  auto& steps = capture.analysis.steps.steps;
  steps.back().process_id = steps.front().process_id + 1;
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  const std::size_t phases = text.find("process ");
  ASSERT_NE(phases, std::string::npos) << text;
  EXPECT_NE(text.find("process ", text.find("status") - 40), std::string::npos) << text;
  EXPECT_EQ(text.find("Not shown at this width: process_id"), std::string::npos);
}

TEST(Documents, TheWordsForPartsOfAStepAreWholeInEightyColumns) {
  const TemporaryCapture capture;
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  for (const char* words : {"a launch was being issued\n", "the CPU had not begun the next launch\n",
                            "the launch waited for an event or a stream\n"})
    EXPECT_NE(text.find(words), std::string::npos) << words << text;
}

TEST(Documents, LaunchesOfOneKernelAreToldApartInEightyColumns) {
  analyzer::AnalysisOptions how;
  how.rank.key = analyzer::RankKey::launch;
  const TemporaryCapture capture(FabricatedCapture{}, how);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  EXPECT_NE(text.find("\nno. launch"), std::string::npos) << text;
}

TEST(Documents, CheckSaysHowMuchTimeIsAtTheTargets) {
  const TemporaryCapture capture;
  const std::string text = check_document(capture.model, capture.analysis, as(Format::text)).text();
  EXPECT_NE(text.find("Share of the kernel time at 70 % of the nearest roof or above:"), std::string::npos)
      << text;
  EXPECT_NE(check_document(capture.model, capture.analysis, as(Format::markdown))
                .text()
                .find("Share of the kernel time at 70 %"),
            std::string::npos);
  FabricatedCapture refused;
  refused.tier_refused = true;
  const TemporaryCapture unmeasured(refused);
  EXPECT_EQ(
      check_document(unmeasured.model, unmeasured.analysis, as(Format::text)).text().find("Share of the"),
      std::string::npos);
}

// What a session reads gives the same documents as the whole capture in memory.
TEST(Documents, StepsBehindTheScheduleChangeNothing) {
  FabricatedCapture options;
  options.after_steps = 6;
  options.declared = true;
  const TemporaryCapture capture(options);
  analyzer::Session session = analyzer::Session::open(capture.path).value();
  const auto analysis = session.analysis().value();
  const auto part = session.model().value();
  EXPECT_LE(part->launches.size() + 6 * 225, capture.model.launches.size());
  const DocumentOptions how = as(Format::json);
  EXPECT_EQ(ranking_document(*part, *analysis, how).text(),
            ranking_document(capture.model, capture.analysis, how).text());
  EXPECT_EQ(check_document(*part, *analysis, all_of(how)).text(),
            check_document(capture.model, capture.analysis, all_of(how)).text());
  EXPECT_EQ(steps_document(*part, *analysis, how).text(),
            steps_document(capture.model, capture.analysis, how).text());
}

TEST(Documents, WithoutATimelineOtherStepsStandIn) {
  FabricatedCapture options;
  options.timeline_steps = 0;
  options.after_steps = 6;
  const TemporaryCapture capture(options);
  analyzer::Session session = analyzer::Session::open(capture.path).value();
  EXPECT_EQ(ranking_document(*session.model().value(), *session.analysis().value(), as(Format::json)).text(),
            ranking_document(capture.model, capture.analysis, as(Format::json)).text());
}

TEST(Documents, LongListsAreCutAndSaySo) {
  analyzer::AnalysisOptions by_launch;
  by_launch.rank.key = analyzer::RankKey::launch;
  const TemporaryCapture capture({}, by_launch);
  const auto rank = [&](const DocumentOptions& how) {
    return ranking_document(capture.model, capture.analysis, how).text();
  };
  const std::string text = rank(as(Format::text));
  EXPECT_NE(text.find("185 more launches are not shown: --all shows them."), std::string::npos) << text;
  EXPECT_NE(text.find("185 more "), std::string::npos);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 70);
  const std::string all = rank(all_of(as(Format::text)));
  EXPECT_EQ(all.find("--all"), std::string::npos);
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), 225);
  EXPECT_EQ(json::parse(rank(as(Format::json)))["rows"].size(), 225u) << "programs get everything";
  const std::string csv = rank(as(Format::csv));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 226);
}

TEST(Documents, SortOrdersTheRowsAndTopCutsTheOrder) {
  const TemporaryCapture capture;
  DocumentOptions how = as(Format::json);
  how.sort = "-time";
  how.top = 2;
  const json rank = json::parse(ranking_document(capture.model, capture.analysis, how).text());
  ASSERT_EQ(rank["rows"].size(), 2u);
  std::int64_t longest = 0;
  for (const analyzer::RankRow& row : capture.analysis.ranking.rows) longest = std::max(longest, row.time_ns);
  EXPECT_EQ(rank["rows"][0]["time_ns"], longest);
  EXPECT_GE(rank["rows"][0]["time_ns"], rank["rows"][1]["time_ns"]);
  how.sort = "gpu_duration";
  how.top = 0;
  const json steps = json::parse(steps_document(capture.model, capture.analysis, how).text());
  std::int64_t before = 0;
  for (const json& row : steps["rows"]) {
    if (row["gpu_duration_ns"].is_null()) continue;
    EXPECT_GE(row["gpu_duration_ns"].get<std::int64_t>(), before);
    before = row["gpu_duration_ns"].get<std::int64_t>();
  }
  how.sort = "-utilisation";
  const json check = json::parse(check_document(capture.model, capture.analysis, how).text());
  EXPECT_GE(check["rows"][0]["utilisation_ratio"], check["rows"][1]["utilisation_ratio"]);
}

TEST(Documents, RankEndsInALineForEachTier) {
  const TemporaryCapture all(with_samples());
  const std::string text = ranking_document(all.model, all.analysis, as(Format::text, 80)).text();
  for (const char* tier : {"T0 timeline", "T1 sampled", "T2 counted", "T3 cold"})
    EXPECT_EQ(lines_that_begin(text, tier), 1u) << tier;
  EXPECT_EQ(text.find("Roofs:"), std::string::npos) << "with --verbose";
  EXPECT_NE(ranking_document(all.model, all.analysis, verbose(as(Format::text))).text().find("Roofs: DRAM"),
            std::string::npos);
  const TemporaryCapture counted;
  const std::string fewer = ranking_document(counted.model, counted.analysis, as(Format::text)).text();
  EXPECT_EQ(lines_that_begin(fewer, "T2 counted"), 1u);
  EXPECT_EQ(lines_that_begin(fewer, "T1"), 0u);
  EXPECT_EQ(lines_that_begin(fewer, "T3"), 0u);
}

TEST(Documents, VerdictSaysWhatTheMissedOnesAndWhatAllWouldSave) {
  const TemporaryCapture capture;
  const std::string sentence = verdict_sentence(capture.analysis);
  double missed_ns = 0;
  for (const analyzer::KernelCheck& kernel : capture.analysis.check.kernels) {
    if (kernel.verdict == analyzer::KernelVerdict::missed)
      missed_ns += capture.analysis.check_ranking.rows[kernel.row].saved_target_ns;
  }
  const double all_ns = capture.analysis.check_ranking.totals.saved_target_ns;
  ASSERT_LT(missed_ns, all_ns);
  EXPECT_NE(sentence.find("would save up to " + time_text(missed_ns)), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("all kernels together " + time_text(all_ns)), std::string::npos) << sentence;
}

TEST(Documents, ManyStepsAreSummarisedByPhase) {
  FabricatedCapture options;
  options.layers = 1;
  options.timeline_steps = 60;
  const TemporaryCapture capture(options);
  const std::size_t steps = capture.analysis.steps.steps.size();
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text)).text();
  EXPECT_EQ(lines_that_begin(text, "timeline "), 1u) << text;
  EXPECT_EQ(lines_that_begin(text, "warmup "), 1u);
  EXPECT_NE(in_one_line(text).find("Of " + std::to_string(steps) + " steps these are"), std::string::npos)
      << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 70);
  const std::string all = steps_document(capture.model, capture.analysis, all_of(as(Format::text))).text();
  EXPECT_EQ(all.find("steps these are"), std::string::npos);
  EXPECT_GT(std::count(all.begin(), all.end(), '\n'), static_cast<std::ptrdiff_t>(steps));
  const json document = json::parse(steps_document(capture.model, capture.analysis, as(Format::json)).text());
  EXPECT_EQ(document["rows"].size(), steps);
  std::int64_t counted = 0;
  for (const json& phase : document["phases"]) {
    counted += phase["steps"].get<std::int64_t>();
    EXPECT_LE(phase["min_ns"], phase["median_ns"]);
    EXPECT_LE(phase["median_ns"], phase["max_ns"]);
  }
  EXPECT_EQ(counted, static_cast<std::int64_t>(steps));
}

// Each cut through the program holds all kernel time, and each part's bounds add up to the part.
TEST(Documents, KernelTimeByBoundAddsUp) {
  const TemporaryCapture capture;
  const json document = json::parse(steps_document(capture.model, capture.analysis, as(Format::json)).text());
  const std::int64_t busy_ns = document["accounting"]["kernel_busy_ns"];
  for (const char* cut : {"by_phase", "by_layer", "by_operation"}) {
    const json& parts = document["kernel_time"][cut];
    ASSERT_GT(parts.size(), 0u) << cut;
    std::int64_t sum_ns = 0;
    for (const json& part : parts) {
      std::int64_t bounds_ns = 0;
      for (const char* key :
           {"memory_ns", "compute_ns", "latency_ns", "launch_bound_ns", "no_roof_ns", "unmeasured_ns"})
        bounds_ns += part[key].get<std::int64_t>();
      EXPECT_EQ(bounds_ns, part["time_ns"]) << part["part"];
      sum_ns += bounds_ns;
    }
    EXPECT_NEAR(static_cast<double>(sum_ns), static_cast<double>(busy_ns), 1000) << cut;
  }
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  EXPECT_NE(text.find("What bounds the kernels"), std::string::npos);
}

TEST(Notices, TellWhatIsAtLeastThatSevere) {
  analyzer::Quality quality;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::info}) {
    analyzer::Finding finding{.severity = severity};
    finding.detail = to_string(severity);
    quality.findings.push_back(finding);
  }
  EXPECT_EQ(notices(quality, Severity::info).size(), 3u);
  const auto most = notices(quality, Severity::warning);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(finding_text(most[0]), "error");
  EXPECT_EQ(finding_text(most[1]), "warning");
}

TEST(Documents, AStepThatWasAskedForIsNotCalledTheMedian) {
  const TemporaryCapture capture;
  const std::string median = step_line(capture.analysis.steps);
  EXPECT_NE(median.find(", the median of "), std::string::npos) << median;
  analyzer::StepAnalysis asked = capture.analysis.steps;
  const auto other = std::find_if(asked.steps.begin(), asked.steps.end(),
                                  [](const auto& s) { return s.phase == Phase::replay; });
  ASSERT_NE(other, asked.steps.end());
  asked.representative.summary = *other;
  const std::string line = step_line(asked);
  EXPECT_EQ(line.find(", the median of"), std::string::npos) << line;
  EXPECT_NE(line.find(", a replay step: "), std::string::npos) << line;
  EXPECT_NE(line.find("(the median of 6 timeline steps: "), std::string::npos) << line;
}

TEST(Documents, JsonIsIndentedByTwoSpacesALevel) {
  const TemporaryCapture capture;
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::json)).text();
  EXPECT_EQ(text.find("{\n  \"format\": \"ridgeline.rank\",\n  \"version\": 1,\n"), 0u)
      << text.substr(0, 100);
  EXPECT_NE(text.find("\n  \"rows\": [\n    {\""), std::string::npos);
}

TEST(StallsLine, SaysWhatThereIsAndWhyThereIsNothing) {
  analyzer::StallAnalysis stalls;
  EXPECT_EQ(stalls_line(stalls),
            "This recording holds no stall reasons: ridgeline record --stalls samples them.");
  stalls.requested = true;
  EXPECT_EQ(stalls_line(stalls), "No stall reasons: no sample arrived.");
  stalls.reason = "the driver refused";
  EXPECT_EQ(stalls_line(stalls), "No stall reasons: the driver refused.");
  stalls.samples = 12'000;
  stalls.steps = 2;
  stalls.period_cycles = 1024;
  EXPECT_EQ(stalls_line(stalls).find(
                "12,000 samples of program counters over 2 steps, every 1024 cycles of each SM"),
            0u)
      << stalls_line(stalls);
}

TEST(Notices, FurtherLinesAreIndentedByTwo) {
  analyzer::Finding finding{.severity = Severity::warning};
  for (int i = 0; i < 30; ++i) finding.detail += "word" + std::to_string(i) + " ";
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
  EXPECT_EQ(roof_label({"bf16_flops_per_s", 989.4e12, PeakSource::spec, false, {}}),
            "bf16 989.4 TFLOP/s (spec)");
  EXPECT_EQ(roof_label({"int8_ops_per_s", 1978.9e12, PeakSource::clock, false, {}}).substr(0, 5), "int8 ");
}

TEST(TargetText, HasADecimalOnlyWhereItSaysSomething) {
  EXPECT_EQ(target_text(0.7), "70 %");
  EXPECT_EQ(target_text(0.725), "72.5 %");
  EXPECT_EQ(target_text(0.7004), "70 %");
  EXPECT_EQ(target_text(0.7006), "70.1 %");
}

// Colour does not run over a line's end: pagers would lose it.
TEST(Documents, EachLineOfAVerdictIsColouredByItself) {
  const TemporaryCapture capture;
  DocumentOptions options = as(Format::text, 80);
  options.text.columns = 30;
  options.text.colour = true;
  const std::string text = check_document(capture.model, capture.analysis, options).text();
  std::istringstream lines(text);
  std::size_t coloured = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t begun = 0, ended = 0;
    for (std::size_t at = line.find("\x1b["); at != std::string::npos; at = line.find("\x1b[", at + 1))
      ++(line.compare(at, 4, "\x1b[0m") == 0 ? ended : begun);
    EXPECT_EQ(begun, ended) << line;
    coloured += begun > 0;
  }
  EXPECT_GE(coloured, 2u);
}

}  // namespace
}  // namespace ridgeline::reports
