// headline_text_test.cpp: the headline in words, and that every document prints the same.
#include "ridgeline/reports/headline_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/escape.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using analyzer::HeadlineKind;
using ridgeline::testing::TemporaryCapture;

std::vector<std::string> texts(const analyzer::Analysis& analysis) {
  std::vector<std::string> out;
  for (const HeadlineWords& line : headline_words({}, analysis)) out.push_back(sentence_of(line));
  return out;
}

TEST(HeadlineText, KernelsHaveTheirShareAndWhatMostOfThemAre) {
  analyzer::Analysis analysis;
  analysis.accounting.step_ns = 48'658'000;
  analysis.accounting.kernel_busy_ns = 47'993'000;
  EXPECT_EQ(texts(analysis).front(), "Kernels take 98.6 % of the step, 47.993 ms of 48.658 ms.");
  analysis.accounting.kernels.total = {.memory_ns = 2'000'000, .compute_ns = 35'202'000};
  EXPECT_EQ(texts(analysis).front(),
            "Kernels take 98.6 % of the step, 47.993 ms of 48.658 ms; 35.202 ms of that are compute-bound.");
}

TEST(HeadlineText, CopiesHaveTheirShare) {
  analyzer::Analysis analysis;
  analysis.accounting.step_ns = 2'000'000;
  analysis.accounting.copy_exposed_ns = 1'000'000;
  EXPECT_EQ(texts(analysis).front(),
            "Copies and memsets with no kernel beside them take 50.0 % of the step, 1.000 ms of 2.000 ms.");
}

TEST(HeadlineText, AnIdleGpuIsSaidWithItsLongestGapAndTheCauseOfThat) {
  analyzer::Analysis analysis;
  analyzer::Accounting& accounting = analysis.accounting;
  accounting.step_ns = 100'000'000;
  accounting.gap_synchronisation_ns = 0;
  accounting.gaps = {
      {.start_ns = 0, .end_ns = 65'961'000, .kind = analyzer::GapKind::host_bound, .thread_id = 7}};
  analyzer::Finding idle{.severity = Severity::warning, .code = analyzer::FindingCode::gpu_idle};
  idle.step_share = 0.7;
  idle.magnitude_ns = 70e6;
  idle.evidence = {{"step_ns", 100e6, {}, {}},
                   {"host_bound_ns", 70e6, {}, {}},
                   {"longest_host_bound_ns", 65'961'000, {}, {}}};
  analysis.quality.findings = {idle};
  EXPECT_EQ(
      texts(analysis).front(),
      "The GPU is idle for 70.0 % of the step, 70.000 ms of 100.000 ms: for 70.000 ms the CPU was late with "
      "the next launch; the longest gap lasts 65.961 ms, 66.0 % of the step: CPU code in thread 7.");
  accounting.gaps = {};
  EXPECT_NE(texts(analysis).front().find("; the longest gap lasts 65.961 ms."), std::string::npos)
      << "without the gaps what the finding has";
}

TEST(HeadlineText, LabelledLinesAreSentencesToo) {
  EXPECT_EQ(sentence_of({HeadlineKind::caveat, Severity::warning, "kernels wait"}), "Kernels wait.");
  EXPECT_EQ(sentence_of({HeadlineKind::caveat, Severity::warning, "Ended."}), "Ended.");
  EXPECT_TRUE(is_labelled(HeadlineKind::hidden_kernels));
  EXPECT_FALSE(is_labelled(HeadlineKind::idle));
}

// Where the texts stand in a document, each behind the one before.
void expect_in_order(const std::string& document, const std::vector<std::string>& words, const char* of) {
  std::size_t from = 0;
  for (const std::string& word : words) {
    const std::size_t at = document.find(word, from);
    ASSERT_NE(at, std::string::npos) << of << ": " << word;
    from = at + word.size();
  }
}

TEST(HeadlineText, RankMarkdownAndHtmlBeginWithTheSameLinesInOneOrder) {
  TemporaryCapture capture;
  analyzer::Finding held{.severity = Severity::warning, .code = analyzer::FindingCode::recording_price};
  capture.analysis.quality.findings.push_back(held);
  std::vector<std::string> lines;
  for (const HeadlineWords& line : headline_words(capture.model, capture.analysis))
    lines.push_back(line.text);
  ASSERT_GE(lines.size(), 4U);
  EXPECT_EQ(lines[0].find("Kernels take "), 0U) << lines[0];
  EXPECT_EQ(lines[1].find("The step misses its target: "), 0U) << lines[1];
  DocumentOptions options;
  options.text.columns = 10'000;
  options.format = Format::text;
  const std::string rank = ranking_document(capture.model, capture.analysis, options).text();
  expect_in_order(rank, lines, "rank");
  EXPECT_LT(rank.find(lines.back()), rank.find("kernel  ")) << "above the table";
  options.format = Format::markdown;
  std::vector<std::string> escaped;
  for (const std::string& line : lines) escaped.push_back(markdown_cell(line));
  expect_in_order(ranking_document(capture.model, capture.analysis, options).text(), escaped, "Markdown");
  expect_in_order(markdown_report(capture.model, capture.analysis), escaped, "Markdown report");
  escaped.clear();
  for (const std::string& line : lines) escaped.push_back(html_escape(line));
  const std::string html = html_report(capture.model, capture.analysis);
  expect_in_order(html, escaped, "HTML");
  EXPECT_LT(html.find(escaped.back()), html.find("<table")) << "above the first table";
}

TEST(HeadlineText, JsonHasKindsAndSentences) {
  const TemporaryCapture capture;
  const auto lines = headline_json(capture.model, capture.analysis).value();
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[0]["kind"], "kernels");
  EXPECT_EQ(lines[1]["kind"], "verdict");
  EXPECT_EQ(lines.back()["kind"], "advice");
  EXPECT_EQ(lines[0]["text"], headline_words(capture.model, capture.analysis)[0].text);
}

}  // namespace
}  // namespace ridgeline::reports
