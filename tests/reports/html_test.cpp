#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "charts.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/reports/documents.h"
#include "temporary_capture.h"
#include "xml_checker.h"

namespace ridgeline::reports {
namespace {

using testing::check_xml;
using testing::FabricatedCapture;
using testing::TemporaryCapture;
using testing::XmlResult;

// The style sheet is text to XML.
XmlResult checked(const std::string& html) {
  return check_xml(html);
}

void expect_self_contained(const std::string& html, const XmlResult& xml) {
  EXPECT_EQ(xml.elements.count("script"), 0u);
  EXPECT_EQ(xml.elements.count("link"), 0u);
  EXPECT_EQ(xml.elements.count("img"), 0u);
  EXPECT_EQ(xml.elements.count("iframe"), 0u);
  EXPECT_EQ(html.find("url("), std::string::npos);
  EXPECT_EQ(html.find("@import"), std::string::npos);
  // Made once: thousands of attributes are looked at, and to make it is most of what that would cost.
  static const std::regex loads("@(src|href|on[a-z]+|action|data|xlink.*)$");
  for (const std::string& attribute : xml.attributes) {
    const std::string name = attribute.substr(0, attribute.find('='));
    EXPECT_FALSE(std::regex_search(name, loads)) << attribute;
  }
}

TEST(XmlChecker, KnowsBadFromGood) {
  EXPECT_EQ(check_xml("<a b=\"c\"><d/>x &amp; y</a>").error, "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=c/>", "<a>&</a>", "<a><</a>", "<a b=\"<\"/>", "<a/><b/>",
                          "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>", "x<a/>"}) {
    EXPECT_NE(check_xml(bad).error, "") << bad;
  }
}

TEST(HtmlReport, IsWellFormedAndSelfContained) {
  const TemporaryCapture capture;
  const std::string html = html_report(capture.model, capture.analysis);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  expect_self_contained(html, xml);
  EXPECT_EQ(xml.elements.at("h1"), 1);
  EXPECT_GE(xml.elements.at("svg"), 5) << "accounting, classes, kernels, roofline, steps";
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(html.find("@media print"), std::string::npos);
  EXPECT_NE(xml.text.find("NVIDIA H200"), std::string::npos);
  EXPECT_NE(xml.text.find("driver 580.159.03"), std::string::npos);
  EXPECT_NE(xml.text.find("commit 8ba260e1f3 (modified)"), std::string::npos);
  EXPECT_NE(xml.text.find("The step misses its target"), std::string::npos);
  EXPECT_NE(xml.text.find("70 %"), std::string::npos);
  EXPECT_NE(xml.text.find("85 %"), std::string::npos);
  // Every launch of the step is in the collapsed table, and every kernel in the ranking.
  EXPECT_NE(xml.text.find("Launch by launch, 225 launches of the step"), std::string::npos);
  EXPECT_EQ(capture.analysis.utilisation.launches.size(), 225u);
  EXPECT_GE(xml.elements.at("tr"), 225 + static_cast<int>(capture.analysis.ranking.rows.size()));
}

TEST(HtmlReport, DetailsHoldWhatTheRankingHasNoRoomFor) {
  TemporaryCapture capture;
  capture.analysis.ranking.rows.at(0).tile = "96x160x48";
  capture.analysis.ranking.rows.at(0).waves = 77.25;
  const std::string html = html_report(capture.model, capture.analysis);
  const std::size_t shapes = html.find("How launches fill the device");
  ASSERT_NE(shapes, std::string::npos);
  EXPECT_NE(html.find(">96x160x48<", shapes), std::string::npos);
  EXPECT_NE(html.find(">77.25<", shapes), std::string::npos);
  EXPECT_NE(html.find("Issue slots, active SMs"), std::string::npos);
  EXPECT_NE(html.find("Achieved against data-sheet throughput"), std::string::npos);
}

// The kernels to work on come before anything about the recording, and before the ranking begins.
TEST(HtmlReport, NamesTheKernelsToFixFirst) {
  const TemporaryCapture capture;
  const std::string html = html_report(capture.model, capture.analysis);
  const std::size_t savings = html.find("Where the savings are");
  ASSERT_NE(savings, std::string::npos);
  EXPECT_LT(savings, html.find("<p class=\"notice"));
  EXPECT_LT(savings, html.find("Ranking: what to optimise next"));
  EXPECT_LT(html.find("Ranking: what to optimise next"), html.find("About this recording"));
}

// What to do, what it gives and how sure that is come before any figure; rules that found nothing are folded away.
TEST(HtmlReport, BeginsWithWhatToDoFirst) {
  FabricatedCapture unpadded;
  unpadded.declared = unpadded.unpadded = true;
  const TemporaryCapture capture(unpadded);
  const std::string html = html_report(capture.model, capture.analysis);
  const std::size_t box = html.find("<div class=\"first\">");
  ASSERT_NE(box, std::string::npos);
  EXPECT_LT(html.find("<p class=\"dominates"), html.find("<p class=\"verdict"));
  EXPECT_LT(html.find("<p class=\"verdict"), box);
  EXPECT_LT(box, html.find("<div class=\"tiles\">"));
  const std::string first = html.substr(box, html.find("</div>", box) - box);
  EXPECT_NE(first.find("Pad the dimension"), std::string::npos) << first;
  EXPECT_NE(first.find("It would give about"), std::string::npos) << first;
  EXPECT_NE(first.find("from what was measured"), std::string::npos) << first;
  const std::size_t folded = html.find("rules found nothing");
  ASSERT_NE(folded, std::string::npos);
  EXPECT_LT(html.rfind("<details>", folded), folded);
  EXPECT_LT(folded, html.find("healthy: cold-start"));
  EXPECT_LT(html.find("1. ugly-dimension"), folded);
}

// What a reader may skip is marked, and nothing bears an empty mark.
TEST(HtmlReport, MarksWhatStandsBack) {
  const TemporaryCapture capture;
  const std::string html = html_report(capture.model, capture.analysis);
  EXPECT_NE(html.find("<p class=\"soft\">NVIDIA H200"), std::string::npos);
  EXPECT_NE(html.find("<p>Made by Ridgeline"), std::string::npos);
  EXPECT_EQ(html.find("class=\"\""), std::string::npos);
}

TEST(HtmlReport, ShowsDeclaredWork) {
  FabricatedCapture options;
  options.declared = true;
  const TemporaryCapture capture(options);
  const XmlResult xml = checked(html_report(capture.model, capture.analysis));
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("Declared and measured work"), std::string::npos);
  EXPECT_NE(xml.text.find("declared by 225 ranges"), std::string::npos);
  EXPECT_NE(xml.text.find("Range by range"), std::string::npos);
}

