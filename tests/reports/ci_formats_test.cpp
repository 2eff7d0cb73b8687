// The formats of continuous integration as texts, with what they cut and escape on both sides of each limit.
#include "ci_formats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "xml_checker.h"

namespace ridgeline::reports {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(CiJunit, IsASuiteWithItsCasesInTheirOrder) {
  const CiSuite suite{
      .program = "ridgeline \"compare\"",
      .name = "a<b",
      .seconds = 1.23456789,
      .properties = {{"gpu", "NVIDIA & H200"}, {"driver", "580"}},
      .cases = {{.group = "step", .name = "step", .seconds = 0.0123456789},
                {"kernel", "gemm", CaseResult::failed, "regressed", "slower\nby \x01 5 %", 0.5},
                {"kernel", "norm", CaseResult::skipped, "", "noise"},
                {"kernel", "add", CaseResult::skipped, "", "noise"},
                {"budget", "adamw", CaseResult::error, "budget", "no such kernel"},
                {"finding", "idle", CaseResult::failed, "", "idle"},
                {"finding", "more", CaseResult::failed, "", "idle"}},
      .output = "said ]]> & done"};
  EXPECT_EQ(
      junit_text(suite),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"ridgeline &quot;compare&quot;\" tests=\"7\" failures=\"3\" errors=\"1\" "
      "time=\"1.235\">\n"
      "  <testsuite name=\"a&lt;b\" tests=\"7\" failures=\"3\" errors=\"1\" time=\"1.235\" skipped=\"2\">\n"
      "    <properties>\n"
      "      <property name=\"gpu\" value=\"NVIDIA &amp; H200\"/>\n"
      "      <property name=\"driver\" value=\"580\"/>\n"
      "    </properties>\n"
      "    <testcase classname=\"step\" name=\"step\" time=\"0.012345679\"/>\n"
      "    <testcase classname=\"kernel\" name=\"gemm\" time=\"0.500000000\">\n"
      "      <failure type=\"regressed\" message=\"slower by   5 %\"/>\n"
      "    </testcase>\n"
      "    <testcase classname=\"kernel\" name=\"norm\" time=\"0.000000000\">\n"
      "      <skipped message=\"noise\"/>\n"
      "    </testcase>\n"
      "    <testcase classname=\"kernel\" name=\"add\" time=\"0.000000000\">\n"
      "      <skipped message=\"noise\"/>\n"
      "    </testcase>\n"
      "    <testcase classname=\"budget\" name=\"adamw\" time=\"0.000000000\">\n"
      "      <error type=\"budget\" message=\"no such kernel\"/>\n"
      "    </testcase>\n"
      "    <testcase classname=\"finding\" name=\"idle\" time=\"0.000000000\">\n"
      "      <failure message=\"idle\"/>\n"
      "    </testcase>\n"
      "    <testcase classname=\"finding\" name=\"more\" time=\"0.000000000\">\n"
      "      <failure message=\"idle\"/>\n"
      "    </testcase>\n"
      "    <system-out>said ]]&gt; &amp; done</system-out>\n"
      "  </testsuite>\n</testsuites>\n");
  for (const CiSuite& any : {suite, CiSuite{}}) {
    const std::string text = junit_text(any);
    EXPECT_EQ(testing::check_xml(text.substr(text.find('\n') + 1)).error, "");
  }
}

// How many of so many letters are left.
TEST(CiFormats, NamesAndMessagesAreCutAtTheirLimits) {
  const auto letters = [](std::size_t count) { return std::string(count, 'x'); };
  const auto kept = [](const std::string& text) { return count_of(text, "x"); };
  const auto in_junit = [&](std::size_t name, std::size_t message) {
    const std::string text =
        junit_text({.cases = {{"g", letters(name), CaseResult::failed, "", letters(message)}}});
    return text.substr(text.find("<testcase"));
  };
  const std::size_t around = kept(in_junit(0, 0));
  EXPECT_EQ(kept(in_junit(900, 0)) - around, 900U);
  EXPECT_EQ(kept(in_junit(902, 0)) - around, 900U);
  EXPECT_EQ(kept(in_junit(0, 2000)) - around, 2000U);
  EXPECT_EQ(kept(in_junit(0, 2002)) - around, 2000U);
  const auto in_command = [&](std::size_t title, std::size_t message) {
    return kept(workflow_commands({{AnnotationKind::error, letters(title), letters(message)}}));
  };
  EXPECT_EQ(in_command(300, 0), 300U);
  EXPECT_EQ(in_command(302, 0), 300U);
  EXPECT_EQ(in_command(0, 2000), 2000U);
  EXPECT_EQ(in_command(0, 2002), 2000U);
  const auto in_label = [&](std::size_t size) {
    OpenMetrics metrics;
    metrics.family("f", "h");
    metrics.sample("1", "l", letters(size));
    return kept(metrics.finish());
  };
  EXPECT_EQ(in_label(300), 300U);
  EXPECT_EQ(in_label(302), 300U);
  CaseNames names;
  EXPECT_EQ(names.of(letters(300), letters(300)), letters(300) + " / " + letters(300));
  EXPECT_EQ(kept(names.of("", letters(302))), 300U);
  EXPECT_EQ(kept(names.of(letters(302), "")), 300U);
}

TEST(CiFormats, NoTwoCasesShareAName) {
  CaseNames names;
  EXPECT_EQ(names.of("", "gemm"), "gemm");
  EXPECT_EQ(names.of("", "gemm"), "gemm #2");
  EXPECT_EQ(names.of("step", "gemm"), "step / gemm");
  EXPECT_EQ(names.of("", "gemm"), "gemm #3");
  EXPECT_EQ(names.of("step", "gemm"), "step / gemm #2");
}

// Of each kind ten are shown, or nine and a count of the rest; kinds come in their order, each in its own.
TEST(CiCommands, AreTenOfAKindAtMost) {
  for (const std::size_t count : {0U, 1U, 9U, 10U, 11U, 12U, 1500U}) {
    std::vector<Annotation> annotations;
    for (std::size_t i = 0; i < count; ++i) {
      annotations.push_back({AnnotationKind::notice, "n", std::to_string(i)});
      annotations.push_back({AnnotationKind::error, "e", std::to_string(i)});
    }
    annotations.push_back({AnnotationKind::warning, "w", "alone"});
    std::string expected;
    const auto kind = [&](const std::string& word, const std::string& title) {
      const std::size_t shown = count > 10 ? 9 : count;
      for (std::size_t i = 0; i < shown; ++i)
        expected += "::" + word + " title=" + title + "::" + std::to_string(i) + "\n";
      const std::string rest = count == 1500 ? "1,491" : std::to_string(count - shown);
      if (count > 10)
        expected += "::" + word + " title=Ridgeline::" + rest + " more of this kind are not shown here\n";
    };
    kind("error", "e");
    expected += "::warning title=w::alone\n";
    kind("notice", "n");
    EXPECT_EQ(workflow_commands(annotations), expected) << count;
  }
}

TEST(CiCommands, EscapeWhatWouldEndThem) {
  EXPECT_EQ(workflow_commands({{AnnotationKind::warning, "a:b,c%d\ne", "1:2,3%4\n5\x1b[0m"}}),
            "::warning title=a%3Ab%2Cc%25d e::1:2,3%254 5 [0m\n");
}

TEST(CiMetrics, AreFamiliesOfGauges) {
  OpenMetrics metrics;
  metrics.family("step_ms", "the step");
  metrics.sample("1.5");
  metrics.family("kernel_ms", "a kernel");
  metrics.sample("2", "kernel", "a\"b\\c\nd");
  metrics.sample("3", "kernel", "");
  EXPECT_EQ(
      metrics.finish(),
      "# TYPE step_ms gauge\n# HELP step_ms the step\nstep_ms 1.5\n# TYPE kernel_ms gauge\n"
      "# HELP kernel_ms a kernel\nkernel_ms{kernel=\"a\\\"b\\\\c d\"} 2\nkernel_ms{kernel=\"\"} 3\n# EOF\n");
  EXPECT_EQ(OpenMetrics().finish(), "# EOF\n");
}

TEST(CiBencher, HasTheLimitsThatAreKnown) {
  const auto document =
      nlohmann::json::parse(bencher_text({{"a", 1.5, {}, {}}, {"b\xff", 2, 1, {}}, {"c", 3, {}, 4}}));
  EXPECT_EQ(document["a"]["latency"], nlohmann::json({{"value", 1.5}}));
  EXPECT_EQ(document["c"]["latency"], nlohmann::json({{"value", 3.0}, {"upper_value", 4.0}}));
  EXPECT_EQ(document.size(), 3U);
  EXPECT_EQ(bencher_text({}), "{}\n");
}

}  // namespace
}  // namespace ridgeline::reports
