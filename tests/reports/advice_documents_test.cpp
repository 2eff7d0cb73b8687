// Advice in every format: of a program that the CPU paces, and words for whatever a rule may say.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "documents_testing.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/reports/advice_text.h"
#include "support/temporary_directory.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::all_of;
using testing::as;
using testing::expect_width;
using testing::in_one_line;

// Launched one by one, with gaps.
struct LateLaunches {
  LateLaunches() {
    generate::Options options;
    options.shape = generate::Shape::eager;
    options.launches = 1153 * 14;
    const std::string path = directory.file("eager.ridge");
    generate::generate(options, *generate::make_capture_sink(path));
    analyzer::Session session = analyzer::Session::open(path).value();
    analysis = session.analysis().value();
    model = session.model().value();
  }
  testing::TemporaryDirectory directory;
  std::shared_ptr<const analyzer::Analysis> analysis;
  std::shared_ptr<const analyzer::Model> model;
};

TEST(AdviceDocuments, SayFirstWhatGivesMost) {
  const LateLaunches made;
  const analyzer::AdviceReport& report = made.analysis->advice;
  ASSERT_FALSE(report.advice.empty());
  EXPECT_EQ(report.advice.front().rule, analyzer::AdviceRule::launch_overhead);
  const std::vector<std::string> lines = first_lines(report, made.analysis->quality);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_LE(lines.size(), 3U);
  EXPECT_NE(lines[0].find("CUDA graph"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(" of the step ("), std::string::npos) << lines[1];
  for (const int columns : {80, 100, 160}) {
    for (const bool all : {false, true}) {
      DocumentOptions options = as(Format::text, columns);
      options.all = all;
      const std::string text = advice_document(*made.model, *made.analysis, options).text();
      expect_width(text, columns);
      const std::string line = in_one_line(text);
      EXPECT_NE(line.find("1. launch-overhead: "), std::string::npos) << text;
      EXPECT_EQ(line.find("healthy: ") != std::string::npos, all);
    }
    const std::string rank =
        in_one_line(ranking_document(*made.model, *made.analysis, as(Format::text, columns)).text());
    EXPECT_LT(rank.find("The GPU is idle for"), rank.find("The step's kernels ")) << "idle time first";
    EXPECT_LT(rank.find("The step's kernels "), rank.find("First: ")) << rank;
    EXPECT_LT(rank.find("First: "), rank.find("kernel   "));
  }
  const std::string html = capture_document(*made.model, *made.analysis, ReportFormat::html, {}, {}).text();
  EXPECT_LT(html.find("class=\"verdict"), html.find("First: "));
  EXPECT_LT(html.find("First: "), html.find("<table"));
  const std::string markdown =
      capture_document(*made.model, *made.analysis, ReportFormat::markdown, {}, {}).text();
  EXPECT_LT(markdown.find("First: "), markdown.find("## Ranking"));
}

TEST(AdviceDocuments, JsonHasEveryCaseWithItsLaunches) {
  const LateLaunches made;
  const json document = json::parse(advice_document(*made.model, *made.analysis, as(Format::json)).text());
  EXPECT_EQ(document["format"], "ridgeline.advise");
  const json& first = document["advice"]["cases"][0];
  EXPECT_EQ(first["rule"], "launch-overhead");
  EXPECT_FALSE(first["launches"].empty());
  EXPECT_LE(first["launches"].size(), 64U);
  EXPECT_GT(first["evidence"]["gaps_ns"].get<double>(), 0);
  EXPECT_LE(first["net"]["low_ns"].get<double>(), first["net"]["mid_ns"].get<double>());
  double sum_ns = 0;
  for (const json& one : document["advice"]["cases"]) sum_ns += one["net"]["mid_ns"].get<double>();
  EXPECT_NEAR(document["advice"]["together"]["mid_ns"].get<double>(), sum_ns, 1);
  EXPECT_GE(document["rows"].size(), 22U) << "every rule answers";
  const json rank = json::parse(ranking_document(*made.model, *made.analysis, as(Format::json)).text());
  EXPECT_EQ(rank["advice"], document["advice"]);
}

TEST(AdviceDocuments, WhatTheStepsVariationHidesIsNamed) {
  analyzer::AdviceReport report;
  report.step_ns = 43.6e6;
  report.noise_ns = 2e6;
  report.min_ns = 6e6;
  report.small.push_back({.rule = analyzer::AdviceRule::launch_overhead});
  report.small.back().net = {2e6, 4.8e6, 9e6};
  const std::string line = first_lines(report, {}).at(0);
  EXPECT_EQ(line.find("No advice: launch-overhead would gain about 4.800 ms of the step (11.0 %)"), 0U)
      << line;
  EXPECT_NE(line.find("± 2.000 ms"), std::string::npos) << line;
  report.small.back().net.mid_ns = 0.2e6;
  EXPECT_EQ(first_lines(report, {}).at(0).find("Healthy"), 0U) << "not worth a word";
}

TEST(AdviceDocuments, AHealthyStepGetsOneLine) {
  analyzer::AdviceReport report;
  report.step_ns = 2e6;
  report.min_ns = 6000;
  const std::vector<std::string> lines = first_lines(report, {});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("Healthy: none of 22 rules"), 0U) << lines[0];
  analyzer::Quality idle;
  idle.findings.push_back({.severity = Severity::warning, .code = analyzer::FindingCode::gpu_idle});
  EXPECT_EQ(first_lines(report, idle).at(0).find("No advice: "), 0U) << "an idle GPU is not healthy";
  report.unknown.push_back({analyzer::AdviceRule::sync_in_step, analyzer::AdviceNeed::host_waits, "", 1e6});
  EXPECT_EQ(first_lines(report, {}).at(0).find("No advice: sync-in-step"), 0U)
      << "half of the step hangs on it";
  report.unknown = {{analyzer::AdviceRule::loader_wait, analyzer::AdviceNeed::loader_range, "", 1e6}};
  report.small.push_back({.rule = analyzer::AdviceRule::launch_overhead});
  for (const double gain_ns : {0.3e6, 1.5e6}) {
    report.small.back().net.mid_ns = gain_ns;
    const std::string line = first_lines(report, {}).at(0);
    const bool waits =
        line.find("the GPU waits for the CPU, 1.000 ms (50.0 % of the step)") != std::string::npos;
    EXPECT_EQ(waits, gain_ns < 1e6) << "the larger of what is within the noise and what is not known: "
                                    << line;
  }
  report.advice = report.small;
  for (const double gain_ns : {0.3e6, 1.5e6}) {
    report.advice.back().net.mid_ns = gain_ns;
    const std::string line = first_lines(report, {}).at(1);
    EXPECT_EQ(line.find("For longer, 1.000 ms (50.0 %), the GPU waits for the CPU") != std::string::npos,
              gain_ns < 1e6)
        << line;
  }
  EXPECT_TRUE(first_lines({}, {}).empty()) << "nobody asked";
}