TEST(HtmlReport, MissesNothingWhenNothingWasMeasured) {
  FabricatedCapture options;
  options.tier_refused = true;
  const TemporaryCapture capture(options);
  const std::string html = html_report(capture.model, capture.analysis);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("counters are not permitted"), std::string::npos);
  EXPECT_NE(xml.text.find("No verdict against"), std::string::npos);
  EXPECT_NE(xml.text.find("No roofline:"), std::string::npos);
  EXPECT_NE(xml.text.find("unknown"), std::string::npos);
}

TEST(HtmlReport, ShowsTheTiersSideBySide) {
  FabricatedCapture options;
  options.sample_steps = 4;
  options.cold_steps = 1;
  options.t1_outlier = 0.05;
  TemporaryCapture capture(options);
  EXPECT_EQ(html_report(capture.model, capture.analysis).find("<polygon"), std::string::npos);
  analyzer::Session session(store::Capture::open(capture.path).value());
  capture.analysis.sampled = session.analysis({}, analyzer::Session::kSamples).value()->sampled;
  ASSERT_TRUE(capture.analysis.sampled.has_value());
  const std::string html = html_report(capture.model, capture.analysis);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  expect_self_contained(html, xml);
  EXPECT_EQ(xml.elements.at("polygon"), 2) << "DRAM and the tensor pipe";
  EXPECT_NE(xml.text.find("samples, one every 100.0 µs"), std::string::npos);
  for (const char* words :
       {"One step as it ran (T1)", "Samples (T1) beside counters (T2)",
        "Cold caches (T3) beside the running step", "disagree", "by samples of running steps (T1) for"}) {
    EXPECT_NE(xml.text.find(words), std::string::npos) << words;
  }
  const TemporaryCapture without;
  const XmlResult old = checked(html_report(without.model, without.analysis));
  EXPECT_EQ(old.text.find("Samples (T1)"), std::string::npos);
  EXPECT_EQ(old.text.find("Cold caches (T3)"), std::string::npos);
}

