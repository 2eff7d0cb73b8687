// The verb `report`: one capture, two sides, or a comparison's JSON, in every format, and what the exit code says.
#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

using nlohmann::json;

const std::vector<std::string> kFormats = {"html",  "markdown", "text",           "json",   "csv",
                                           "junit", "github",   "gitlab-metrics", "bencher"};

class ReportVerb : public Program {
 protected:
  static void SetUpTestSuite() {
    Program::SetUpTestSuite();
    for (int i = 1; i <= 4; ++i) {
      FabricatedCapture run;
      run.codes = true;
      run.timeline_steps = 4;
      run.run = i;
      write_fabricated_capture(side("a", i), run);
      run.run = i + 20;
      write_fabricated_capture(side("same", i), run);
      run.slow_kernel = "layernorm_backward";
      run.slow_factor = 1.3;
      write_fabricated_capture(side("slow", i), run);
      run.slow_kernel.clear();
      run.driver = "590.01";
      write_fabricated_capture(side("driver", i), run);
    }
  }
  static std::string side(const std::string& name, int i) {
    return file(name + std::to_string(i) + ".ridge");
  }
  static std::vector<std::string> sides(const std::string& b, const std::vector<std::string>& more,
                                        int runs = 4) {
    std::vector<std::string> arguments = {"report"};
    for (int i = 1; i <= runs; ++i) arguments.push_back(side("a", i));
    arguments.emplace_back("--against");
    for (int i = 1; i <= runs; ++i) arguments.push_back(side(b, i));
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::vector<std::string> with(std::vector<std::string> arguments,
                                       const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string budgets(const std::string& text) {
    std::ofstream(file("budgets.toml")) << text;
    return "budgets.toml";
  }
};

TEST_F(ReportVerb, OneCaptureInEveryFormat) {
  for (const std::string& format : kFormats) {
    const Outcome outcome = run({"report", "c.ridge", "--format", format, "-o", "-"});
    EXPECT_EQ(outcome.code, 0) << format << outcome.err;
    EXPECT_EQ(outcome.err, "") << format;
    EXPECT_GT(outcome.out.size(), 200U) << format;
  }
  const Outcome several = run({"report", "c.ridge", "--format", "junit", "--write", "github=g.txt", "--write",
                               "html=page.html", "-o", "j.xml"});
  EXPECT_EQ(several.code, 0) << several.err;
  EXPECT_EQ(several.out, "");
  EXPECT_NE(read_file(file("j.xml")).find("<testsuites name=\"ridgeline report\""), std::string::npos);
  EXPECT_NE(read_file(file("g.txt")).find("::notice title=Ridgeline%3A step::"), std::string::npos);
  EXPECT_NE(read_file(file("page.html")).find("<svg"), std::string::npos);
}

TEST_F(ReportVerb, ACommentIsShortAndLeadsToThePage) {
  const Outcome outcome =
      run(sides("slow", {"--format", "comment", "--link", "https://example.org/run/7", "--fail-on", "none"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, 14), "### REGRESSED:");
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 15) << outcome.out;
  EXPECT_NE(outcome.out.find("\n\n[The whole page](https://example.org/run/7)\n"), std::string::npos);
  const Outcome odd = run({"report", "c.ridge", "--format", "comment", "--link", "javascript:alert(1)"});
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_EQ(odd.out.find("](javascript"), std::string::npos) << odd.out;
}

TEST_F(ReportVerb, TwoDocumentsInOneFileAreRefused) {
  expect_error({"report", "c.ridge", "-o", "one.html", "--write", "json=./one.html"}, 2, "two documents");
  expect_error({"report", "c.ridge", "--write", "json=one", "--write", "csv=one"}, 2, "two documents");
  expect_error({"report", "c.ridge", "--write", "json=report.html"}, 2, "two documents");
  EXPECT_FALSE(std::filesystem::exists(file("one.html")));
}

TEST_F(ReportVerb, BudgetsOfTheProjectFileDecide) {
  const std::string missed =
      budgets("[[budget]]\nkernel = '*layernorm_backward*'\nmax_time_us = 1\nreason = 'agreed in May'\n");
  const std::vector<std::string> report = {"report", "c.ridge", "--project", missed, "--format"};
  const Outcome junit = run(with(report, {"junit"}));
  EXPECT_EQ(junit.code, 1) << junit.err;
  EXPECT_NE(junit.out.find("<failure type=\"budget\""), std::string::npos) << junit.out;
  EXPECT_NE(junit.out.find("agreed in May"), std::string::npos);
  EXPECT_NE(run(with(report, {"github"})).out.find("::error title=Budget%3A "), std::string::npos);
  EXPECT_NE(run(with(report, {"gitlab-metrics"})).out.find("layernorm_backward_kernel"), std::string::npos);
  EXPECT_EQ(run(with(report, {"junit", "--fail-on", "none"})).code, 0);
  EXPECT_EQ(run(with(report, {"junit", "--fail-on", "target"})).code, 1);
  // A budget of nothing: a renamed kernel must not pass unseen.
  const Outcome nothing =
      run({"report", "c.ridge", "--project", budgets("[[budget]]\nkernel = 'gone'\nmax_time_us = 1\n"),
           "--format", "junit"});
  EXPECT_EQ(nothing.code, 3);
  EXPECT_NE(nothing.out.find("<error type=\"budget\""), std::string::npos) << nothing.out;
  EXPECT_NE(nothing.out.find("errors=\"1\""), std::string::npos);
  // Without counters a time can be judged, a share of a roof cannot.
  const std::string share = "[[budget]]\nkernel = '*adamw*'\nmin_utilisation_ratio = 0.1\n";
  EXPECT_EQ(run({"report", "refused.ridge", "--project", budgets(share), "--format", "junit"}).code, 3);
  const std::string time = "[[budget]]\nkernel = '*adamw*'\nmax_time_us = 90000\n";
  EXPECT_EQ(run({"report", "refused.ridge", "--project", budgets(time), "--format", "junit"}).code, 0);
}

TEST_F(ReportVerb, TargetsAndMissingDataFailIfAskedTo) {
  const auto code = [&](const std::string& capture, const std::string& words) {
    return run({"report", capture, "--format", "junit", "--fail-on", words}).code;
  };
  EXPECT_EQ(code("c.ridge", "target"), 1);
  EXPECT_EQ(code("c.ridge", "target,unmeasured"), 1);
  EXPECT_EQ(code("c.ridge", "unmeasured"), 0);
  EXPECT_EQ(code("c.ridge", "none"), 0);
  EXPECT_EQ(code("fast.ridge", "target"), 0);
  EXPECT_EQ(code("refused.ridge", "unmeasured"), 3);
  EXPECT_EQ(code("refused.ridge", "target"), 3);
  EXPECT_EQ(code("refused.ridge", "budget"), 0);
  // What is not asked for is skipped, what is asked for fails.
  const std::string asked = run({"report", "c.ridge", "--format", "junit", "--fail-on", "target"}).out;
  const std::string not_asked = run({"report", "c.ridge", "--format", "junit"}).out;
  EXPECT_NE(asked.find("<failure type=\"target\""), std::string::npos) << asked;
  EXPECT_EQ(not_asked.find("<failure"), std::string::npos);
  EXPECT_NE(not_asked.find("<skipped message=\"misses its target"), std::string::npos);
}

TEST_F(ReportVerb, TwoSidesAreCompared) {
  EXPECT_EQ(run(sides("same", {"--format", "text"})).code, 0);
  const Outcome slow = run(sides("slow", {"--format", "junit"}));
  EXPECT_EQ(slow.code, 1) << slow.err;
  EXPECT_NE(slow.out.find("<failure type=\"regressed\""), std::string::npos);
  EXPECT_EQ(run(sides("slow", {"--format", "text", "--fail-on", "none"})).code, 0);
  EXPECT_EQ(run(sides("slow", {"--format", "text"}, 2)).code, 3);
  EXPECT_EQ(run(sides("driver", {"--format", "text"})).code, 4);
  EXPECT_EQ(run({"report", side("a", 1), side("slow", 1), "--format", "text"}).code, 3);
  const Outcome html = run(sides("slow", {}));
  EXPECT_EQ(html.code, 1);
  EXPECT_NE(html.out.find("Wrote report.html"), std::string::npos);
  EXPECT_NE(read_file(file("report.html")).find("What changed"), std::string::npos);
  const Outcome budget = run(sides(
      "same", {"--format", "junit", "--project",
               budgets("[[budget]]\nkernel = '*layernorm_backward*'\nmax_time_us = 1\nreason = 'why'\n")}));
  EXPECT_EQ(budget.code, 1);
  EXPECT_NE(budget.out.find("classname=\"budget\""), std::string::npos) << budget.out;
  EXPECT_NE(budget.out.find("<failure type=\"budget\""), std::string::npos);
}

TEST_F(ReportVerb, AComparisonsJsonIsRenderedAsTheComparisonWas) {
  for (const char* b : {"same", "slow", "driver"}) {
    const Outcome made = run(sides(b, {"--format", "json", "-o", "made.json"}));
    for (const std::string& format : kFormats) {
      const Outcome first = run(sides(b, {"--format", format, "-o", "-"}));
      const Outcome again = run({"report", "made.json", "--format", format, "-o", "-"});
      EXPECT_EQ(first.out, again.out) << b << format;
      EXPECT_EQ(first.code, again.code) << b << format << again.err;
    }
    EXPECT_EQ(run({"report", "made.json", "--format", "text"}).code, made.code);
  }
  EXPECT_EQ(run({"report", "made.json", "--format", "text", "--fail-on", "inconclusive"}).code, 4);
}

TEST_F(ReportVerb, WhatIsNoComparisonIsNamed) {
  std::ofstream(file("broken.json")) << "{\"format\": \"ridgeline.compare\"";
  expect_error({"report", "broken.json"}, 3, "broken.json");
  std::ofstream(file("other.json")) << run({"report", "c.ridge", "--format", "json"}).out;
  expect_error({"report", "other.json"}, 3, "no comparison");
  json document = json::parse(run(sides("slow", {"--format", "json"})).out);
  const auto refused = [&](const json& changed, const std::string& word) {
    std::ofstream(file("changed.json")) << changed;
    expect_error({"report", "changed.json"}, 3, word);
  };
  json changed = document;
  changed["version"] = 2;
  refused(changed, "version");
  changed = document;
  changed["rows"][3]["outcome"] = "splendid";
  refused(changed, "splendid");
  changed = document;
  changed["rows"].erase(0);
  refused(changed, "same kernels");
  changed = document;
  changed["parts"] = json::array();
  refused(changed, "parts");
  changed = document;
  changed["budgets"] = json::parse(
      R"([{"kernel":"k","row":9999,"missed":true,"measured":true,"max_time_ns":1,"max_dram_bytes":null,)"
      R"("min_utilisation_ratio":null,"reason":""}])");
  refused(changed, "budget");
  changed = document;
  changed["kernels"][0]["a"] = 7;
  refused(changed, "'a' is not a list");
  changed = document;
  changed.erase("options");
  refused(changed, "'options' is missing");
}

TEST_F(ReportVerb, OptionsThatDoNotGoWithTheInputAreUsage) {
  expect_error({"report", "c.ridge", "--noise", "n.toml"}, 2, "--noise");
  expect_error({"report", "c.ridge", "--unpaired"}, 2, "--unpaired");
  expect_error({"report", "c.ridge", "--fail-on", "regression"}, 2, "regression");
  expect_error({"report", side("a", 1), side("same", 1), "--step", "3"}, 2, "--step");
  expect_error({"report", side("a", 1), side("same", 1), "--fail-on", "budget"}, 2, "budget");
  expect_error({"report", side("a", 1), side("a", 2), side("a", 3)}, 2, "--against");
  expect_error({"report", "c.ridge", "--write", "junit"}, 2, "FORMAT=FILE");
  EXPECT_EQ(run(sides("same", {"--format", "json", "-o", "made.json"})).code, 0);
  expect_error({"report", "made.json", "--strict"}, 2, "--strict");
  expect_error({"report", "made.json", "--target", "0.5"}, 2, "--target");
  expect_error({"report", "missing.json"}, 4, "missing.json");
}

}  // namespace
}  // namespace ridgeline::testing
