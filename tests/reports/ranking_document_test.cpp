#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "documents_testing.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/finding_text.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::as;
using testing::expect_width;
using testing::FabricatedCapture;
using testing::in_one_line;
using testing::lines_that_begin;
using testing::TemporaryCapture;
using testing::verbose;
using testing::with_samples;

TEST(RankingDocument, RankJsonHasItsFields) {
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

TEST(RankingDocument, TopKeepsTheTotals) {
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

TEST(RankingDocument, UnknownColumnIsAUsageError) {
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

TEST(RankingDocument, UnmeasuredIsUnknownNotZero) {
  FabricatedCapture options;
  options.tier_refused = true;
  const TemporaryCapture capture(options);
  const json document =
      json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
  bool seen = false;
  for (const json& row : document["rows"]) {
    // Nothing was measured of any: what could be saved is known of those alone that are too short, or have no roof.
    for (const char* key :
         {"saved_target_ns", "saved_stretch_ns", "reached_target_ns", "reached_stretch_ns"}) {
      if (row["unmeasured_calls"] > 0) {
        EXPECT_TRUE(row[key].is_null()) << key << " of " << row["kernel"];
      } else if (!row[key].is_null()) {
        EXPECT_EQ(row[key], 0.0) << key << " of " << row["kernel"];
      }
    }
    if (row["unmeasured_calls"] != row["calls"]) continue;
    seen = true;
    EXPECT_TRUE(row["dram_utilisation_ratio"].is_null());
    EXPECT_NE(row["reason"], "");
  }
  EXPECT_TRUE(seen);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text)).text();
  EXPECT_EQ(text.find("up to 0.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("not known"), std::string::npos);
  EXPECT_NE(text.find("counters are not permitted"), std::string::npos);
}

TEST(RankingDocument, CheckSaysItsVerdict) {
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

TEST(RankingDocument, WhatWasNotMeasuredHasNoSaving) {
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

TEST(RankingDocument, RankShowsTierAndErrorInEightyColumns) {
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

TEST(RankingDocument, RankJsonHasTheTiers) {
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

TEST(RankingDocument, RankColumnsByGroup) {
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

TEST(RankingDocument, LaunchesOfOneKernelAreToldApartInEightyColumns) {
  analyzer::AnalysisOptions how;
  how.ranking.key = analyzer::RankingKey::launch;
  const TemporaryCapture capture(FabricatedCapture{}, how);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  EXPECT_NE(text.find("\nno. launch"), std::string::npos) << text;
}

TEST(RankingDocument, SeveralKeysAreColumnsOfTheirOwn) {
  analyzer::AnalysisOptions how;
  how.ranking.key = analyzer::parse_ranking_keys("layer,phase").value();
  const TemporaryCapture capture(FabricatedCapture{}, how);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text, 100)).text();
  EXPECT_NE(text.find("\nlayer"), std::string::npos) << text;
  EXPECT_NE(text.find("phase"), std::string::npos);
  const json rank = json::parse(ranking_document(capture.model, capture.analysis, as(Format::json)).text());
  EXPECT_EQ(rank["options"]["by"], "layer,phase");
  for (const json& row : rank["rows"]) {
    EXPECT_EQ(row["key"], row["by_layer"].get<std::string>() + " · " + row["by_phase"].get<std::string>());
  }
}

TEST(RankingDocument, WhyLaunchesAreInNoRangeIsSaid) {
  analyzer::AnalysisOptions how;
  how.ranking.key = analyzer::RankingKey::layer;
  TemporaryCapture capture(FabricatedCapture{}, how);
  std::int64_t calls = 0;
  for (const analyzer::RankingRow& row : capture.analysis.ranking.rows) {
    if (row.key == "(no range)") calls += row.calls;
  }
  ASSERT_GT(calls, 0);
  const std::string text = ranking_document(capture.model, capture.analysis, as(Format::text, 200)).text();
  EXPECT_NE(text.find("(no range): " + std::to_string(calls) + " launch"), std::string::npos) << text;
  EXPECT_NE(text.find("in no NVTX range whose name ends in a number"), std::string::npos) << text;
  const TemporaryCapture by_kernel;
  EXPECT_EQ(
      ranking_document(by_kernel.model, by_kernel.analysis, as(Format::text, 200)).text().find("(no range)"),
      std::string::npos);
}

TEST(RankingDocument, BriefRowsAreLeftOutAndSaid) {
  const TemporaryCapture capture;
  DocumentOptions how = as(Format::text, 100);
  std::vector<double> shares;
  for (const analyzer::RankingRow& row : capture.analysis.ranking.rows) shares.push_back(row.step_share);
  std::sort(shares.begin(), shares.end());
  ASSERT_LT(shares.front(), shares.back());
  how.min_share = shares.back();
  const std::string text = ranking_document(capture.model, capture.analysis, how).text();
  EXPECT_NE(text.find(" left out: "), std::string::npos) << text;
  how.format = Format::json;
  const json rank = json::parse(ranking_document(capture.model, capture.analysis, how).text());
  EXPECT_EQ(static_cast<std::ptrdiff_t>(rank["rows"].size()),
            std::count(shares.begin(), shares.end(), shares.back()));
  how.min_share = 0;
  EXPECT_EQ(json::parse(ranking_document(capture.model, capture.analysis, how).text())["rows"].size(),
            shares.size());
}

TEST(RankingDocument, CheckSaysHowMuchTimeIsAtTheTargets) {
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

TEST(RankingDocument, WithoutATimelineOtherStepsStandIn) {
  FabricatedCapture options;
  options.timeline_steps = 0;
  options.after_steps = 6;
  const TemporaryCapture capture(options);
  analyzer::Session session = analyzer::Session::open(capture.path).value();
  EXPECT_EQ(ranking_document(*session.model().value(), *session.analysis().value(), as(Format::json)).text(),
            ranking_document(capture.model, capture.analysis, as(Format::json)).text());
}

TEST(RankingDocument, SortOrdersTheRowsAndTopCutsTheOrder) {
  const TemporaryCapture capture;
  DocumentOptions how = as(Format::json);
  how.sort = "-time";
  how.top = 2;
  const json rank = json::parse(ranking_document(capture.model, capture.analysis, how).text());
  ASSERT_EQ(rank["rows"].size(), 2u);
  std::int64_t longest = 0;
  for (const analyzer::RankingRow& row : capture.analysis.ranking.rows)
    longest = std::max(longest, row.time_ns);
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

TEST(RankingDocument, RankEndsInALineForEachTier) {
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

TEST(RankingDocument, VerdictSaysWhatTheMissedOnesAndWhatAllWouldSave) {
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

TEST(RankingDocument, AStepInWhichTheGpuIdlesDoesNotMeetItsTarget) {
  TemporaryCapture capture;
  analyzer::Analysis& analysis = capture.analysis;
  analysis.check.overall = analyzer::OverallVerdict::met;
  EXPECT_EQ(verdict_sentence(analysis).find("The step meets its target: "), 0U) << verdict_sentence(analysis);
  analyzer::Finding idle{.severity = Severity::warning, .code = analyzer::FindingCode::gpu_idle};
  idle.step_share = 0.969;
  analysis.quality.findings.push_back(idle);
  for (const auto& [overall, says] :
       {std::pair(analyzer::OverallVerdict::met, "The step's kernels meet their target: "),
        std::pair(analyzer::OverallVerdict::missed, "The step's kernels miss their target: ")}) {
    analysis.check.overall = overall;
    EXPECT_EQ(kernels_verdict_sentence(analysis).find(says), 0U) << kernels_verdict_sentence(analysis);
    EXPECT_EQ(verdict_sentence(analysis),
              "The GPU is idle for 96.9 % of the step. " + kernels_verdict_sentence(analysis));
  }
}

TEST(RankingDocument, CommunicationThatNothingHidesIsSaidAboveTheKernels) {
  TemporaryCapture capture;
  analyzer::Finding finding{.severity = Severity::warning, .code = analyzer::FindingCode::communication};
  finding.magnitude_ns = 3e6;
  finding.step_share = 0.25;
  finding.evidence = {{"step_ns", 12e6, {}, {}}, {"communication_ns", 6e6, {}, {}}};
  capture.analysis.quality.findings.push_back(finding);
  const std::string line = finding_text(finding);
  EXPECT_EQ(line,
            "communication that no other kernel hides takes 25.0 % of the step, 3.000 ms of 12.000 ms: its "
            "collectives run for 6.000 ms");
  finding.evidence.push_back({"ranks", 2, {}, {}});
  EXPECT_EQ(finding_text(finding), line + "; ridgeline ranks says what of it is waiting for another rank");
  finding.evidence.back().value = 1;
  EXPECT_EQ(finding_text(finding),
            line + "; ridgeline ranks of all ranks' captures says what of it is waiting for another rank");
  const std::string text =
      in_one_line(ranking_document(capture.model, capture.analysis, as(Format::text, 200)).text());
  const std::string said = 'C' + line.substr(1) + '.';
  EXPECT_LT(text.find(said), text.find("The step misses its target")) << text.substr(0, 1000);
  const std::string markdown = markdown_report(capture.model, capture.analysis);
  EXPECT_LT(markdown.find(said), markdown.find("The step misses its target"));
}

TEST(TargetText, HasADecimalOnlyWhereItSaysSomething) {
  EXPECT_EQ(target_text(0.7), "70 %");
  EXPECT_EQ(target_text(0.725), "72.5 %");
  EXPECT_EQ(target_text(0.7004), "70 %");
  EXPECT_EQ(target_text(0.7006), "70.1 %");
}

// Colour does not run over a line's end: pagers would lose it.
TEST(RankingDocument, EachLineOfAVerdictIsColouredByItself) {
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