TEST(HtmlReport, ShowsLosses) {
  FabricatedCapture options;
  options.losses = true;
  const TemporaryCapture capture(options);
  const XmlResult xml = checked(html_report(capture.model, capture.analysis));
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("17 dropped"), std::string::npos);
  EXPECT_TRUE(std::any_of(xml.attributes.begin(), xml.attributes.end(), [](const std::string& a) {
    return a == "p@class=notice warning" || a == "p@class=notice error";
  }));
}

TEST(HtmlReport, HostileStringsStayText) {
  FabricatedCapture options;
  options.extra_kernel = "</td><script>alert(1)</script>\"'><img src=x onerror=y>\x1b[31m\x01\xff&lt;";
  options.command_line = "</title><script>alert(2)</script> \"--x\" \xe2\x80\xae";
  options.nvtx_suffix = " --><style>*{display:none}</style>";
  const TemporaryCapture capture(options);
  const std::string html = html_report(capture.model, capture.analysis);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  expect_self_contained(html, xml);
  EXPECT_EQ(xml.elements.at("style"), 1);
  EXPECT_EQ(xml.elements.at("title") > 0, true);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(HtmlReport, WorksWithoutSteps) {
  FabricatedCapture options;
  options.step_ranges = false;
  const TemporaryCapture capture(options);
  const XmlResult xml = checked(html_report(capture.model, capture.analysis));
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("The whole recording, for lack of steps"), std::string::npos);
}

// What the first screen must say stands before everything that it rests on.
TEST(HtmlReport, NamesTheVerdictAndTheKernelsBeforeTheProvenance) {
  FabricatedCapture options;
  options.sample_steps = 4;
  const TemporaryCapture capture(options);
  const std::string text = checked(html_report(capture.model, capture.analysis)).text;
  const std::size_t verdict = text.find("The step misses its target");
  const std::size_t first = text.find("Where the savings are");
  const std::size_t ranking = text.find("Ranking: what to optimise next");
  const std::size_t about = text.find("About this recording");
  ASSERT_NE(about, std::string::npos);
  EXPECT_LT(verdict, first);
  EXPECT_LT(first, ranking);
  EXPECT_LT(ranking, about);
  EXPECT_GT(text.find("launches seen"), about);
  EXPECT_LT(text.find("hardware counters read every few µs"), about)
      << "tiers are defined where they are met";
}

