#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "documents_testing.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::all_of;
using testing::as;
using testing::expect_width;
using testing::FabricatedCapture;
using testing::in_one_line;
using testing::lines_that_begin;
using testing::TemporaryCapture;

TEST(StepsDocument, StepsAddUp) {
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

TEST(StepsDocument, WorkStandsBesideWhatWasMeasured) {
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

TEST(StepsDocument, WorkThatNobodyDeclaredIsNoData) {
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

TEST(StepsDocument, TokensASecondStandBesideMfu) {
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

TEST(StepsDocument, StepsOfSeveralProcessesSayOfWhichInEightyColumns) {
  TemporaryCapture capture;
  auto& steps = capture.analysis.steps.steps;
  steps.back().process_id = steps.front().process_id + 1;
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  const std::size_t phases = text.find("process ");
  ASSERT_NE(phases, std::string::npos) << text;
  EXPECT_NE(text.find("process ", text.find("status") - 40), std::string::npos) << text;
  EXPECT_EQ(text.find("Not shown at this width: process_id"), std::string::npos);
}

// A recorded window that counts as one step in the tables is no step for people; programs have its row.
TEST(StepsDocument, ARecordedWindowIsNotListedAsAStep) {
  TemporaryCapture capture;
  analyzer::StepAnalysis& steps = capture.analysis.steps;
  for (analyzer::StepSummary& step : steps.steps) step.source = StepSource::window;
  steps.representative.scope = analyzer::ScopeKind::recording;
  for (const Format format : {Format::text, Format::markdown}) {
    const std::string text = steps_document(capture.model, capture.analysis, as(format)).text();
    EXPECT_NE(text.find("for lack of steps"), std::string::npos);
    EXPECT_EQ(text.find("found by"), std::string::npos) << text;
    EXPECT_EQ(text.find("median"), std::string::npos) << text;
    EXPECT_EQ(text.find("◀"), std::string::npos) << text;
  }
  const json document = json::parse(steps_document(capture.model, capture.analysis, as(Format::json)).text());
  EXPECT_EQ(document["rows"].size(), steps.steps.size());
}

TEST(StepsDocument, TheWordsForPartsOfAStepAreWholeInEightyColumns) {
  const TemporaryCapture capture;
  const std::string text = steps_document(capture.model, capture.analysis, as(Format::text, 80)).text();
  for (const char* words : {"a launch was being issued\n", "the CPU had not begun the next launch\n",
                            "the launch waited for an event or a stream\n"})
    EXPECT_NE(text.find(words), std::string::npos) << words << text;
}

// What a session reads gives the same documents as the whole capture in memory.
TEST(StepsDocument, StepsBehindTheScheduleChangeNothing) {
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

TEST(StepsDocument, ManyStepsAreSummarisedByPhase) {
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
TEST(StepsDocument, KernelTimeByBoundAddsUp) {
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

TEST(StepsDocument, AStepThatWasAskedForIsNotCalledTheMedian) {
  const TemporaryCapture capture;
  const std::string median = step_line(capture.analysis.steps);
  EXPECT_NE(median.find(", the median of "), std::string::npos) << median;
  const std::vector<analyzer::StepSummary>& steps = capture.analysis.steps.steps;
  const auto other =
      std::find_if(steps.begin(), steps.end(), [](const auto& s) { return s.phase == Phase::replay; });
  ASSERT_NE(other, steps.end());
  analyzer::Session session = analyzer::Session::open(capture.path).value();
  const std::string line =
      step_line(*session.steps({.steps = analyzer::StepSelection::one(other->step_index)}).value());
  EXPECT_EQ(line.find(", the median of"), std::string::npos) << line;
  EXPECT_NE(line.find(", a replay step: "), std::string::npos) << line;
  EXPECT_NE(line.find("(the median of 6 timeline steps: "), std::string::npos) << line;
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

}  // namespace
}  // namespace ridgeline::reports
