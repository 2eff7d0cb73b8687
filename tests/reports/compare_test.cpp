#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "comparison/made_runs.h"
#include "ridgeline/reports/compare_documents.h"
#include "xml_checker.h"

namespace ridgeline::reports {
namespace {

using comparison::Comparison;
using comparison::testing::made_side;
using comparison::testing::MadeKernel;
using comparison::testing::training_step;
using nlohmann::json;

std::vector<MadeKernel> slower(std::vector<MadeKernel> kernels, const std::string& name, double factor) {
  for (MadeKernel& kernel : kernels) {
    if (kernel.kernel != name) continue;
    kernel.time_us *= factor;
    kernel.code = "changed";
  }
  return kernels;
}

Comparison compared(const std::vector<MadeKernel>& a, const std::vector<MadeKernel>& b,
                    std::size_t runs = 5) {
  return comparison::compare(made_side({.kernels = a, .noise = 0.002}, runs, 1),
                             made_side({.kernels = b, .noise = 0.002}, runs, 100))
      .value();
}

Comparison regressed() {
  return compared(training_step(), slower(training_step(), "layernorm_backward", 1.2));
}

std::string text_of(const Comparison& comparison, ReportFormat format, const DocumentOptions& options = {}) {
  return compare_document(comparison, format, options).text();
}

// Whatever a program calls its kernels.
Comparison hostile() {
  auto b = training_step();
  b.push_back(
      {"step / \"<&>\"\x01", "evil\x1b[31m</td><script>x</script>::error::%0A|`\n,\xff", 5000, 1, "h"});
  auto runs_b = made_side({.kernels = b, .noise = 0.002}, 3, 100);
  for (comparison::RunProfile& run : runs_b) {
    run.command_line = "./evil \"]]>\x02 ::warning::";
    run.versions["driver"] = "590,<b>:%\r\n::set-output name=x::y";
  }
  return comparison::compare(made_side({.kernels = training_step()}, 3, 1), runs_b).value();
}

TEST(CompareText, NamesVerdictKernelAndCause) {
  const std::string text = text_of(regressed(), ReportFormat::text);
  EXPECT_NE(text.find("REGRESSED"), std::string::npos) << text;
  EXPECT_NE(text.find("layernorm_backward"), std::string::npos);
  EXPECT_NE(text.find("code"), std::string::npos);
  EXPECT_NE(text.find("common mode"), std::string::npos);
  EXPECT_EQ(text.find("adamw_kernel"), std::string::npos) << "what is the same is counted";
  DocumentOptions all;
  all.all = true;
  EXPECT_NE(text_of(regressed(), ReportFormat::text, all).find("adamw_kernel"), std::string::npos);
}

TEST(CompareText, OneRunASideIsNoVerdict) {
  const std::string text = text_of(
      compared(training_step(), slower(training_step(), "layernorm_backward", 1.5), 1), ReportFormat::text);
  EXPECT_NE(text.find("INCONCLUSIVE"), std::string::npos) << text;
  EXPECT_NE(text.find("One run per side"), std::string::npos);
  EXPECT_NE(text.find("(hint)"), std::string::npos);
  EXPECT_EQ(text.find("REGRESSED"), std::string::npos);
}

TEST(CompareText, EnvironmentComesBeforeTheCode) {
  const std::string text = text_of(hostile(), ReportFormat::text);
  EXPECT_LT(text.find("version driver"), text.find("common mode")) << text;
  EXPECT_NE(text.find("NOT COMPARABLE"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(CompareMarkdown, IsShortWhenAllIsWell) {
  const std::string text = text_of(compared(training_step(), training_step()), ReportFormat::markdown);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("SAME"), std::string::npos);
}

TEST(CompareMarkdown, StaysBelowAComment) {
  std::vector<MadeKernel> a, b;
  for (int i = 0; i < 600; ++i) {
    const std::string name = "a_kernel_with_a_long_name<" + std::string(1500, 'x') + std::to_string(i) + ">";
    a.push_back({"step / forward", name, 500, 1, "c" + std::to_string(i)});
    b.push_back({"step / forward", name, i % 3 == 0 ? 1000.0 : 500.0, 1, "c" + std::to_string(i)});
  }
  const Comparison comparison = compared(a, b, 3);
  EXPECT_GE(comparison.regressed, 199);
  const std::string text = text_of(comparison, ReportFormat::markdown);
  EXPECT_LT(text.size(), 64U * 1024);
  EXPECT_NE(text.find("of less weight not shown"), std::string::npos);
}

TEST(CompareMarkdown, TableRowsHaveAsManyCellsAsTheHead) {
  for (const Comparison& comparison : {regressed(), hostile()}) {
    std::istringstream lines(text_of(comparison, ReportFormat::markdown));
    std::string line;
    std::ptrdiff_t cells = -1;
    while (std::getline(lines, line)) {
      if (line.empty() || line[0] != '|') {
        cells = -1;
        continue;
      }
      std::ptrdiff_t count = 0;
      for (std::size_t i = 0; i < line.size(); ++i)
        count += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      if (cells < 0) cells = count;
      EXPECT_EQ(count, cells) << line;
    }
  }
}

TEST(CompareJson, SaysWhatTheComparisonSays) {
  const Comparison comparison = regressed();
  const json document = json::parse(text_of(comparison, ReportFormat::json));
  EXPECT_EQ(document["format"], "ridgeline.compare");
  EXPECT_EQ(document["verdict"], "regressed");
  EXPECT_EQ(document["counts"]["regressed"], 1);
  EXPECT_EQ(document["pairs"], 5);
  EXPECT_EQ(document["rows"].size(), comparison.kernels.size());
  const json& first = document["rows"][0];
  EXPECT_EQ(first["kernel"], "layernorm_backward");
  EXPECT_EQ(first["outcome"], "regressed");
  EXPECT_EQ(first["cause"], "code");
  EXPECT_NEAR(first["change_ratio"].get<double>(), 0.2, 0.02);
  EXPECT_LT(first["low_ratio"].get<double>(), first["change_ratio"].get<double>());
  EXPECT_EQ(first["code_changed"], true);
  EXPECT_EQ(document["parts"][0]["part"], "step");
  EXPECT_FALSE(json::parse(text_of(hostile(), ReportFormat::json))["environment"].empty());
}

TEST(CompareCsv, HasARowAKernel) {
  const Comparison comparison = regressed();
  const std::string text = text_of(comparison, ReportFormat::csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(comparison.kernels.size() + 1));
  EXPECT_EQ(text.substr(0, 7), "kernel,");
}

TEST(CompareHtml, IsWellFormedAndRunsNothing) {
  for (const Comparison& comparison :
       {regressed(), hostile(), compared(training_step(), training_step(), 1)}) {
    const std::string text = text_of(comparison, ReportFormat::html);
    const std::string body = text.substr(text.find("<html"));
    EXPECT_EQ(testing::check_xml(body).error, "");
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  }
}

TEST(CompareJunit, CountsItsCases) {
  const Comparison comparison = regressed();
  const std::string text = text_of(comparison, ReportFormat::junit);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<testcase "), comparison.kernels.size() + comparison.step_metrics.size());
  EXPECT_NE(text.find("failures=\"" + std::to_string(count("<failure ")) + "\""), std::string::npos);
  EXPECT_NE(text.find("skipped=\"" + std::to_string(count("<skipped ")) + "\""), std::string::npos);
  EXPECT_GE(count("<failure "), 1U);
}

TEST(CompareJunit, WhatIsInconclusiveIsSkipped) {
  const std::string text = text_of(
      compared(training_step(), slower(training_step(), "layernorm_backward", 1.5), 1), ReportFormat::junit);
  EXPECT_EQ(text.find("<failure"), std::string::npos);
  EXPECT_NE(text.find("<skipped"), std::string::npos);
  // The step's says why nothing is concluded; what is concluded needs no such words.
  const std::regex reasoned("<skipped message=\"[^\"]* %\\): [^\"]+\"");
  EXPECT_TRUE(std::regex_search(text, reasoned)) << text;
  EXPECT_FALSE(std::regex_search(text_of(regressed(), ReportFormat::junit),
                                 std::regex("<failure message=\"[^\"]* %\\): ")));
}

TEST(CompareCi, AKernelThatAFasterStepOutweighsFailsNothing) {
  const Comparison comparison = compared(
      training_step(), slower(slower(training_step(), "layernorm_backward", 1.2), "classifier_kernel", 0.3));
  ASSERT_EQ(comparison.verdict, comparison::ComparisonVerdict::improved);
  ASSERT_EQ(comparison.regressed, 1);
  const std::string cases = text_of(comparison, ReportFormat::junit);
  EXPECT_EQ(cases.find("<failure"), std::string::npos) << cases;
  EXPECT_NE(cases.find("outweighed by the rest of the step"), std::string::npos);
  const std::string commands = text_of(comparison, ReportFormat::github);
  EXPECT_EQ(commands.find("::error"), std::string::npos) << commands;
  EXPECT_NE(commands.find("::warning title=Slower%3A layernorm_backward"), std::string::npos) << commands;
}

TEST(CompareGithub, CommandsAreOneLineEachAndTenOfAKindAtMost) {
  std::vector<MadeKernel> a, b;
  for (int i = 0; i < 60; ++i) {
    a.push_back({"step / forward", "kernel" + std::to_string(i), 500, 1, "c" + std::to_string(i)});
    b.push_back(
        {"step / forward", "kernel" + std::to_string(i), i < 25 ? 700.0 : 500.0, 1, "c" + std::to_string(i)});
  }
  const std::regex command("::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*");
  for (const Comparison& comparison : {compared(a, b), hostile(), regressed()}) {
    std::istringstream lines(text_of(comparison, ReportFormat::github));
    std::map<std::string, int> kinds;
    std::string line;
    while (std::getline(lines, line)) {
      std::smatch groups;
      ASSERT_TRUE(std::regex_match(line, groups, command)) << line;
      ++kinds[groups[1]];
    }
    for (const auto& [kind, count] : kinds) EXPECT_LE(count, 10) << kind;
    EXPECT_FALSE(kinds.empty());
  }
  EXPECT_NE(text_of(compared(a, b), ReportFormat::github).find("more of this kind are not shown here"),
            std::string::npos);
}

TEST(CompareGitlabMetrics, AreOpenMetrics) {
  const std::regex sample("[a-zA-Z_:][a-zA-Z0-9_:]*(\\{[a-z]+=\"([^\"\\\\]|\\\\.)*\"\\})? -?[0-9.e+-]+");
  for (const Comparison& comparison : {regressed(), hostile()}) {
    std::istringstream lines(text_of(comparison, ReportFormat::gitlab_metrics));
    std::string line, last;
    while (std::getline(lines, line)) {
      if (line.rfind("# ", 0) != 0) {
        EXPECT_TRUE(std::regex_match(line, sample)) << line;
      }
      last = line;
    }
    EXPECT_EQ(last, "# EOF");
  }
  EXPECT_NE(
      text_of(regressed(), ReportFormat::gitlab_metrics).find("ridgeline_kernels{outcome=\"regressed\"} 1"),
      std::string::npos);
}

// github.com/bencherdev/bencher, "Bencher Metric Format": {benchmark: {measure: {value, lower_value?, upper_value?}}}.
TEST(CompareBencher, IsItsMetricFormat) {
  const json document = json::parse(text_of(regressed(), ReportFormat::bencher));
  ASSERT_TRUE(document.is_object());
  EXPECT_GT(document.size(), 10U);
  for (const auto& [name, measures] : document.items()) {
    EXPECT_FALSE(name.empty());
    ASSERT_EQ(measures.size(), 1U);
    const json& latency = measures["latency"];
    ASSERT_TRUE(latency["value"].is_number());
    if (latency.contains("lower_value")) {
      EXPECT_LE(latency["lower_value"].get<double>(), latency["value"].get<double>() * 1.05);
      EXPECT_GE(latency["upper_value"].get<double>(), latency["value"].get<double>() * 0.95);
    }
  }
  EXPECT_TRUE(document.contains("step / step"));
}

TEST(CompareNotes, TellBudgetsThatAreMissedOrOfNothing) {
  comparison::ComparisonOptions options;
  options.budgets = {{.kernel = "*layernorm_backward*", .max_time_ns = 1000.0, .reason = "agreed in May"},
                     {.kernel = "no_such_kernel", .max_time_ns = 1000.0}};
  const Comparison comparison =
      comparison::compare(made_side({training_step()}, 3, 1), made_side({training_step()}, 3, 9), options)
          .value();
  EXPECT_EQ(comparison::exit_code(comparison), 1);
  const auto notes = compare_notes(comparison);
  const auto has = [&](const std::string& part) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const auto& note) { return note.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("layernorm_backward misses its budget (agreed in May)"));
  EXPECT_TRUE(has("No kernel matches the budget of 'no_such_kernel'"));
}

TEST(CompareNotes, SayThatOfOtherGpuModelsRangesAreCompared) {
  const auto note = [](const char* device) {
    const Comparison comparison =
        comparison::compare(made_side({training_step()}, 3, 1),
                            made_side({.kernels = training_step(), .device = device}, 3, 9))
            .value();
    std::string found;
    for (const std::string& each : compare_notes(comparison)) {
      if (each.find("since the GPU models differ") != std::string::npos) found = each;
    }
    return found;
  };
  EXPECT_EQ(note("NVIDIA H200"), "");
  EXPECT_NE(note("NVIDIA A100").find("100.0 %"), std::string::npos) << note("NVIDIA A100");
}

TEST(CompareNotes, SayFromWhenOnTooLittleIsMatched) {
  Comparison comparison = regressed();
  comparison.options.min_matched_share = 0.9;
  const auto blames = [&](double share) {
    comparison.matched_share = share;
    const auto notes = compare_notes(comparison);
    return std::none_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("below 90 %, kernels are not blamed") != std::string::npos;
    });
  };
  EXPECT_TRUE(blames(0.95));
  EXPECT_TRUE(blames(0.9));
  EXPECT_FALSE(blames(0.89));
}

// The longer of two recordings has more of everything.
TEST(CompareSentences, OfRecordingsWithoutStepsSayWhatTheirLengthIs) {
  const auto of_recordings = [](double calls) {
    auto a = made_side({.kernels = training_step(), .noise = 0.002}, 5, 1);
    auto kernels = training_step();
    for (MadeKernel& kernel : kernels) {
      kernel.calls *= calls;
      kernel.time_us *= calls;
    }
    auto b = made_side({.kernels = kernels, .noise = 0.002}, 5, 100);
    for (auto* side : {&a, &b})
      for (comparison::RunProfile& run : *side) run.whole_recording = true;
    return comparison::compare(a, b).value();
  };
  const std::string text = text_of(of_recordings(2), ReportFormat::text);
  EXPECT_EQ(text.find("REGRESSED"), std::string::npos) << text;
  EXPECT_NE(text.find("INCONCLUSIVE: the recording takes "), std::string::npos) << text;
  EXPECT_NE(text.find("No verdict: the recordings do not hold the same work."), std::string::npos) << text;
  EXPECT_NE(text.find("no run has steps"), std::string::npos) << text;
  EXPECT_EQ(text.find("Slower: "), std::string::npos) << text;
  const auto lines = compare_blame(of_recordings(1));
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "No run has steps: what is called a step is all that was recorded."),
            lines.end());
}