TEST(HtmlReport, StaysSmallWhateverTheCapture) {
  FabricatedCapture options;
  options.layers = 1;
  options.sample_steps = 4;
  options.extra_kernel = "void k<" + std::string(3'000'000, 'x') + ">(int)";
  TemporaryCapture capture(options);
  // 20,000 kernels, each with its rows everywhere.
  const auto copies = [](auto& rows, std::size_t count, std::size_t which = 0) {
    const auto row = rows[which];
    for (std::size_t i = 0; i < count; ++i) rows.push_back(row);
  };
  auto& ranking = capture.analysis.ranking.rows;
  const auto short_name = std::find_if(ranking.begin(), ranking.end(), [](const analyzer::RankingRow& row) {
    return row.key.size() < 1000 && row.tensor_ops.value_or(0) > 0;
  });
  ASSERT_NE(short_name, ranking.end());
  const auto usual = static_cast<std::size_t>(short_name - ranking.begin());
  copies(ranking, 20'000, usual);
  copies(capture.analysis.roofline.points, 20'000, usual);
  copies(capture.analysis.utilisation.launches, 20'000);
  copies(capture.analysis.steps.steps, 30'000);
  copies(capture.analysis.quality.findings, 5'000);
  for (std::size_t i = 0; i < 20'000; ++i) {
    capture.analysis.check.kernels.push_back(capture.analysis.check.kernels.front());
  }
  const std::string html = html_report(capture.model, capture.analysis);
  EXPECT_LT(html.size(), 5'000'000u);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("These are the first 500;"), std::string::npos);
  EXPECT_NE(xml.text.find("more steps not listed"), std::string::npos);
}

// Steps of 50 and 60 ms must differ to the eye beside one of 1.2 s.
TEST(HtmlReport, ChartOfStepsCutsWhatIsFarLonger) {
  analyzer::StepAnalysis steps;
  steps.representative.whole_recording = true;
  for (const std::int64_t ms : {50, 60, 50, 55, 1200}) {
    analyzer::StepSummary step;
    step.step_id = step.step_index = static_cast<std::int64_t>(steps.steps.size());
    step.phase = Phase::timeline;
    step.status = StepStatus::ok;
    step.gpu_duration_ns = ms * 1'000'000;
    steps.steps.push_back(step);
  }
  const std::string svg = step_chart(steps);
  std::vector<double> heights;
  const std::regex bar("<rect[^>]*height=\"([0-9.]+)\"[^>]*class=\"s-timeline");
  for (std::sregex_iterator it(svg.begin(), svg.end(), bar), end; it != end; ++it)
    heights.push_back(std::stod((*it)[1]));
  ASSERT_EQ(heights.size(), 6u) << "the cut bar has two parts\n" << svg;
  EXPECT_GT(heights[1] - heights[0], 10.0);
  EXPECT_NE(svg.find(">1200<"), std::string::npos) << "a cut bar says how long it is";
  for (int i = 0; i < 30'000; ++i) {
    steps.steps.push_back(steps.steps.front());
    steps.steps.back().step_index = i + 5;
  }
  EXPECT_LT(step_chart(steps).size(), 100'000u);
}

TEST(SampleChart, RunsNarrowerThanAPointAreDrawnAsOne) {
  analyzer::SampledStep step;
  step.window = {0, 50'000'000};
  step.dram_ratio.assign(100, 0.5);
  for (std::int64_t i = 0; i < 100'000; ++i)
    step.classes.push_back(
        {i % 2 == 0 ? KernelClass::gemm : KernelClass::copy, i * 500, i * 500 + (i % 2 == 0 ? 400 : 500)});
  const std::string svg = sample_chart(step).svg;
  EXPECT_LT(svg.size(), 400'000u);
  EXPECT_EQ(svg.find("k-gemm"), std::string::npos) << "each point shows the class of its longest run";
  EXPECT_NE(svg.find("k-copy"), std::string::npos);
}

// The column of reasons is there if any launch has one.
TEST(HtmlReport, GivesReasonsOfLaunchesWhereThereAreAny) {
  TemporaryCapture capture;
  const auto has_reasons = [&](bool first, bool second) {
    analyzer::LaunchValues known, unknown;
    unknown.why = {analyzer::Absence{.cause = analyzer::AbsenceCause::no_replay_step}};
    analyzer::LaunchUtilisation launch = capture.analysis.utilisation.launches.front();
    capture.analysis.utilisation.launches = {};
    for (const bool reason : {first, second}) {
      launch.values = std::make_shared<const analyzer::LaunchValues>(reason ? unknown : known);
      capture.analysis.utilisation.launches.push_back(launch);
    }
    const std::string html = html_report(capture.model, capture.analysis);
    return html.find(">reason<", html.find("Launch by launch, 2 launches")) != std::string::npos;
  };
  EXPECT_TRUE(has_reasons(true, false));
  EXPECT_TRUE(has_reasons(true, true));
  EXPECT_FALSE(has_reasons(false, false));
}

TEST(HtmlReport, ListsTheTwentyLongestGaps) {
  const TemporaryCapture capture;
  const std::size_t gaps = capture.analysis.accounting.gaps.size();
  ASSERT_GT(gaps, 100u);
  const std::string html = html_report(capture.model, capture.analysis);
  const std::size_t from =
      html.find("<summary>The 20 longest of " + std::to_string(gaps) + " gaps</summary>");
  ASSERT_NE(from, std::string::npos);
  const std::string table = html.substr(from, html.find("</table>", from) - from);
  std::size_t rows = 0;
  for (std::size_t at = table.find("<tr><td"); at != std::string::npos; at = table.find("<tr><td", at + 1))
    ++rows;
  EXPECT_EQ(rows, 20u);
}

// The numbers printed beside the accounting bar add up to the step.
TEST(HtmlReport, AccountingAddsUp) {
  const TemporaryCapture capture;
  const analyzer::Accounting& a = capture.analysis.accounting;
  EXPECT_EQ(a.kernel_busy_ns + a.copy_exposed_ns + a.memset_exposed_ns + a.gap_total_ns + a.remainder_ns,
            a.step_ns);
  const std::string html = html_report(capture.model, capture.analysis);
  const std::size_t from = html.find("Accounting of the step");
  ASSERT_NE(from, std::string::npos);
  const std::string svg = html.substr(from, html.find("</svg>", from) - from);
  double sum = 0;
  const std::regex number(">([0-9.]+) ms · ");
  for (std::sregex_iterator it(svg.begin(), svg.end(), number), end; it != end; ++it)
    sum += std::stod((*it)[1]);
  EXPECT_NEAR(sum, static_cast<double>(a.step_ns) * 1e-6, 0.005);
}

}  // namespace
}  // namespace ridgeline::reports