TEST(AdviceDocuments, KernelsFarBelowTheirRoofsAreNotHealthyThoughNoRuleKnowsWhy) {
  analyzer::AdviceReport report;
  report.step_ns = 48.6e6;
  report.min_ns = 1e6;
  report.kernels_target = 0.7;
  report.kernels_ns = 2.916e6;
  EXPECT_EQ(first_lines(report, {}).at(0),
            "No advice: none of 22 rules knows why, but kernels at 70 % of their nearest roof would save up "
            "to 2.916 ms "
            "(6.0 %) of the step: ridgeline explain says what holds each.");
  report.kernels_ns = 0.9e6;
  EXPECT_EQ(first_lines(report, {}).at(0).find("Healthy"), 0U) << "less than what advice is given for";
}

TEST(AdviceDocuments, EveryRuleAndEveryNeedHasItsWords) {
  analyzer::AdviceReport report;
  report.step_ns = 1e6;
  std::set<std::string> said;
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords) {
    analyzer::Advice advice{.rule = word.value, .subject = "a_kernel"};
    EXPECT_TRUE(said.insert(advice_action(advice)).second) << word.text << " says what another says";
    EXPECT_EQ(advice_action(advice).find("{}"), std::string::npos) << word.text;
    EXPECT_FALSE(rule_meaning(word.value).empty());
    EXPECT_FALSE(rule_reference(word.value).empty());
    const std::string command = look_command(word.value, "c.ridge");
    EXPECT_EQ(command.find("ridgeline "), 0U);
    EXPECT_NE(command.find("c.ridge"), std::string::npos);
  }
  for (const auto& word : Vocabulary<analyzer::AdviceNeed>::kWords) {
    EXPECT_TRUE(said.insert(need_text(report, {analyzer::AdviceRule::casts, word.value, "", {}})).second)
        << word.text;
  }
}

// What another profiler recorded has no schedule, tiers or doctor of ours.
TEST(AdviceDocuments, OfAnImportEveryNeedIsSaidOfTheTrace) {
  analyzer::AdviceReport report;
  report.imported = true;
  std::set<std::string> said;
  for (const auto& word : Vocabulary<analyzer::AdviceNeed>::kWords) {
    const std::string text = need_text(report, {analyzer::AdviceRule::casts, word.value, "", {}});
    EXPECT_TRUE(said.insert(text).second) << text;
    for (const char* own : {"record ", "record:", "--tiers", "--schedule", "doctor", "this version"})
      EXPECT_EQ(text.find(own), std::string::npos) << text;
  }
}

TEST(AdviceDocuments, FiguresAreToldWithTheirUnits) {
  EXPECT_EQ(evidence_text({{"gaps_ns", 3.93e6, {}, {}}, {"launches", 1153, {}, {}}}),
            "gaps 3.930 ms · 1,153 launches");
  EXPECT_EQ(evidence_text({{"copies", 1, {}, {}}, {"waves", 1.5, {}, {}}, {"m", 4096, {}, {}}}),
            "1 copy · 1.50 waves · m 4,096");
  EXPECT_EQ(evidence_text({{"sms_idle_ratio", 0.25, {}, {}}, {"clock_hz", 1.5e9, {}, {}}}),
            "sms idle 25.0 % · clock 1500 MHz");
  EXPECT_EQ(
      evidence_text({{"moved_bytes", 2e9, {}, {}}, {"bytes_per_s", 8e9, {}, {}}, {"power_w", 690, {}, {}}}),
      "moved 2.00 GB · rate 8.00 GB/s · power 690 W");
  EXPECT_EQ(evidence_text({}), "");
}

}  // namespace
}  // namespace ridgeline::reports