// What a reader must know before the figures, and what a verdict hides.
TEST(CompareSentences, SayWhatTheVerdictDoesNot) {
  const auto said = [](const Comparison& comparison, const std::string& part) {
    auto lines = compare_blame(comparison);
    for (std::string& note : compare_notes(comparison)) lines.push_back(std::move(note));
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  const Comparison none = compared(training_step(), training_step());
  const Comparison small = compared(training_step(), slower(training_step(), "encoder_forward", 1.1));
  const std::string floor = "Too small a part of the step to be called slower or faster: encoder_forward (+";
  EXPECT_TRUE(said(small, floor));
  EXPECT_TRUE(said(small, "A kernel must change by 14.5 µs (0.10 % of the step)."));
  EXPECT_FALSE(said(none, "Too small a part"));
  EXPECT_TRUE(said(small, "Changed without an effect that counts: encoder_forward (other machine code)."));
  EXPECT_FALSE(said(none, "Changed without an effect"));

  auto side = made_side({.kernels = training_step(), .noise = 0.002}, 3, 1);
  const auto against = [&](const auto& change) {
    auto other = made_side({.kernels = training_step(), .noise = 0.002}, 3, 100);
    for (std::size_t i = 0; i < 3; ++i) {
      side[i].start_ns = 1'000'000'000LL * static_cast<std::int64_t>(1 + 2 * i);
      other[i].start_ns = 1'000'000'000LL * static_cast<std::int64_t>(2 + 2 * i);
    }
    change(other);
    return comparison::compare(side, other).value();
  };
  using Runs = std::vector<comparison::RunProfile>;
  const Comparison blocks = against([](Runs& runs) {
    for (comparison::RunProfile& run : runs) *run.start_ns += 60'000'000'000;
  });
  EXPECT_TRUE(
      said(blocks, "No difference is called a change; --any-order calls it one. Record A and B in turn."));
  const Comparison shared = against([&](Runs& runs) { runs.front() = side.front(); });
  EXPECT_TRUE(said(shared, "A and B share a recording: its times are compared with themselves."));
  const Comparison fused = against([](Runs& runs) {
    for (comparison::RunProfile& run : runs) run.sites[1].calls = 12;
  });
  EXPECT_TRUE(said(fused, "launches a step in A, ")) << fused.a.launches << " " << fused.b.launches;
  const Comparison batch = against([](Runs& runs) {
    for (comparison::RunProfile& run : runs)
      for (comparison::KernelSite& site : run.sites) site.shape->grid.x = 99;
  });
  EXPECT_TRUE(
      said(batch,
           "13 kernels of unchanged code run on another grid: another batch or other shapes, so that A "
           "and B do other work."));
  EXPECT_TRUE(said(batch, "No common mode: the sides do other work."));
  for (const char* note : {"in turn", "share a recording", "launches a step", "another grid"})
    EXPECT_FALSE(said(against([](Runs&) {}), note)) << note;
}

// Copies are said with what they move and what of it the step feels, and are parts of it.
TEST(CompareSentences, SayWhatCopiesAndMemsetsDid) {
  using comparison::TransferKind;
  const auto side = [](std::uint64_t seed, double copies, double memsets) {
    auto runs = made_side({.kernels = training_step(), .noise = 0.001}, 3, seed);
    for (comparison::RunProfile& run : runs) {
      if (copies > 0)
        run.transfers.push_back({"step / forward", TransferKind::copy, CopyKind::device_to_device, copies,
                                 copies * 33.6e6, copies * 25e3, copies * 24e3});
      if (memsets > 0)
        run.transfers.push_back({"step", TransferKind::memset, CopyKind::unknown, memsets, memsets * 1e6,
                                 memsets * 60e3, memsets * 60e3});
      run.parts.copy_exposed_ns = copies * 24e3;
      run.parts.copy_hidden_ns = copies * 1e3;
      run.parts.memset_exposed_ns = memsets * 60e3;
      run.step.median_ns += copies * 24e3 + memsets * 60e3;
    }
    return runs;
  };
  const std::string text =
      text_of(comparison::compare(side(1, 0, 0), side(50, 8, 16)).value(), ReportFormat::text);
  EXPECT_NE(text.find("Only in B: 8 copies DtoD (268.80 MB) in step / forward, +200.0 µs of which +192.0 µs"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Only in B: 16 memsets (16.00 MB) in step, +960.0 µs of which +960.0 µs"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("copies, exposed   regressed"), std::string::npos) << text;
  EXPECT_NE(text.find("memsets, exposed  regressed"), std::string::npos) << text;
  EXPECT_EQ(text.find("unexplained"), std::string::npos) << text;
  const std::string gone =
      text_of(comparison::compare(side(1, 8, 0), side(50, 0, 0)).value(), ReportFormat::text);
  EXPECT_NE(gone.find("Only in A: 8 copies DtoD"), std::string::npos) << gone;
}

TEST(CompareFormats, AreNamed) {
  EXPECT_EQ(parse_report_format("gitlab-metrics").value(), ReportFormat::gitlab_metrics);
  EXPECT_NE(parse_report_format("xml").failure().message.find("junit"), std::string::npos);
}

TEST(SignedPercent, HasASignAndNoMinusZero) {
  EXPECT_EQ(signed_percent(0.0467), "+4.7 %");
  EXPECT_EQ(signed_percent(-0.003), "−0.3 %");
  EXPECT_EQ(signed_percent(-0.00001), "±0.0 %");
}

TEST(CompareText, EachVerdictHasItsWord) {
  using comparison::ComparisonVerdict;
  Comparison comparison = regressed();
  for (const auto& [verdict, word] :
       {std::pair(ComparisonVerdict::regressed, "REGRESSED"),
        std::pair(ComparisonVerdict::improved, "IMPROVED"), std::pair(ComparisonVerdict::same, "SAME"),
        std::pair(ComparisonVerdict::inconclusive, "INCONCLUSIVE"),
        std::pair(ComparisonVerdict::invalid_environment, "NOT COMPARABLE")}) {
    comparison.verdict = verdict;
    const std::string text = text_of(comparison, ReportFormat::text);
    for (const char* other : {"REGRESSED", "IMPROVED", "SAME", "INCONCLUSIVE", "NOT COMPARABLE"})
      EXPECT_EQ(text.find(other) != std::string::npos, std::string(other) == word) << other << " in\n"
                                                                                   << text;
  }
}

// A kernel's line in a list of tests says by how much, how sure, and why.
TEST(CompareJunit, AKernelsLineHasItsFigures) {
  const std::string text = text_of(regressed(), ReportFormat::junit);
  const std::regex line(
      "<failure type=\"regressed\" message=\"[^\"]* µs a step \\(\\+20\\.0 %\\), interval \\+19\\.\\d % to "
      "\\+20\\.\\d %; other machine code\"/>");
  EXPECT_TRUE(std::regex_search(text, line)) << text.substr(0, 3000);
}

// The interval of the step is a line whose ends are marked: it runs through the middle of its marks, from one to the
// other.
TEST(CompareHtml, AnIntervalRunsThroughTheMiddleOfItsMarks) {
  const std::string page = text_of(regressed(), ReportFormat::html);
  const std::regex whisker(
      "<line x1=\"([0-9.]+)\" y1=\"([0-9.]+)\" x2=\"([0-9.]+)\" y2=\"([0-9.]+)\" class=\"whisker\"");
  struct Line {
    double x1, y1, x2, y2;
  };
  std::vector<Line> lines;
  for (std::sregex_iterator at(page.begin(), page.end(), whisker), end; at != end; ++at)
    lines.push_back({std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  ASSERT_EQ(lines.size(), 3U) << page.substr(0, 2000);
  EXPECT_EQ(lines[0].y1, lines[0].y2);
  for (const std::size_t mark : {1U, 2U}) {
    EXPECT_EQ(lines[mark].x1, lines[mark].x2);
    EXPECT_NEAR((lines[mark].y1 + lines[mark].y2) / 2, lines[0].y1, 0.01);
  }
  EXPECT_NEAR(std::min(lines[0].x1, lines[0].x2), std::min(lines[1].x1, lines[2].x1), 0.01);
  EXPECT_NEAR(std::max(lines[0].x1, lines[0].x2), std::max(lines[1].x1, lines[2].x1), 0.01);
}

}  // namespace
}  // namespace ridgeline::reports
