#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "ridgeline/analyzer/session.h"
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
  for (const std::string& attribute : xml.attributes) {
    const std::string name = attribute.substr(0, attribute.find('='));
    EXPECT_FALSE(std::regex_search(name, std::regex("@(src|href|on[a-z]+|action|data|xlink.*)$")))
        << attribute;
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
  EXPECT_NE(xml.text.find("All 225 launches of the step"), std::string::npos);
  EXPECT_EQ(capture.analysis.utilisation.launches.size(), 225u);
  EXPECT_GE(xml.elements.at("tr"), 225 + static_cast<int>(capture.analysis.ranking.rows.size()));
}

TEST(HtmlReport, ShowsDeclaredWork) {
  FabricatedCapture options;
  options.declared = true;
  const TemporaryCapture capture(options);
  const XmlResult xml = checked(html_report(capture.model, capture.analysis));
  ASSERT_EQ(xml.error, "");
  EXPECT_NE(xml.text.find("Declared and measured work"), std::string::npos);
  EXPECT_NE(xml.text.find("Declared by 225 ranges"), std::string::npos);
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
  capture.analysis.sampled = *session.sampled_step().value();
  ASSERT_TRUE(capture.analysis.sampled.has_value());
  const std::string html = html_report(capture.model, capture.analysis);
  const XmlResult xml = checked(html);
  ASSERT_EQ(xml.error, "");
  expect_self_contained(html, xml);
  EXPECT_EQ(xml.elements.at("polygon"), 2) << "DRAM and the tensor pipe";
  EXPECT_NE(xml.text.find("samples, one every 100.0 µs"), std::string::npos);
  for (const char* words : {"One step in situ", "In-situ samples beside counters",
                            "Cold caches beside in situ", "disagree", "DRAM utilisation in situ (T1) for"}) {
    EXPECT_NE(xml.text.find(words), std::string::npos) << words;
  }
  const TemporaryCapture without;
  const XmlResult old = checked(html_report(without.model, without.analysis));
  EXPECT_EQ(old.text.find("In-situ samples"), std::string::npos);
  EXPECT_EQ(old.text.find("Cold caches"), std::string::npos);
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
  EXPECT_NE(xml.text.find("The whole recording taken as one step"), std::string::npos);
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
